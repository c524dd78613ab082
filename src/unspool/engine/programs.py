"""What a plan computes in each direction of time, as a kernel: printed, built when it is called."""

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import torch

from unspool.engine import c_build
from unspool.engine.c_source import print_kernel
from unspool.engine.c_spec import Kernel, Outer, Spec, Sum, Work
from unspool.engine.items import Elementwise, Item
from unspool.engine.layout import Layout
from unspool.engine.plan import Plan
from unspool.equations.derivative import adjoint, from_next

DTYPES = {torch.float32: "float", torch.float64: "double"}
YS, DX = "ys:", "∂x:"  # what the caller gets; recorded lines are ":name"


class Program:
    """One direction of a plan."""

    def __init__(self, spec: Spec):
        self.spec = spec
        self.kernel: Kernel = print_kernel(spec, c_build.accumulators())
        stored = (*self.kernel.scratch, *self.kernel.temps, *spec.saved)
        results = [array for arrays in spec.outputs.values() for array in arrays]
        self.given = frozenset(self.kernel.arrays) - {*stored, *results}
        self.built: dict[torch.dtype, Any] = {}
        self.layouts: dict[Any, Layout] = {}

    def function(self, dtype: torch.dtype) -> Any:
        if dtype not in self.built:
            self.built[dtype] = c_build.load(self.kernel.source, DTYPES[dtype]).run
            self.built[dtype].restype = None
        return self.built[dtype]

    def layout(self, T: int, B: int, sizes: Mapping[str, int], element: int) -> Layout:
        threads = torch.get_num_threads()
        key = (T, B, tuple(sizes.items()), element, threads)
        found = self.layouts.get(key)
        if found is None:
            if len(self.layouts) > 1000:  # batches of many lengths: nothing here is dear to make
                self.layouts.clear()
            found = self.layouts[key] = Layout(
                self.spec, self.kernel, T, B, sizes, element, threads
            )
        return found


def build_both(plan: Plan, dtype: torch.dtype, half: bool) -> None:
    """Both directions side by side, so that what cannot be built is known before anything runs."""
    both = forward_program(plan, True, half), backward_program(plan, half)
    missing = [program for program in both if dtype not in program.built]
    if missing:
        with ThreadPoolExecutor(len(missing)) as pool:
            list(pool.map(lambda program: program.function(dtype), missing))


@lru_cache(maxsize=512)
def forward_program(plan: Plan, training: bool, half: bool) -> Program:
    eqs = plan.equations
    outputs: dict[str, tuple[str, ...]] = {eqs.output: (YS,)}
    for name in plan.record:
        line = eqs.carried.get(name, name)
        outputs[line] = (*outputs.get(line, ()), f":{name}")
    saved = backward_program(plan, half).given & {item.name for item in plan.forward.items()}
    spec = Spec(
        before=plan.forward.before,
        levels=plan.forward.levels,
        after=plan.forward.after,
        extra=(),
        sizes=plan.sizes,
        carried={state: (state, line) for state, line in eqs.carried.items()},
        outputs=outputs,
        saved=frozenset(saved - _inside_carried(plan) if training else ()),
        history=training,
        vectors=frozenset(eqs.vectors),
        masks=_masks(plan),
        half=half,
    )
    return Program(spec)


def _inside_carried(plan: Plan) -> set[str]:
    """Lines that are a state's new value and made in the loop: they stand in its history."""
    return {*plan.equations.carried.values()} & {item.name for item in plan.forward.inside}


def _masks(plan: Plan) -> frozenset[str]:
    """Names that are neither made nor parameters: masks that the equations were given."""
    eqs = plan.equations
    known = {"x", *eqs.states, *eqs.vectors, *(item.name for item in plan.forward.items())}
    read = {name for item in plan.forward.items() for name in item.reads()}
    return frozenset(read - known)


@lru_cache(maxsize=512)
def backward_program(plan: Plan, half: bool) -> Program:
    loop, eqs, flows = plan.backward, plan.equations, plan.flow()
    sums = {f"Σ{name}": Sum(f"Σ{name}", share) for name, share in plan.sums.items()}
    sizes = {**plan.sizes, **{f"Σ{name}": plan.sizes[name] for name in plan.sums}}
    stay, move = folded(plan)
    levels: list[tuple[Work, ...]] = [*loop.levels]
    levels[:1] = [(*move, *levels[0])] if levels else []
    # a sum is taken in the loop where all that it reads is at hand there
    level_of = {item.name: k for k, level in enumerate(levels) for item in level}
    made_after = {item.name for item in loop.after}
    late: list[Work] = []
    for one in sums.values():
        found = [level_of[name] for name in one.reads() if name in level_of]
        if found and not one.reads() & made_after:
            levels[max(found)] = (*levels[max(found)], one)
        else:
            late.append(one)
    needed = plan.late | {name for one in late for name in one.reads()} | {*flows.values()}
    needed |= {name for level in levels for item in level for name in item.reads()}
    for item in reversed((*stay, *loop.after)):
        needed |= item.reads() if item.name in needed else set()
    turns: Counter[str] = Counter()
    outers = []
    for matrix, left, right in plan.outers:
        whole = plan.whole(matrix)
        outers.append(Outer(matrix, left, right, turns[whole] if whole in plan.crowded else None))
        turns[whole] += 1
    spec = Spec(
        before=tuple(item for item in stay if item.name in needed),
        levels=tuple(levels),
        after=(*(item for item in loop.after if item.name in needed), *late),
        extra=tuple(item for item in (*stay, *loop.after) if item.name not in needed),
        sizes=sizes,
        carried={s: (from_next(s), flows.get(s)) for s in eqs.states},
        outputs={adjoint("x"): (DX,)} if plan.derived.has("x") else {},
        saved=frozenset(),
        history=False,
        vectors=frozenset(eqs.vectors),
        masks=_masks(plan),
        outers=tuple(outers),
        half=half,
    )
    return Program(spec)


def folded(plan: Plan) -> tuple[list[Item], list[Item]]:
    """What runs before the backward loop, and element-wise lines that the loop takes in.

    `tanh(c')` is cheaper computed again in the loop than written and read.
    """
    loop = plan.backward
    if not loop.levels:
        return list(loop.before), []
    outside = {name for item in loop.after for name in item.reads()} | plan.late
    outside |= {adjoint("x"), *plan.flow().values()}
    stay, move = [], []
    for item in reversed(loop.before):
        if isinstance(item, Elementwise) and not item.waits and item.name not in outside:
            move.insert(0, item)
        else:
            stay.insert(0, item)
            outside |= item.reads()
    return stay, move
