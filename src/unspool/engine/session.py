"""What a stepper keeps: weights that are laid out, kernels that are ready."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.cells.state import make_state, state_type
from unspool.engine.autograd import in_func
from unspool.engine.call import Call
from unspool.engine.pieces import Pieces


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


class JoinedSession(Session):
    """Steps of a cell whose vectors are cut in its kernels: pieces go in, and are joined again."""

    def __init__(self, kind: type[Session], pieces: Pieces):
        super().__init__(pieces.whole)
        self.pieces, call = pieces, pieces.call()
        assert isinstance(call.cell, Bound)
        eqs, self.extra = pieces.split.for_steps
        cell = Bound(eqs, call.cell.sizes, call.cell.tensors)
        self.extra_sizes = [cell.size(name) for name in self.extra]
        self.states, self.carried = eqs.states, eqs.carried
        state = make_state(self.states, [*call.state, *self.unread(call.xs)])
        self.inner = kind(replace(call, cell=cell, state=state, record=()))
        self.any_rows = self.inner.any_rows

    def unread(self, xs: Tensor) -> list[Tensor]:
        return [xs.new_zeros(xs.shape[-2], n) for n in self.extra_sizes]

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        pieces, eqs = self.pieces, self.pieces.equations
        given = pieces.cut(dict(zip(eqs.states, state, strict=True)), -1)
        given |= zip(self.extra, self.unread(x), strict=True)
        y, last = self.inner.step(x, make_state(self.states, (given[n] for n in self.states)))
        ends = dict(zip(self.states, last, strict=True))
        lines = {self.carried[name]: value for name, value in ends.items()}
        lines[pieces.split.equations.output] = y
        values = [lines[piece] for piece in pieces.split.output]
        y = values[0] if len(values) == 1 else torch.cat(values, -1)
        return y, self.make(*(pieces.join(name, ends) for name in eqs.states))
