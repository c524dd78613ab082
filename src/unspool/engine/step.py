"""One step at a time, for decoding and streams: weights are laid out once, then only read."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound, Cell
from unspool.engine import cpu
from unspool.engine.autograd import why_reference
from unspool.engine.c_build import CannotBuild
from unspool.engine.c_spec import CannotPrint
from unspool.engine.call import (
    Call,
    autocast_decides,
    prepare,
    under_autocast,
    without_autocast,
)
from unspool.engine.graphs import is_traced
from unspool.engine.kernels import no_kernels
from unspool.engine.launch import is_captured
from unspool.engine.masks import Masks
from unspool.engine.pieces import pieces_of
from unspool.engine.reference import unfold_reference
from unspool.engine.say import say_once
from unspool.engine.session import JoinedSession, Session
from unspool.engine.step_cpu import CpuSession
from unspool.engine.step_cuda import CudaSession

SESSIONS = 8  # numbers of rows that weights stay laid out for


class Stepper:
    """`y, state = stepper(x, state)` for x of shape (B, I): what `unfold` gives for one step.

    It takes a copy of the weights when it is made: make a new one when they have changed. No
    gradient goes through it. `masks` are those of evaluation, which do not change by step. Where
    the output is a state's new value both are the same tensor, as with `Cell.step`.
    """

    def __init__(self, cell: Any, masks: Masks | None = None):
        self.cell, self.masks = _frozen(cell), masks
        self.sessions: dict[tuple[int, torch.dtype], Session | None] = {}
        self.latest: Session | None = None
        self.converted: dict[torch.dtype, Any] = {}

    def __call__(self, x: Tensor, state: Sequence[Tensor] | None = None) -> tuple[Tensor, Any]:
        if is_traced():
            raise RuntimeError(
                "a stepper keeps its weights outside of graphs: trace unfold instead"
            )
        session = self.latest
        if session is not None and session.fits(x, state):
            return session.step(x, state)
        with torch.no_grad():
            return self.begin(x, state)

    def __reduce__(self) -> Any:
        """Copies and pickles lay their weights out anew."""
        return Stepper, (self.cell, self.masks)

    def begin(self, x: Tensor, state: Sequence[Tensor] | None) -> tuple[Tensor, Any]:
        """The first step for a number of rows, and every step that no kernel runs."""
        if not isinstance(x, Tensor) or (isinstance(self.cell, Bound) and x.dim() != 2):
            found = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"x is one step of every row, a tensor of shape (B, I); got {found}")
        cell = self.cell_on(x.device.type)
        call = prepare(
            cell, x[None], state, lengths=None, reverse=False, masks=self.masks, record=()
        )
        with without_autocast(x.device.type):
            session = self.session(call) if len(x) else None
            if session is None:
                ys, last, _ = unfold_reference(call)
                return ys[0], last
            return session.step(call.xs[0], call.state)

    def cell_on(self, device: str) -> Any:
        """The cell as autocast wants it, converted once for each dtype."""
        if not autocast_decides(device):
            return self.cell
        dtype = torch.get_autocast_dtype(device)
        if dtype not in self.converted:
            self.converted[dtype] = under_autocast(self.cell, device)
        return self.converted[dtype]

    def session(self, call: Call) -> Session | None:
        kind = CpuSession if cpu.takes(call) else CudaSession
        problem = why_reference(call) or no_kernels(call)
        if problem:
            if isinstance(call.cell, Bound):
                say_once(problem, call.cell.equations)
            return None
        key = (kind.rows_of(call), call.xs.dtype)
        if key not in self.sessions:
            if is_captured(call.xs.device):
                return None  # where nothing can be compiled or compared
            if len(self.sessions) >= SESSIONS:
                del self.sessions[next(iter(self.sessions))]
            self.sessions[key] = _begun(kind, call)
        self.latest = self.sessions[key]
        return self.latest


def _begun(kind: type[Session], call: Call) -> Session | None:
    try:
        pieces = pieces_of(call)
        return kind(call) if pieces is None else JoinedSession(kind, pieces)
    except CannotPrint as error:
        assert isinstance(call.cell, Bound)
        say_once(str(error), call.cell.equations)
    except CannotBuild as error:
        say_once(str(error))
    return None


def _frozen(cell: Any) -> Any:
    """The cell with weights of its own; a Python class keeps its own time."""
    if isinstance(cell, Cell):
        cell = cell.bind()
    if not isinstance(cell, Bound):
        return cell
    copies = {name: tensor.detach().clone() for name, tensor in cell.tensors.items()}
    return Bound(cell.equations, cell.sizes, copies)
