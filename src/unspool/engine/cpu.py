"""Plans as compiled C: one call forwards, one call backwards."""

import ctypes
from array import array
from collections.abc import Sequence

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.engine.c_templates import HEADER
from unspool.engine.call import Call
from unspool.engine.layout import ALIGNED, Layout, saved_counts
from unspool.engine.pages import borrow, empty, give_back
from unspool.engine.plan import Plan
from unspool.engine.planning import make_plan
from unspool.engine.programs import (
    DTYPES,
    DX,
    YS,
    Program,
    backward_program,
    build_both,
    forward_program,
)
from unspool.engine.saved import Saved
from unspool.equations.derivative import OUTPUT, recorded

EXTRA, ON = HEADER.index("extra"), HEADER.index("on")
FEW_ROWS = 6  # rows below which the input's products are better taken for all steps at once


def why_not(call: Call) -> str | None:
    """What stands against the kernels, if anything."""
    if call.xs.device.type != "cpu":
        return f"they run on the CPU, and xs is on {call.xs.device}"
    if call.xs.dtype not in DTYPES:
        return f"on a CPU they compute in float32 and float64, not in {call.xs.dtype}"
    return None


def takes(call: Call) -> bool:
    return why_not(call) is None


def plan_of(call: Call) -> Plan:
    """The plan whose products of the input stand where they cost least."""
    assert isinstance(call.cell, Bound)
    rows = call.xs.shape[1]
    few = isinstance(rows, int) and rows < FEW_ROWS  # while a graph is made it may be a symbol
    return make_plan(call.cell.equations, call.record, few)


def layout_of(call: Call) -> Layout:
    """What a forward pass for training lays out."""
    assert isinstance(call.cell, Bound)
    T, B, _ = map(int, call.xs.shape)
    program = forward_program(plan_of(call), True, False)
    return program.layout(T, B, call.cell.sizes, call.xs.element_size())


def room_for_saved(call: Call) -> int:
    """Numbers that hold what any plan of the call saves: an expression where T or B is a symbol."""
    assert isinstance(call.cell, Bound)
    T, B, _ = call.xs.shape
    plans = [make_plan(call.cell.equations, call.record, few) for few in (False, True)]
    programs = [forward_program(plan, True, False) for plan in plans]
    counts = [saved_counts(one.spec, one.kernel, call.cell.sizes) for one in programs]
    by_step, by_row, arrays = map(max, zip(*counts, strict=True))
    return T * B * by_step + B * by_row + ALIGNED * arrays


def forward(
    call: Call, training: bool, half: bool = False, room: int = 0
) -> tuple[list[Tensor], Saved]:
    """Outputs: ys, the last state, the recorded lines. `room` for what is saved, if more."""
    cell, xs = call.cell, call.xs.contiguous()
    assert isinstance(cell, Bound)
    T, B, _ = xs.shape
    plan = plan_of(call)
    program = forward_program(plan, training, half)
    if training and xs.dtype not in program.built:
        build_both(plan, xs.dtype, half)
    layout = program.layout(T, B, cell.sizes, xs.element_size())
    arguments = Arguments(call, plan)
    given = arguments.given
    given["x"] = xs.data_ptr()
    outputs = {name: empty(xs, T, B, n) for name, n in layout.output_sizes.items()}
    for name, output in outputs.items():
        given[name] = output.data_ptr()
    last = [xs.new_empty(B, n) for n in layout.state_sizes]
    assert not room or room >= layout.saved_length, "a graph was promised less than is saved"
    saved = empty(xs, room or layout.saved_length)
    arguments.run(program, layout, saved.data_ptr(), call.reverse, (*call.state, *last))
    found = [outputs[YS], *last, *(outputs[f":{name}"] for name in call.record)]
    return found, Saved([saved], layout)


def backward(
    call: Call, saved: Saved, grads: Sequence[Tensor], wants_x: bool, half: bool = False
) -> dict[str, Tensor]:
    """Gradients by name: x, each state, each parameter of the equations."""
    cell, (buffer,), before = call.cell, saved.tensors, saved.rest
    assert isinstance(cell, Bound)
    plan = plan_of(call)
    eqs, xs = plan.equations, call.xs.contiguous()
    B, element = xs.shape[1], xs.element_size()
    program = backward_program(plan, half)
    layout = program.layout(xs.shape[0], B, cell.sizes, element)
    states = len(eqs.states)
    arguments = Arguments(call, plan)
    given, start = arguments.given, buffer.data_ptr()
    given["x"], given[OUTPUT] = xs.data_ptr(), arguments.address(grads[0])
    for name, grad in zip(call.record, grads[1 + states :], strict=True):
        given[recorded(name)] = arguments.address(grad)
    for name, place in before.saved.items():
        given[name] = start + place
    for k, (state, line) in enumerate(eqs.carried.items()):
        step, history = B * before.state_sizes[k] * element, start + before.states[k]
        given[state] = history + step * call.reverse
        given.setdefault(line, history + step * (not call.reverse))
    found: dict[str, Tensor] = {}
    if DX in layout.output_sizes:
        found["x"] = empty(xs, *xs.shape) if wants_x else xs.new_empty(0)
        given[DX] = found["x"].data_ptr()
    for name in plan.parameters:
        new = xs.new_zeros if name in plan.crowded else xs.new_empty
        found[name] = new(cell.tensors[name].shape)
    last = [xs.new_empty(B, n) for n in layout.state_sizes]
    results = [found[name[1:]].data_ptr() for name in program.kernel.sums]
    rows = []
    for outer in program.spec.outers:
        gradient = plan.tensor(outer.matrix, found, cell.sizes)
        results.append(gradient.data_ptr())
        rows.append(gradient.stride(0))
    ends = (*grads[1 : 1 + states], *last)
    arguments.run(program, layout, 0, not call.reverse, ends, wants_x, results + rows)
    found |= zip(eqs.states, last, strict=True)
    return found


class Arguments:
    """Addresses of what a kernel reads, and the tensors that must live until it has run."""

    def __init__(self, call: Call, plan: Plan):
        assert isinstance(call.cell, Bound)
        self.call, self.plan = call, plan
        self.tensors, self.sizes = call.cell.tensors, call.cell.sizes
        self.alive: list[Tensor] = []
        self.given = {name: self.address(self.tensors[name]) for name in plan.equations.vectors}
        self.masks: dict[str, tuple[int, int]] = {}
        for name, mask in (*call.step_masks.items(), *call.row_masks.items()):
            self.mask(name, mask)

    def address(self, tensor: Tensor) -> int:
        if not tensor.is_contiguous():
            tensor = tensor.contiguous()
            self.alive.append(tensor)
        return tensor.data_ptr()

    def mask(self, name: str, mask: Tensor | float) -> None:
        """Masks may change by step, by row, or not at all: steps of 0 read the same again."""
        if not isinstance(mask, Tensor):
            mask = self.call.xs.new_full((self.plan.sizes[name].value(self.sizes),), mask)
            self.alive.append(mask)
        n = mask.shape[-1]
        over_time = mask.dim() == 3
        self.masks[name] = (mask.shape[1] * n if over_time else 0, n if mask.dim() > 1 else 0)
        self.given[name] = self.address(mask)

    def run(
        self,
        program: Program,
        layout: Layout,
        saved: int,
        backwards: bool,
        ends: Sequence[Tensor],
        extra: bool = False,
        results: Sequence[int] = (),
    ) -> None:
        """One call. `ends` are the states' first values, then where their last ones go."""
        xs = self.call.xs
        work, on = borrow(xs, layout.work_length), self.inside()
        numbers = self.fill(layout, layout.numbers(work.data_ptr(), saved, backwards))
        numbers[EXTRA], numbers[ON] = extra, 0 if on is None else on.data_ptr()
        at = layout.parts
        numbers[at["first"] : at["m"]] = [self.address(value) for value in ends]
        numbers[at["vec"] : at["end"]] = results
        packed = array("q", numbers)
        program.function(xs.dtype)(ctypes.c_void_p(packed.buffer_info()[0]))
        give_back(work)

    def fill(self, layout: Layout, numbers: list[int]) -> list[int]:
        """The addresses of all that is read, into their places."""
        at, given, tensors = layout.parts, self.given, self.tensors
        for k, name in layout.given:
            numbers[k] = given[name]
        k = at["ms"]
        for name in layout.kernel.masks:
            numbers[k : k + 2] = self.masks[name]
            k += 2
        m, count = at["m"], at["rs"] - at["m"]
        for k, (name, transposed) in enumerate(layout.matrices, m):
            matrix = self.plan.tensor(name, tensors, self.sizes)
            rows, columns = matrix.stride()
            numbers[k] = matrix.data_ptr()
            numbers[k + count] = columns if transposed else rows
            numbers[k + 2 * count] = rows if transposed else columns
        return numbers

    def inside(self) -> Tensor | None:
        """(T, B), 0 past a row's end."""
        lengths = self.call.lengths
        if lengths is None:
            return None
        steps = torch.arange(self.call.xs.shape[0], device="cpu")
        return (steps[:, None] < lengths.cpu()).to(torch.uint8)
