"""One step at a time, for decoding and streams: weights are laid out once, then only read."""

import ctypes
from array import array
from collections.abc import Sequence
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound, Cell
from unspool.cells.state import state_type
from unspool.engine.autograd import in_func, only_reference
from unspool.engine.c_build import CannotBuild
from unspool.engine.c_spec import CannotPrint
from unspool.engine.c_templates import HEADER
from unspool.engine.call import Call, prepare
from unspool.engine.cpu import Arguments, takes
from unspool.engine.masks import Masks
from unspool.engine.plan import make_plan
from unspool.engine.programs import YS, Program, forward_program
from unspool.engine.reference import unfold_reference
from unspool.engine.say import say_once

FRESH = HEADER.index("fresh")
SESSIONS = 8  # numbers of rows that weights stay laid out for


class Stepper:
    """`y, state = stepper(x, state)` for x of shape (B, I): what `unfold` gives for one step.

    It takes a copy of the weights when it is made: make a new one when they have changed. No
    gradient goes through it. `masks` are those of evaluation, which do not change by step. Where
    the output is a state's new value both are the same tensor, as with `Cell.step`.
    """

    def __init__(self, cell: Any, masks: Masks | None = None):
        self.cell, self.masks = _frozen(cell), masks
        self.sessions: dict[tuple[int, torch.dtype], _Session | None] = {}
        self.latest: _Session | None = None

    def __call__(self, x: Tensor, state: Sequence[Tensor] | None = None) -> tuple[Tensor, Any]:
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
        call = prepare(
            self.cell, x[None], state, lengths=None, reverse=False, masks=self.masks, record=()
        )
        session = None if only_reference(call) else self.session(call)
        if session is None:
            ys, last, _ = unfold_reference(call)
            return ys[0], last
        return session.step(call.xs[0], call.state)

    def session(self, call: Call) -> "_Session | None":
        key = (call.xs.shape[1], call.xs.dtype)
        if key not in self.sessions:
            if len(self.sessions) >= SESSIONS:
                del self.sessions[next(iter(self.sessions))]
            self.sessions[key] = _session(call)
        self.latest = self.sessions[key]
        return self.latest


def _session(call: Call) -> "_Session | None":
    if not call.xs.shape[1] or not takes(call):
        return None
    try:
        return _Session(call)
    except CannotPrint:
        return None
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


class _Session:
    """The numbers of a call, made once; a step changes four addresses."""

    def __init__(self, call: Call):
        assert isinstance(call.cell, Bound)
        x = call.xs[0].contiguous()
        plan = make_plan(call.cell.equations, (), hoist=False)
        program: Program = forward_program(plan, False, False)
        self.layout = program.layout(1, len(x), call.cell.sizes, x.element_size())
        self.arguments = Arguments(call, plan)  # keeps weights alive
        self.work = x.new_empty(self.layout.work_length)
        self.function = program.function(x.dtype)
        eqs = plan.equations
        self.states, self.shape, self.dtype = eqs.states, x.shape, x.dtype
        self.state_shapes = [torch.Size((len(x), n)) for n in self.layout.state_sizes]
        self.output_shape = (len(x), self.layout.output_sizes[YS])
        lines = [*eqs.carried.values()]
        self.twin = lines.index(eqs.output) if eqs.output in lines else None
        self.make = state_type(eqs.states)
        arrays, parts = program.kernel.arrays, self.layout.parts
        self.x = parts["p"] + arrays.index("x") if "x" in arrays else None
        self.y, self.ends = parts["p"] + arrays.index(YS), parts["first"]
        self.arguments.given |= {"x": 0, YS: 0}
        numbers = self.layout.numbers(self.work.data_ptr(), 0, False)
        self.numbers = array("q", self.arguments.fill(self.layout, numbers))
        self.lock = Lock()  # numbers and work are one caller's at a time
        self.address = ctypes.c_void_p(self.numbers.buffer_info()[0])

    def fits(self, x: Tensor, state: Any) -> bool:
        if type(x) is not Tensor or x.shape != self.shape or x.dtype is not self.dtype:
            return False
        if not isinstance(state, tuple | list) or len(state) != len(self.states) or in_func():
            return False
        for value, shape in zip(state, self.state_shapes, strict=True):
            if type(value) is not Tensor or value.shape != shape or value.dtype is not self.dtype:
                return False
            if not value.is_cpu:
                return False
        return x.is_cpu

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        x, first = x.contiguous(), [value.contiguous() for value in state]
        last = [x.new_empty(shape) for shape in self.state_shapes]
        # an output that is a state's new value is one tensor with it, as in `Cell.step`
        y = x.new_empty(self.output_shape) if self.twin is None else last[self.twin]
        with self.lock:
            self.launch(x, y, first, last)
        return y, self.make(*last)

    def launch(self, x: Tensor, y: Tensor, first: list[Tensor], last: list[Tensor]) -> None:
        numbers = self.numbers
        if self.x is not None:
            numbers[self.x] = x.data_ptr()
        numbers[self.y] = y.data_ptr()
        at = self.ends
        for value in first:
            numbers[at] = value.data_ptr()
            at += 1
        for value in last:
            numbers[at] = value.data_ptr()
            at += 1
        self.function(self.address)
        numbers[FRESH] = 0  # the weights are laid out now
