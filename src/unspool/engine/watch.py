"""Calls of `unfold`, watched: what each was given and what came of it.

State goes in and comes out, so a call that is given the same again does the same. Watching
therefore only keeps the call; what its lines were, and the gradient of each, is found afterwards
by doing it again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.engine.autograd import in_func
from unspool.engine.call import bound_of, in_dtype
from unspool.engine.masks import Masks

_watching: ContextVar[tuple[list["Seen"], ...]] = ContextVar("watching", default=())


@dataclass(frozen=True)
class Seen:
    """A call of `unfold`: its arguments, its outputs `ys` and its last state."""

    cell: Any
    xs: Tensor
    state: Any
    lengths: Tensor | None
    reverse: bool
    masks: Masks | None
    ys: Tensor
    last: Any

    def as_it_ran(self) -> Any:
        """The cell in the dtype of this call, which autocast may have chosen."""
        bound = bound_of(self.cell)
        return in_dtype(bound, self.xs.dtype) if isinstance(bound, Bound) else bound


@contextmanager
def watching() -> Iterator[list[Seen]]:
    """The list of every `unfold` inside this block, in whatever model, as they come.

    Calls inside torch.compile are not seen, nor the steps of a `Stepper`.
    """
    seen: list[Seen] = []
    token = _watching.set((*_watching.get(), seen))
    try:
        yield seen
    finally:
        _watching.reset(token)


@contextmanager
def unwatched() -> Iterator[None]:
    """Calls inside this block are seen by nobody: what is only done to find something out."""
    token = _watching.set(())
    try:
        yield
    finally:
        _watching.reset(token)


def is_watched() -> bool:
    return bool(_watching.get())


def note(call: Seen) -> Seen:
    """Tells everyone who watches; what the caller gets are views, whose gradients are kept.

    A view of its own tells what a caller does with an output from what the loop itself does.
    """
    if torch.is_grad_enabled() and call.ys.requires_grad and not in_func():
        ys, *last = (value.view_as(value) for value in (call.ys, *call.last))
        for value in (ys, *last):
            if value.requires_grad:
                value.retain_grad()
        call = Seen(
            call.cell, call.xs, call.state, call.lengths, call.reverse, call.masks,
            ys, type(call.last)(*last),
        )  # fmt: skip
    for seen in _watching.get():
        seen.append(call)
    return call
