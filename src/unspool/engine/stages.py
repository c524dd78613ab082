"""One call of a plan: its sizes, its tensors, and the rows that its padding leaves."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.engine.call import Call
from unspool.engine.plan import Plan
from unspool.engine.planning import make_plan
from unspool.equations.expr import Expr

Env = dict[str, Any]


@dataclass
class Stages:
    """One call of a plan: its sizes, its tensors, and the rows that its padding leaves.

    Arrays over time are (T, B, n). What runs for all steps at once runs on the rows that are
    inside their sequence alone, (N, n): what stands in the padding is never computed with.
    """

    call: Call
    plan: Plan
    tensors: dict[str, Tensor]
    compact: bool = True  # else rows past their end stay, and are zero where it matters

    @cached_property
    def bound(self) -> Bound:
        assert isinstance(self.call.cell, Bound)
        return self.call.cell

    @cached_property
    def inside(self) -> Tensor | None:
        """(T, B), False past a row's end; None if every row is full."""
        if self.call.lengths is None:
            return None
        steps = torch.arange(self.call.xs.shape[0], device=self.call.xs.device)
        return steps[:, None] < self.call.lengths.to(self.call.xs.device)

    @cached_property
    def rows(self) -> Tensor | None:
        if self.inside is None or not self.compact:
            return None
        return self.inside.flatten().nonzero().flatten()

    def cleared(self, flat: Tensor) -> Tensor:
        """Rows (N, n) with zeros past each sequence's end, where they are not left out anyway."""
        if self.inside is None or self.compact:
            return flat
        return torch.where(self.inside.flatten()[:, None], flat, flat.new_zeros(()))

    def size(self, name: str) -> int:
        return self.plan.sizes[name].value(self.bound.sizes)

    def size_of(self, expr: Expr) -> int:
        size = self.plan.equations.size_of(expr)
        assert size is not None
        return size.value(self.bound.sizes)

    def flat(self, array: Tensor) -> Tensor:
        """(T, B, n) to the rows inside, (N, n)."""
        flat = array.flatten(0, 1)
        return flat if self.rows is None else flat.index_select(0, self.rows)

    def spread(self, flat: Tensor) -> Tensor:
        """The rows inside, (N, n), to (T, B, n), zeros elsewhere."""
        T, B = self.call.xs.shape[:2]
        if self.rows is not None:
            flat = flat.new_zeros(T * B, flat.shape[1]).index_copy(0, self.rows, flat)
        return flat.reshape(T, B, flat.shape[1])

    def times(self) -> list[int]:
        order = range(self.call.xs.shape[0])
        return list(reversed(order)) if self.call.reverse else list(order)

    def masks_at(self, t: int) -> Env:
        steps = {k: m[t] if isinstance(m, Tensor) else m for k, m in self.call.step_masks.items()}
        return {**self.call.row_masks, **steps}

    def flat_masks(self) -> Env:
        T = self.call.xs.shape[0]
        rows = {k: self.flat(m.expand(T, *m.shape)) for k, m in self.call.row_masks.items()}
        steps = self.call.step_masks.items()
        return rows | {k: self.flat(m) if isinstance(m, Tensor) else m for k, m in steps}


def stages_of(call: Call, compact: bool = True, hoist: bool = True) -> Stages:
    assert isinstance(call.cell, Bound)
    plan = make_plan(call.cell.equations, call.record, hoist)
    tensors = dict(call.cell.tensors)
    for name, piece in plan.pieces.items():
        tensors[name] = piece.of(tensors[piece.matrix], call.cell.sizes)
    return Stages(call, plan, tensors, compact)
