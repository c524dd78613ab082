"""One step on a CPU: the kernel of a sequence of one, its arguments laid out once."""

import ctypes
from array import array
from threading import Lock
from typing import Any

from torch import Tensor

from unspool.cells.cell import Bound
from unspool.engine.c_templates import HEADER
from unspool.engine.call import Call
from unspool.engine.cpu import Arguments
from unspool.engine.planning import make_plan
from unspool.engine.programs import YS, Program, forward_program
from unspool.engine.session import Session

FRESH = HEADER.index("fresh")


class CpuSession(Session):
    """The numbers of a call, made once; a step changes four addresses."""

    def __init__(self, call: Call):
        super().__init__(call)
        assert isinstance(call.cell, Bound)
        x = call.xs[0].contiguous()
        plan = make_plan(call.cell.equations, (), hoist=False)
        program: Program = forward_program(plan, False, False)
        self.layout = program.layout(1, len(x), call.cell.sizes, x.element_size())
        self.arguments = Arguments(call, plan)  # keeps weights alive
        self.work = x.new_empty(self.layout.work_length)
        self.function = program.function(x.dtype)
        eqs = plan.equations
        self.output_shape = (len(x), self.layout.output_sizes[YS])
        lines = [*eqs.carried.values()]
        self.twin = lines.index(eqs.output) if eqs.output in lines else None
        arrays, parts = program.kernel.arrays, self.layout.parts
        self.x = parts["p"] + arrays.index("x") if "x" in arrays else None
        self.y, self.ends = parts["p"] + arrays.index(YS), parts["first"]
        self.arguments.given |= {"x": 0, YS: 0}
        numbers = self.layout.numbers(self.work.data_ptr(), 0, False)
        self.numbers = array("q", self.arguments.fill(self.layout, numbers))
        self.lock = Lock()  # numbers and work are one caller's at a time
        self.address = ctypes.c_void_p(self.numbers.buffer_info()[0])

    def holds(self, value: Tensor) -> bool:
        return value.is_cpu

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        x, first = x.contiguous(), [value.contiguous() for value in state]
        last = [x.new_empty(shape) for shape in self.shapes[1:]]
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
