"""The plan's loops as compiled C, forwards and backwards; the rest of the plan in torch.

`stages_of`, `forward` and `backward` are those of `planned`, with the loop over time replaced by
one call of a kernel that the equations were printed into.
"""

import ctypes
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from unspool.engine import c_build
from unspool.engine.c_source import Kernel, Spec, print_kernel
from unspool.engine.call import Call
from unspool.engine.plan import Accumulate, Elementwise, Item, Loop, Plan, Reduce
from unspool.engine.planned import (
    Env,
    Runner,
    Saved,
    Stages,
    parameter_gradients,
    stages_of,
)
from unspool.equations.derivative import OUTPUT, adjoint, from_next, recorded
from unspool.equations.expr import names

__all__ = ["backward", "forward", "kernels", "stages_of"]

DTYPES = {torch.float32: "float", torch.float64: "double"}
SMALL = 60_000  # multiplications a step below which a second worker costs more than it brings


def takes(call: Call) -> bool:
    return call.xs.device.type == "cpu" and call.xs.dtype in DTYPES


class Program:
    """One loop of a plan: its specification, printed, built and ready to call.

    `late` is what is read after the loop; without old states in it, two places for each state
    are enough: a ring.
    """

    def __init__(self, spec: Spec, late: Set[str]):
        self.spec = spec
        self.ring = not any(old in late for old, _ in spec.carried.values())
        self.kernel: Kernel = print_kernel(spec)
        self.built: dict[torch.dtype, Any] = {}

    def function(self, dtype: torch.dtype) -> Any:
        if dtype not in self.built:
            self.built[dtype] = c_build.load(self.kernel.source, DTYPES[dtype]).run
            self.built[dtype].restype = None
        return self.built[dtype]


class _Struct(ctypes.Structure):
    """`Kernel` of prelude.h."""

    _fields_ = [
        *((name, ctypes.c_long) for name in ("T", "B", "workers", "backwards", "ring")),
        *((name, ctypes.c_void_p) for name in ("len", "n", "p", "st", "sb", "s")),
        *((name, ctypes.c_void_p) for name in ("m", "rs", "cs", "packed", "red", "gate")),
    ]


@lru_cache(maxsize=512)
def kernels(plan: Plan, training: bool) -> tuple[Program, Program | None]:
    """The forward program, and the backward one if it is for training."""
    eqs = plan.equations
    made = {item.name for item in plan.forward.inside}
    new = {*eqs.carried.values()}
    wanted = {name for item in plan.forward.after for name in item.reads()} & made
    wanted |= {eqs.carried.get(name, name) for name in plan.record} & made
    wanted |= set(plan.saved) if training else set()
    forward = Program(
        Spec(
            plan.forward,
            plan.sizes,
            {state: (state, line) for state, line in eqs.carried.items()},
            tuple(sorted(wanted - (new if training else set()))),
            eqs.output if eqs.output in made else None,
            _scalars(plan.forward),
            _late_biases(plan),
        ),
        {name for item in plan.forward.after for name in item.reads()},
    )
    if not training:
        return forward, None
    spec = _backward_spec(plan)
    late = {name for item in spec.loop.after for name in item.reads()} | _read_by_gradients(plan)
    return forward, Program(spec, late)


def _late_biases(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Biases that the loop adds as it reads a sum: cheaper than one more pass over all steps."""
    inside = [item for item in plan.forward.inside if isinstance(item, Elementwise)]
    others = set(plan.forward.items()) | set(plan.backward.items())
    elsewhere = {name for item in others - set(inside) for name in item.reads()}
    elsewhere |= _read_by_gradients(plan)
    sums = [item for item in plan.forward.before if isinstance(item, Accumulate) and item.bias]
    return {item.name: item.bias for item in sums if item.name not in elsewhere}


def _without(items: Sequence[Item], biases: Mapping[str, Any]) -> list[Item]:
    late = {item for item in items if isinstance(item, Accumulate) and item.name in biases}
    return [replace(item, bias=()) if item in late else item for item in items]


def _backward_spec(plan: Plan) -> Spec:
    loop = _folded(plan)
    made = [item.name for item in loop.inside]
    late = {name for item in loop.after for name in item.reads()} | _read_by_gradients(plan)
    flows = plan.flow()
    carried = {s: (from_next(s), flows.get(s)) for s in plan.equations.states}
    outputs = tuple(name for name in made if name in late)
    return Spec(loop, plan.sizes, carried, outputs, None, _scalars(plan.forward) | _scalars(loop))


def _folded(plan: Plan) -> Loop:
    """The backward loop with element-wise lines taken in from before it.

    `tanh(c')` is cheaper computed again in the loop than written and read.
    """
    loop = plan.backward
    outside = {name for item in loop.after for name in item.reads()} | _read_by_gradients(plan)
    outside |= {adjoint("x"), *plan.flow().values()}
    stay, move = [], []
    for item in reversed(loop.before):
        if isinstance(item, Elementwise) and not item.whole and item.name not in outside:
            move.insert(0, item)
        else:
            stay.insert(0, item)
            outside |= item.reads()
    if not loop.levels:
        return loop
    return replace(loop, before=tuple(stay), levels=((*move, *loop.levels[0]), *loop.levels[1:]))


@lru_cache(maxsize=512)
def _read_by_gradients(plan: Plan) -> frozenset[str]:
    read = {n for share in plan.derived.vectors.values() for n in names(share)}
    for outers in plan.derived.matrices.values():
        read |= {n for outer in outers for n in names(outer.left) | names(outer.right)}
    return frozenset(read)


def _scalars(loop: Loop) -> frozenset[str]:
    return frozenset(item.name for item in loop.before if isinstance(item, Reduce))


def forward(stages: Stages, training: bool) -> tuple[list[Tensor], Saved | None]:
    call, plan, eqs = stages.call, stages.plan, stages.plan.equations
    T, B = call.xs.shape[:2]
    program, _ = kernels(plan, training)
    flat: Env = {**stages.tensors, **stages.flat_masks(), "x": stages.flat(call.xs)}
    flat["rows"] = len(flat["x"])
    Runner(stages, _without(plan.forward.before, program.spec.biases))(flat)
    ring = program.ring and not training
    run = _Run(stages, program, backwards=call.reverse, ring=ring)
    for name in program.kernel.arrays:
        if name in program.spec.outputs:
            run.arrays[name] = call.xs.new_empty(T, B, stages.size(name))
        elif name == ":ys":
            run.arrays[name] = call.xs.new_empty(T, B, stages.size(eqs.output))
        else:
            run.give(name, flat)
    last = run(dict(zip(eqs.states, call.state, strict=True)))
    for name in program.spec.outputs:
        flat[name] = stages.flat(run.arrays[name])
    if not ring:
        for state, line in eqs.carried.items():
            flat[state] = stages.flat(run.old(state))
            if line not in flat:
                flat[line] = stages.flat(run.new(state))
    Runner(stages, plan.forward.after)(flat)
    outputs = [run.arrays.get(":ys"), *(None for _ in call.record)]
    wanted = [eqs.output, *(eqs.carried.get(name, name) for name in call.record)]
    for k, name in enumerate(wanted):
        if outputs[k] is None:
            outputs[k] = stages.spread(flat[name])
    found = [output for output in outputs if output is not None]
    return [found[0], *last.values(), *found[1:]], Saved(flat) if training else None


def backward(stages: Stages, saved: Saved, grads: Sequence[Tensor]) -> dict[str, Tensor]:
    call, plan, states = stages.call, stages.plan, stages.plan.equations.states
    T, B = call.xs.shape[:2]
    program = kernels(plan, True)[1]
    assert program is not None
    flat = dict(saved.flat)
    flat[OUTPUT] = stages.flat(grads[0])
    for name, grad in zip(call.record, grads[1 + len(states) :], strict=True):
        flat[recorded(name)] = stages.flat(grad)
    loop, outputs = program.spec.loop, program.spec.outputs
    Runner(stages, loop.before)(flat)
    run = _Run(stages, program, backwards=not call.reverse, ring=program.ring)
    widths = [stages.size(name) for name in outputs]
    buffer = call.xs.new_empty(T, B, sum(widths))  # side by side, so that one product reads many
    run.arrays |= dict(zip(outputs, buffer.split(widths, -1), strict=True))
    for name in program.kernel.arrays:
        if name not in run.arrays:
            run.give(name, flat)
    flow = run({state: grads[1 + k] for k, state in enumerate(states)})
    flat |= dict(zip(outputs, stages.flat(buffer).split(widths, -1), strict=True))
    if not run.ring:
        for state in states:
            flat[from_next(state)] = stages.flat(run.old(state))
    Runner(stages, loop.after)(flat)
    found = {"x": stages.spread(flat[adjoint("x")])} if adjoint("x") in flat else {}
    return found | flow | parameter_gradients(stages, flat)


class _Run:
    """One call of a program: buffers, strides, and what it leaves behind."""

    def __init__(self, stages: Stages, program: Program, *, backwards: bool, ring: bool):
        self.stages, self.program = stages, program
        self.backwards, self.ring = backwards, ring
        self.arrays: dict[str, Tensor] = {}
        self.history: dict[str, Tensor] = {}

    def give(self, name: str, flat: Mapping[str, Any]) -> None:
        """An array that the loop reads: over time, by row, a vector, or scratch of its own."""
        stages, call = self.stages, self.stages.call
        if name in self.program.kernel.temps:
            array = call.xs.new_empty(1, call.xs.shape[1], stages.size(name)).expand(
                call.xs.shape[0], -1, -1
            )
        elif name in call.step_masks:
            mask = call.step_masks[name]
            size = stages.size(name)
            array = mask if isinstance(mask, Tensor) else call.xs.new_full((1, 1, size), mask)
        elif name in call.row_masks:
            array = call.row_masks[name][None]
        elif name in stages.plan.equations.vectors:
            array = flat[name][None, None]
        else:
            array = stages.spread(flat[name])
        self.arrays[name] = array if array.stride(-1) == 1 else array.contiguous()

    def __call__(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Runs the loop from `state`; gives each state's last value."""
        xs, kernel = self.stages.call.xs, self.program.kernel
        T = xs.shape[0]
        slots = 2 if self.ring else T + 1
        first, last = (0, T & 1) if self.ring else ((T, 0) if self.backwards else (0, T))
        for name in kernel.states:
            start = state[name]
            self.history[name] = xs.new_empty(slots, *start.shape)
            self.history[name][first] = start
        if T and xs.shape[1]:
            self.launch()
        return {name: self.history[name][last].clone() for name in kernel.states}

    def launch(self) -> None:
        stages, kernel = self.stages, self.program.kernel
        xs, B = stages.call.xs, stages.call.xs.shape[1]
        sizes = [size.value(stages.bound.sizes) for size in kernel.sizes]
        by_size = dict(zip(kernel.sizes, sizes, strict=True))
        arrays = [self.arrays[name] for name in kernel.arrays]
        matrices, packed, work = [], [], 0
        lanes = 64 // xs.element_size()
        for group in kernel.groups:
            n, m = by_size[group.size], stages.size(group.operand)
            work += n * m * len(group.terms)
            packed.append(xs.new_empty((n + lanes) * m * len(group.terms)))
            for _, term in group.terms:
                matrix = stages.tensors[term.matrix]
                matrices.append(matrix.T if term.transposed else matrix)
        workers = torch.get_num_threads() if work * B >= SMALL else 1
        lengths = stages.call.lengths
        lengths = None if lengths is None else lengths.to(torch.int64).contiguous()
        red = xs.new_empty(max(1, workers * len(kernel.reduces) * B))
        gate = torch.zeros(16, dtype=torch.int32)
        strides = [_strides(array) for array in arrays]
        struct = _Struct(
            xs.shape[0], B, workers, int(self.backwards), int(self.ring),
            None if lengths is None else lengths.data_ptr(),
            _longs(sizes),
            _pointers(arrays), _longs([t for t, _ in strides]), _longs([b for _, b in strides]),
            _pointers([self.history[name] for name in kernel.states]),
            _pointers(matrices),
            _longs([m.stride(0) for m in matrices]), _longs([m.stride(1) for m in matrices]),
            _pointers(packed), red.data_ptr(), gate.data_ptr(),
        )  # fmt: skip
        self.program.function(xs.dtype)(ctypes.byref(struct))

    def old(self, state: str) -> Tensor:
        """Each step's value of a state before it, in time's order."""
        return self.history[state][1:] if self.backwards else self.history[state][:-1]

    def new(self, state: str) -> Tensor:
        return self.history[state][:-1] if self.backwards else self.history[state][1:]


def _strides(array: Tensor) -> tuple[int, int]:
    """From step to step and from row to row; 0 where one value serves all."""
    steps, rows = (0 if array.shape[d] == 1 else array.stride(d) for d in (0, 1))
    return steps, rows


def _longs(values: Sequence[int]) -> Any:
    return ctypes.cast((ctypes.c_long * max(1, len(values)))(*values), ctypes.c_void_p)


def _pointers(tensors: Sequence[Tensor]) -> Any:
    values = [tensor.data_ptr() for tensor in tensors]
    return ctypes.cast((ctypes.c_void_p * max(1, len(values)))(*values), ctypes.c_void_p)
