"""Plans as compiled C: one call forwards, one call backwards."""

import ctypes
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.engine.call import Call
from unspool.engine.layout import Layout
from unspool.engine.pages import borrow, empty, give_back
from unspool.engine.plan import Plan, make_plan
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

FEW_ROWS = 6  # rows below which the input's products are better taken for all steps at once


def takes(call: Call) -> bool:
    return call.xs.device.type == "cpu" and call.xs.dtype in DTYPES


def plan_of(call: Call) -> Plan:
    """The plan whose products of the input stand where they cost least."""
    assert isinstance(call.cell, Bound)
    return make_plan(call.cell.equations, call.record, call.xs.shape[1] < FEW_ROWS)


def layout_of(call: Call) -> Layout:
    """What a forward pass for training lays out."""
    assert isinstance(call.cell, Bound)
    T, B, _ = map(int, call.xs.shape)
    program = forward_program(plan_of(call), True, False)
    return program.layout(T, B, call.cell.sizes, call.xs.element_size())


def forward(call: Call, training: bool, half: bool = False) -> tuple[list[Tensor], Saved]:
    """Outputs: ys, the last state, the recorded lines."""
    cell, xs = call.cell, call.xs.contiguous()
    assert isinstance(cell, Bound)
    T, B, _ = xs.shape
    plan = plan_of(call)
    program = forward_program(plan, training, half)
    if training and xs.dtype not in program.built:
        build_both(plan, xs.dtype, half)
    layout = program.layout(T, B, cell.sizes, xs.element_size())
    arguments = Arguments(call, plan)
    outputs = {name: empty(xs, T, B, n) for name, n in layout.output_sizes.items()}
    arguments.give(("x", xs), *outputs.items())
    last = [xs.new_empty(B, n) for n in layout.state_sizes]
    saved = empty(xs, layout.saved_length)
    arguments.run(
        program, layout, xs, saved.data_ptr(), call.reverse, False, call.state, last, (), ()
    )
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
    T, B, _ = xs.shape
    program = backward_program(plan, half)
    layout = program.layout(T, B, cell.sizes, xs.element_size())
    states = len(eqs.states)
    arguments = Arguments(call, plan)
    arguments.give(("x", xs), (OUTPUT, grads[0]))
    arguments.give(*zip(map(recorded, call.record), grads[1 + states :], strict=True))
    start, given = buffer.data_ptr(), arguments.given
    for name, place in before.saved.items():
        given[name] = start + place
    for k, (state, line) in enumerate(eqs.carried.items()):
        step, history = B * before.state_sizes[k] * xs.element_size(), start + before.states[k]
        given[state] = history + step * call.reverse
        given.setdefault(line, history + step * (not call.reverse))
    found: dict[str, Tensor] = {}
    if DX in layout.output_sizes:
        found["x"] = empty(xs, *xs.shape) if wants_x else xs.new_empty(0)
        given[DX] = found["x"].data_ptr()
    for name in plan.parameters:
        found[name] = xs.new_empty(cell.tensors[name].shape)
    last = [xs.new_empty(B, n) for n in layout.state_sizes]
    arguments.run(
        program, layout, xs, 0, not call.reverse, wants_x, grads[1 : 1 + states], last,
        [found[name[1:]].data_ptr() for name in program.kernel.sums],
        [_rows(found, plan, outer.matrix, cell) for outer in program.spec.outers],
    )  # fmt: skip
    found |= zip(eqs.states, last, strict=True)
    return found


class Arguments:
    """Addresses of what a kernel reads, and the tensors that must live until it has run."""

    def __init__(self, call: Call, plan: Plan):
        assert isinstance(call.cell, Bound)
        self.call, self.plan, self.cell = call, plan, call.cell
        self.given: dict[str, int] = {}
        self.alive: list[Any] = []
        self.give(*((name, call.cell.tensors[name]) for name in plan.equations.vectors))
        self.masks: dict[str, tuple[int, int]] = {}
        for name, mask in (*call.step_masks.items(), *call.row_masks.items()):
            self.mask(name, mask)

    def give(self, *pairs: tuple[str, Tensor]) -> None:
        for name, tensor in pairs:
            self.given[name] = self.address(tensor)

    def address(self, tensor: Tensor) -> int:
        tensor = tensor.contiguous()
        self.alive.append(tensor)
        return tensor.data_ptr()

    def mask(self, name: str, mask: Tensor | float) -> None:
        """Masks may change by step, by row, or not at all: steps of 0 read the same again."""
        if not isinstance(mask, Tensor):
            mask = self.call.xs.new_full((self.plan.sizes[name].value(self.cell.sizes),), mask)
        n = mask.shape[-1]
        over_time = mask.dim() == 3
        self.masks[name] = (mask.shape[1] * n if over_time else 0, n if mask.dim() > 1 else 0)
        self.given[name] = self.address(mask)

    def run(
        self,
        program: Program,
        layout: Layout,
        like: Tensor,
        saved: int,
        backwards: bool,
        extra: bool,
        first: Iterable[Tensor],
        last: Iterable[Tensor],
        vectors: Sequence[int],
        gradients: Sequence[tuple[int, int]],
    ) -> None:
        work, on = borrow(like, layout.work_length), self.inside()
        numbers = layout.numbers(
            backwards=backwards,
            extra=extra,
            on=0 if on is None else on.data_ptr(),
            work=work.data_ptr(),
            saved=saved,
            given=self.given,
            masks=self.masks,
            ends=[self.address(value) for value in (*first, *last)],
            matrices=self.matrices(),
            vectors=vectors,
            gradients=gradients,
        )
        packed = array("q", numbers)
        program.function(like.dtype)(ctypes.c_void_p(packed.buffer_info()[0]))
        give_back(work)

    def inside(self) -> Tensor | None:
        """(T, B), 0 past a row's end."""
        lengths = self.call.lengths
        if lengths is None:
            return None
        return (torch.arange(self.call.xs.shape[0])[:, None] < lengths).to(torch.uint8)

    def matrices(self) -> Mapping[str, tuple[int, int, int]]:
        found = {}
        for name in self.plan.matrices:
            matrix = self.cell.tensors[name]
            found[name] = (matrix.data_ptr(), *matrix.stride())
        for name, piece in self.plan.pieces.items():
            address, rows, columns = found[piece.matrix]
            start = piece.start.value(self.cell.sizes) * columns * self.call.xs.element_size()
            found[name] = (address + start, rows, columns)
        return found


def _rows(found: Mapping[str, Tensor], plan: Plan, matrix: str, cell: Bound) -> tuple[int, int]:
    """Where a matrix's gradient stands, and how far its rows are apart."""
    if matrix not in plan.pieces:
        return found[matrix].data_ptr(), found[matrix].stride(0)
    piece = plan.pieces[matrix]
    whole = found[piece.matrix]
    start = piece.start.value(cell.sizes) * whole.element_size()
    return whole.data_ptr() + start, whole.stride(0)
