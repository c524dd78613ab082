"""Plans on a GPU: products over all steps by the library, each loop as one Triton kernel.

Two calls of one cell, the directions of a bidirectional layer, share a launch.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.engine import triton_build
from unspool.engine.call import Call
from unspool.engine.items import Elementwise, Item
from unspool.engine.launch import DTYPES, Found, Loop, Side, precision_of, real_of
from unspool.engine.plan import Plan
from unspool.engine.planning import make_plan
from unspool.engine.programs import folded
from unspool.engine.rows import Arranged, Runner, arranged, as_rows, parameter_gradients
from unspool.engine.saved import Saved
from unspool.engine.stages import Env, Stages, stages_of
from unspool.engine.tiles import power_of_two
from unspool.engine.triton_spec import Levels, Recurrence
from unspool.equations.derivative import OUTPUT, adjoint, from_next, recorded


def serves(device: torch.device) -> bool:
    return device.type == "cuda"


def why_not(call: Call) -> str | None:
    """What stands against the kernels, if anything."""
    if not serves(call.xs.device):
        return f"they run on a CUDA device, and xs is on {call.xs.device}"
    if call.xs.dtype not in DTYPES:
        known = "bfloat16, float16, float32 and float64"
        return f"on a GPU they compute in {known}, not in {call.xs.dtype}"
    return None


def takes(call: Call) -> bool:
    return why_not(call) is None


def plan_of(call: Call) -> Plan:
    assert isinstance(call.cell, Bound)
    return make_plan(call.cell.equations, call.record)


def alike(calls: Sequence[Call]) -> bool:
    """Whether calls differ in their tensors and their direction alone: one launch serves both."""
    return len({kind(call) for call in calls}) == 1


def kind(call: Call) -> tuple[object, ...]:
    assert isinstance(call.cell, Bound)
    sizes = tuple(call.cell.sizes.items())
    masks = tuple(call.row_masks), numbers_of(call)
    return call.cell.equations, sizes, call.record, masks, call.xs.dtype


def numbers_of(call: Call) -> frozenset[str]:
    """Masks that are one number."""
    return frozenset(n for n, mask in call.step_masks.items() if not isinstance(mask, Tensor))


# --- what each direction of time computes ----------------------------------------------------


@dataclass(frozen=True, eq=False)
class Passes:
    """The stages of one direction: before and after the loop in torch, the loop in a kernel."""

    plan: Plan
    before: tuple[Item, ...]
    levels: Levels
    after: tuple[Item, ...]
    stored: tuple[str, ...]  # lines of the loop that are read after it
    outputs: tuple[str, ...]
    carried: Mapping[str, tuple[str, str | None]]
    history: bool

    @cached_property
    def first(self) -> Arranged:
        return arranged(self.before)

    @cached_property
    def rest(self) -> Arranged:
        return arranged(self.after)

    @cached_property
    def rest_without_x(self) -> Arranged:
        """Backwards: without what the input's gradient alone needs."""
        left_out = _only_for_x(self.plan)
        return arranged(item for item in self.after if item.name not in left_out)

    def items(self) -> tuple[Item, ...]:
        return (*self.before, *itertools.chain(*self.levels), *self.after)

    def reads(self) -> set[str]:
        return _reads(self.items())

    def element_wise(self) -> set[str]:
        """What is read by more than products."""
        return _reads(item for item in self.items() if isinstance(item, Elementwise))


@lru_cache(maxsize=512)
def forward_passes(plan: Plan, training: bool, rounds: bool) -> Passes:
    """`rounds` says whether states lose digits where others read them."""
    loop, eqs = plan.forward, plan.equations
    inside = {item.name for item in loop.inside}
    wanted = _reads(loop.after)
    if training:
        back = backward_passes(plan)
        wanted |= back.reads() | plan.late
        wanted -= {*eqs.carried.values()}  # they stand among the states' steps
        if rounds:  # 1 - h' ** 2 needs digits that a product does not
            wanted |= {*eqs.carried.values()} & back.element_wise()
    lines = (eqs.output, *(eqs.carried.get(name, name) for name in plan.record))
    return Passes(
        plan,
        loop.before,
        loop.levels,
        loop.after,
        stored=tuple(sorted(wanted & inside)),
        outputs=tuple(dict.fromkeys(line for line in lines if line in inside)),
        carried={state: (state, line) for state, line in eqs.carried.items()},
        history=training or bool({*eqs.states} & _reads(loop.after)),
    )


@lru_cache(maxsize=512)
def backward_passes(plan: Plan) -> Passes:
    loop, flows = plan.backward, plan.flow()
    stay, move = folded(plan)
    levels = [*loop.levels]
    levels[:1] = [(*move, *levels[0])] if levels else []
    inside = {item.name for level in levels for item in level}
    read = _reads(loop.after) | plan.late
    coming = {from_next(state) for state in plan.equations.states}
    return Passes(
        plan,
        tuple(stay),
        tuple(levels),
        loop.after,
        stored=tuple(sorted((read | {adjoint("x")}) & inside)),
        outputs=(),
        carried={s: (from_next(s), flows.get(s)) for s in plan.equations.states},
        history=bool(coming & read),
    )


def _reads(items: Iterable[Item]) -> set[str]:
    return {name for item in items for name in item.reads()}


@lru_cache(maxsize=512)
def kept(plan: Plan) -> tuple[str, ...]:
    """What the backward pass reads again."""
    eqs = plan.equations
    made = {*(item.name for item in plan.forward.items()), *eqs.states, *eqs.carried.values()}
    return tuple(sorted((backward_passes(plan).reads() | plan.late) & made))


@lru_cache(maxsize=512)
def _only_for_x(plan: Plan) -> frozenset[str]:
    """Lines after the backward loop that the input's gradient needs, and no parameter's."""
    needed = set(plan.late)
    after = backward_passes(plan).after
    for item in reversed(after):
        needed |= item.reads() if item.name in needed else set()
    return frozenset(item.name for item in after if item.name not in needed)


@lru_cache(maxsize=512)
def _to_clear(plan: Plan) -> frozenset[str]:
    """Lines that parameters' gradients read, and that torch computed in the padding too."""
    passes = backward_passes(plan)
    around = (*plan.forward.before, *plan.forward.after, *passes.before, *passes.after)
    return frozenset(i.name for i in around if isinstance(i, Elementwise)) & plan.late


# --- calls -----------------------------------------------------------------------------------


def forward(call: Call, training: bool) -> tuple[list[Tensor], Saved]:
    """Outputs: ys, the last state, the recorded lines."""
    return forwards([call], training)[0]


def backward(call: Call, saved: Saved, grads: Sequence[Tensor], wants_x: bool) -> dict[str, Tensor]:
    """Gradients by name: x, each state, each parameter of the equations."""
    return backwards([call], [saved], [grads], wants_x)[0]


def forwards(calls: Sequence[Call], training: bool) -> list[tuple[list[Tensor], Saved]]:
    """Of calls that are alike, in one launch."""
    rounds = real_of(calls[0].xs.dtype) != calls[0].xs.dtype
    sides, passes = [], forward_passes(plan_of(calls[0]), training, rounds)
    for call in calls:
        stages = stages_of(call, compact=False)
        flat = _start(stages, {"x": stages.cleared(call.xs.flatten(0, 1))}, passes)
        Runner(stages, passes.first)(flat)
        sides.append(Side(stages, flat, call.state, call.reverse))
    found = _loop(passes, sides, len(calls[0].xs[0])).launch(sides)
    return [_forward_end(passes, *pair, training) for pair in zip(sides, found, strict=True)]


def _forward_end(
    passes: Passes, side: Side, found: Found, training: bool
) -> tuple[list[Tensor], Saved]:
    stages, call, eqs = side.stages, side.stages.call, passes.plan.equations
    flat: Env = dict(side.flat)
    if training or passes.after:
        flat |= found.states_by_step(eqs.carried, call.reverse)
    flat |= found.stored
    Runner(stages, passes.rest)(flat)
    lines = [eqs.output, *(eqs.carried.get(name, name) for name in call.record)]
    outputs: list[Tensor] = []
    for line in lines:
        output = found.outputs.get(line)
        if output is None:
            output = stages.spread(stages.cleared(as_rows(flat, line))).to(call.xs.dtype)
        outputs.append(_own(output, [call.xs, *outputs]))
    saved = [flat[name] for name in kept(passes.plan)] if training else []
    return [outputs[0], *found.last, *outputs[1:]], Saved(saved, None)


def _own(output: Tensor, others: Sequence[Tensor]) -> Tensor:
    """With memory of its own: who changes one in place does not change another."""
    place = output.untyped_storage().data_ptr()
    shared = any(other.untyped_storage().data_ptr() == place for other in others)
    return output.clone() if shared else output


def backwards(
    calls: Sequence[Call],
    saved: Sequence[Saved],
    grads: Sequence[Sequence[Tensor]],
    wants_x: bool,
) -> list[dict[str, Tensor]]:
    sides, passes = [], backward_passes(plan_of(calls[0]))
    for call, before, given in zip(calls, saved, grads, strict=True):
        stages = stages_of(call, compact=False)
        states = len(call.state)
        rows = dict(zip(kept(stages.plan), before.tensors, strict=True))
        rows["x"] = stages.cleared(call.xs.flatten(0, 1))
        rows[OUTPUT] = stages.cleared(given[0].flatten(0, 1))
        for name, grad in zip(call.record, given[1 + states :], strict=True):
            rows[recorded(name)] = stages.cleared(grad.flatten(0, 1))
        flat = _start(stages, rows, passes)
        Runner(stages, passes.first)(flat)
        sides.append(Side(stages, flat, given[1 : 1 + states], not call.reverse))
    found = _loop(passes, sides, len(calls[0].xs[0])).launch(sides)
    return [_backward_end(passes, *pair, wants_x) for pair in zip(sides, found, strict=True)]


def _backward_end(passes: Passes, side: Side, found: Found, wants_x: bool) -> dict[str, Tensor]:
    stages, plan = side.stages, passes.plan
    flat: Env = {**side.flat, **found.stored}
    flat |= found.states_by_step({}, side.backwards, from_next)
    Runner(stages, passes.rest if wants_x else passes.rest_without_x)(flat)
    clear = [name for name in _to_clear(plan) if name in flat]
    flat |= {name: stages.cleared(as_rows(flat, name)) for name in clear}
    result = dict(zip(plan.equations.states, found.last, strict=True))
    if wants_x and adjoint("x") in flat:
        found_x = stages.spread(stages.cleared(as_rows(flat, adjoint("x"))))
        result["x"] = found_x.to(stages.call.xs.dtype)
    return result | parameter_gradients(stages, flat)


def _start(stages: Stages, given: Mapping[str, Tensor], passes: Passes) -> Env:
    """What the stages around the loop begin with: rows (N, n), parameters, masks that they read."""
    call = stages.call
    flat: Env = {**stages.tensors, **given}
    T, B = call.xs.shape[:2]
    if call.row_masks:
        read = _reads((*passes.before, *passes.after)) | stages.plan.late
        for name, mask in call.row_masks.items():
            if name in read:
                flat[name] = mask.expand(T, *mask.shape).flatten(0, 1)
    for name, mask in call.step_masks.items():
        flat[name] = mask.flatten(0, 1) if isinstance(mask, Tensor) else mask
    flat["rows"] = T * B
    return flat


def print_both(call: Call) -> None:
    """Raises where no kernel is written for something in a call, without running anything."""
    triton_build.check()
    stages, plan = stages_of(call, compact=False), plan_of(call)
    for passes, backwards in (
        (forward_passes(plan, True, True), call.reverse),
        (backward_passes(plan), not call.reverse),
    ):
        # any number of rows: while a graph is made it may be none
        loop = _loop(passes, [Side(stages, {}, call.state, backwards)], 16)
        loop.printed(loop.ways[0])


# --- the loop --------------------------------------------------------------------------------


def _loop(passes: Passes, sides: Sequence[Side], B: int) -> Loop:
    call = sides[0].stages.call
    assert isinstance(call.cell, Bound)
    return _loop_of(
        passes,
        frozenset(call.row_masks),
        numbers_of(call),
        call.lengths is not None,
        tuple(side.backwards for side in sides),
        tuple(call.cell.sizes.items()),
        call.xs.dtype,
        power_of_two(B, 16),  # batches of nearly as many rows share their kernels
        call.xs.device,
        precision_of(call.xs.dtype),
    )


@lru_cache(maxsize=1024)
def _loop_of(
    passes: Passes,
    row_masks: frozenset[str],
    numbers: frozenset[str],
    ragged: bool,
    backwards: tuple[bool, ...],
    sizes: tuple[tuple[str, int], ...],
    dtype: torch.dtype,
    B: int,
    device: torch.device,
    precision: str,
) -> Loop:
    recurrence = recurrence_of(
        passes, dict(sizes), row_masks, numbers, ragged=ragged, backwards=backwards
    )
    return Loop(recurrence, dtype, B, device, precision)


def recurrence_of(
    passes: Passes,
    sizes: Mapping[str, int],
    row_masks: frozenset[str] = frozenset(),
    numbers: frozenset[str] = frozenset(),
    ragged: bool = False,
    backwards: tuple[bool, ...] = (False,),
) -> Recurrence:
    return Recurrence(
        levels=passes.levels,
        sizes={name: size.value(sizes) for name, size in passes.plan.sizes.items()},
        carried=passes.carried,
        outputs=passes.outputs,
        stored=passes.stored,
        vectors=frozenset(passes.plan.equations.vectors),
        row_masks=row_masks,
        numbers=numbers,
        history=passes.history,
        ragged=ragged,
        backwards=backwards,
    )
