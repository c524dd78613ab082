"""Initial states that are learned with the rest."""

from typing import Any

import torch
from torch import nn

from unspool.cells.state import make_state


class LearnedState(nn.Module):
    """One vector per state of a cell, zero at first: `unfold(cell, xs, start(B))`."""

    def __init__(self, cell: Any):
        super().__init__()
        self.names = tuple(cell.state_sizes)
        for name, size in cell.state_sizes.items():
            self._parameters[name] = nn.Parameter(torch.zeros(size))

    def forward(self, rows: int) -> Any:
        vectors = (self._parameters.get(name, getattr(self, name, None)) for name in self.names)
        return make_state(self.names, (torch.as_tensor(v).expand(rows, -1) for v in vectors))
