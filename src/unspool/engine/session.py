"""What a stepper keeps: weights that are laid out, kernels that are ready."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.cells.state import state_type
from unspool.engine.autograd import in_func
from unspool.engine.call import Call


class Session(ABC):
    """For one number of rows, or, where `any_rows` is True, for all."""

    any_rows = False

    def __init__(self, call: Call):
        assert isinstance(call.cell, Bound)
        self.dtype, self.device = call.xs.dtype, call.xs.device
        sizes = call.cell.state_sizes
        self.rows, self.width = call.xs.shape[1:]
        self.widths = [*sizes.values()]
        self.make = state_type(call.cell.equations.states)
        self.shapes = self.shapes_of(self.rows)

    @staticmethod
    def rows_of(call: Call) -> int:
        """How many rows a session for this call serves; 0 for any number."""
        return call.xs.shape[1]

    def shapes_of(self, rows: int) -> list[torch.Size]:
        """Of an input and of each state."""
        return [torch.Size((rows, n)) for n in (self.width, *self.widths)]

    def fits(self, x: Any, state: Any) -> bool:
        """Whether a step can be taken at once, with nothing to check or convert."""
        if type(x) is not Tensor or not isinstance(state, tuple | list) or in_func():
            return False
        shapes = self.shapes
        if self.any_rows and x.dim() == 2 and len(x) and len(x) != self.rows:
            shapes = self.shapes_of(len(x))
        values: Sequence[Any] = (x, *state)
        return len(values) == len(shapes) and all(map(self.takes, values, shapes))

    def takes(self, value: Any, shape: torch.Size) -> bool:
        return (
            type(value) is Tensor
            and value.shape == shape
            and value.dtype is self.dtype
            and self.holds(value)
        )

    def holds(self, value: Tensor) -> bool:
        """Whether a tensor is where the weights are."""
        return value.device == self.device

    @abstractmethod
    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One step, without gradients."""
