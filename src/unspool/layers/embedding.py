"""Symbols as vectors: one-hot, learned, or given and perhaps frozen."""

import torch
from torch import Tensor, nn


class Embedding(nn.Module):
    """`embed(ids)` looks rows of a table up; symbol 0 is padding, all zeros.

    `size=0` is one-hot: the identity as a table that does not learn. `table` gives the rows,
    for example pretrained ones; `frozen` keeps them as they are.
    """

    def __init__(
        self, symbols: int, size: int, *, table: Tensor | None = None, frozen: bool = False
    ):
        super().__init__()
        if size < 0:
            raise ValueError(f"an embedding has 0 (one-hot) or more features, not {size}")
        if size == 0 and table is None:
            table, frozen = torch.eye(symbols), True
        if table is not None and table.shape[0] != symbols:
            raise ValueError(f"the table has {table.shape[0]} rows for {symbols} symbols")
        self.size = size if table is None else table.shape[1]
        self.weight = nn.Parameter(torch.empty(symbols, self.size), requires_grad=not frozen)
        with torch.no_grad():
            if table is None:
                self.spread(1.0)
            else:
                self.weight.copy_(table)
                self.weight[0] = 0

    @torch.no_grad()
    def spread(self, deviation: float) -> None:
        """Random rows with this standard deviation; padding stays all zeros."""
        self.weight.normal_(std=deviation)
        self.weight[0] = 0

    def forward(self, ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids, self.weight, padding_idx=0)
