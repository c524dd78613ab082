"""A small model to decode from: what comes next depends on the last two tokens and a row's own."""

from typing import Any

import torch
from torch import Tensor

from unspool.decode import State

V = 6
END = 2


class Table:
    """Random log-probabilities; `live` holds the token before the last, `fixed` a row's table."""

    def __init__(self, rows: int, dtype: torch.dtype = torch.float64):
        generator = torch.Generator().manual_seed(rows)
        scores = torch.randn(rows, V, V, V, generator=generator, dtype=torch.float64)
        self.tables = (1.5 * scores).log_softmax(-1).to(dtype)
        self.calls = 0

    def start(self, rows: list[int]) -> tuple[Tensor, State]:
        first = torch.ones(len(rows), dtype=torch.long)
        return first, ({"before": first}, self.tables[rows])

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, State]:
        self.calls += 1
        live, tables = state
        rows = torch.arange(len(tokens))
        return tables[rows, live["before"], tokens], ({"before": tokens}, tables)

    def log_probs(self, row: int, said: list[int]) -> list[float]:
        """Of each token of one row, looked up."""
        tokens = [1, 1, *said]
        return [
            float(self.tables[row, tokens[i], tokens[i + 1], tokens[i + 2]])
            for i in range(len(said))
        ]
