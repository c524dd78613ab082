"""A call in pieces: kernels have no `concat`; what one would join stays several vectors there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.cells.state import make_state
from unspool.engine.c_spec import CannotPrint
from unspool.engine.call import Call
from unspool.equations.program import Equations
from unspool.equations.split import CannotSplit, Split, joins, split

Unfolded = tuple[Tensor, Any, dict[str, Tensor]]


def pieces_of(call: Call) -> "Pieces | None":
    """The call without `concat`; None where the kernels take it as it is."""
    assert isinstance(call.cell, Bound)
    eqs = call.cell.equations
    if not joins(eqs):
        return None
    lines = {name: eqs.carried.get(name, name) for name in call.record}
    try:
        found = split(eqs, tuple(call.cell.sizes.items()), frozenset(lines.values()))
    except CannotSplit as problem:
        raise CannotPrint(str(problem)) from None
    return Pieces(call, found, lines)


@dataclass
class Pieces:
    """`lines` are those that the call records, by the name that it gives them."""

    whole: Call
    split: Split
    lines: Mapping[str, str]

    @property
    def equations(self) -> Equations:
        assert isinstance(self.whole.cell, Bound)
        return self.whole.cell.equations

    @cached_property
    def record(self) -> tuple[str, ...]:
        """All pieces of the output but the first, and of what is recorded."""
        asked = (piece for line in self.lines.values() for piece in self.split.pieces[line])
        wanted = dict.fromkeys((*self.split.output, *asked))
        return tuple(piece for piece in wanted if piece != self.split.equations.output)

    def call(self) -> Call:
        """The same call, of the pieces."""
        whole, cell = self.whole, self.whole.cell
        assert isinstance(cell, Bound)
        parameters = self.cut(cell.tensors, 0)
        state = self.cut(dict(zip(self.equations.states, whole.state, strict=True)), -1)
        inner = self.split.equations
        return Call(
            cell=Bound(inner, cell.sizes, {name: parameters[name] for name in inner.parameters}),
            xs=whole.xs,
            state=make_state(inner.states, (state[name] for name in inner.states)),
            lengths=whole.lengths,
            reverse=whole.reverse,
            record=self.record,
            step_masks=self.cut(whole.step_masks, -1),
            row_masks=self.cut(whole.row_masks, -1),
        )

    def cut(self, values: Mapping[str, Any], dim: int) -> dict[str, Any]:
        """By the names of the pieces; a mask that is a number is the same for all."""
        if self.split.cut.isdisjoint(values):
            return dict(values)
        found: dict[str, Any] = {}
        for name, value in values.items():
            pieces = self.split.pieces[name]
            if name not in self.split.cut:
                found[name] = value
            elif isinstance(value, Tensor):
                found |= zip(pieces, value.split(self.split.lengths[name], dim), strict=True)
            else:
                found |= dict.fromkeys(pieces, value)
        return found

    def join(self, name: str, pieces: Mapping[str, Tensor], dim: int = -1) -> Tensor:
        values = [pieces[piece] for piece in self.split.pieces[name]]
        return values[0] if len(values) == 1 else torch.cat(values, dim)

    def outputs(self, found: Sequence[Tensor]) -> list[Tensor]:
        """What the whole call puts out, from the outputs of the call in pieces."""
        inner, count = self.split.equations, 1 + len(self.split.equations.states)
        lines = {inner.output: found[0], **dict(zip(self.record, found[count:], strict=True))}
        states = dict(zip(inner.states, found[1:count], strict=True))
        last = [self.join(name, states) for name in self.equations.states]
        joined = [self.join(line, lines) for line in (self.equations.output, *self.lines.values())]
        # who changes one in place does not change another
        own = [
            one.clone() if any(one is other for other in joined[:k]) else one
            for k, one in enumerate(joined)
        ]
        return [own[0], *last, *own[1:]]

    def unfolded(self, found: Unfolded) -> Unfolded:
        """As `outputs`, for what `unfold_with` gives."""
        eqs = self.equations
        if not self.lines and self.split.cut.isdisjoint((eqs.output, *eqs.states)):
            return found
        ys, *rest = self.outputs([found[0], *found[1], *found[2].values()])
        count = len(eqs.states)
        last = make_state(eqs.states, rest[:count])
        return ys, last, dict(zip(self.lines, rest[count:], strict=True))

    def grads(self, grads: Sequence[Tensor]) -> list[Tensor]:
        """Gradients of the outputs of the call in pieces, from those of the whole call."""
        eqs, inner, count = self.equations, self.split.equations, 1 + len(self.equations.states)
        states = self.cut(dict(zip(eqs.states, grads[1:count], strict=True)), -1)
        lines: dict[str, Tensor] = {}
        read = (eqs.output, *self.lines.values())
        for line, grad in zip(read, (grads[0], *grads[count:]), strict=True):
            for piece, share in self.cut({line: grad}, -1).items():
                lines[piece] = lines[piece] + share if piece in lines else share
        named = (inner.output, *self.record)
        first, *rest = (lines[piece] for piece in named)
        return [first, *(states[name] for name in inner.states), *rest]

    def gradients(self, found: dict[str, Tensor]) -> dict[str, Tensor]:
        """By name, of the input, the states and the parameters of the whole call."""
        joined = {"x": found["x"]} if "x" in found else {}
        for name in self.equations.states:
            joined[name] = self.join(name, found)
        for name in self.equations.parameters:
            reached = [found.get(piece) for piece in self.split.pieces[name]]
            if any(share is not None for share in reached):
                joined[name] = self.join(name, self.with_zeros(name, found), 0)
        return joined

    def with_zeros(self, name: str, found: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Pieces of a parameter, zeros for those that no gradient reaches."""
        assert isinstance(self.whole.cell, Bound)
        pieces = self.cut({name: self.whole.cell.tensors[name]}, 0)
        return {piece: found.get(piece, torch.zeros_like(t)) for piece, t in pieces.items()}
