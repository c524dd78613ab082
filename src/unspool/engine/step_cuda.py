"""One step on a GPU: products by the library, all lines between them in one kernel.

Inside a kernel nobody waits for anybody, so that any number of rows is one launch. An LSTM's step
is three: x and h side by side, one product, one kernel.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from unspool.engine.autograd import fixed
from unspool.engine.c_build import CannotBuild
from unspool.engine.call import Call, autocast_is_on, without_autocast
from unspool.engine.cuda import numbers_of
from unspool.engine.items import Accumulate, Item, Reduce, levels_of
from unspool.engine.launch import Loop, Side, precision_of, real_of
from unspool.engine.reference import unfold_reference
from unspool.engine.rows import Runner, arranged
from unspool.engine.session import Session
from unspool.engine.stages import Env, Stages, stages_of
from unspool.engine.triton_spec import Levels, Recurrence
from unspool.engine.trust import TOLERANCE, error, said_of, wave


class CudaSession(Session):
    def __init__(self, call: Call):
        super().__init__(call)
        self.any_rows = self.rows_of(call) == 0
        self.stages = stages_of(call, compact=False, hoist=False)
        loop, self.eqs = self.stages.plan.forward, self.stages.plan.equations
        self.fixed: Env = {**self.stages.tensors, **call.row_masks}
        for name, mask in call.step_masks.items():
            number = call.xs.new_ones(1, dtype=real_of(self.dtype))
            self.fixed[name] = mask[0] if isinstance(mask, Tensor) else number * mask
        parts = _parts((*loop.before, *loop.inside, *loop.after))
        self.ends = [self.eqs.output, *self.eqs.carried.values()]
        self.parts = []
        for k, part in enumerate(parts):
            later = [item for after in parts[k + 1 :] for item in _items(after)]
            self.parts.append(_Part(self.stages, *part, set(self.ends), later))
        self.check(call)
        # of the call that it began with nothing but its kind is needed
        nothing = call.xs.new_empty(1, 0, call.xs.shape[2])
        self.stages = replace(self.stages, call=replace(call, xs=nothing, state=()))

    @staticmethod
    def rows_of(call: Call) -> int:
        """How many rows it serves; 0 for any number."""
        return call.xs.shape[1] if fixed(call) else 0

    def fits(self, x: Any, state: Any) -> bool:
        return not autocast_is_on(self.device.type) and super().fits(x, state)

    @torch.no_grad()
    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        env: Env = {**self.fixed, "x": x, **dict(zip(self.eqs.states, state, strict=True))}
        env["rows"] = len(x)
        stages = replace(self.stages, call=replace(self.stages.call, xs=x[None]))
        with without_autocast(self.device.type):
            for part in self.parts:
                part(env, stages)
        # what was put side by side for a product is not what a caller expects
        y, *last = (env[name].to(self.dtype).contiguous() for name in self.ends)
        return y, self.make(*last)

    def check(self, call: Call) -> None:
        """Two steps are taken twice: kernels earn their trust here too.

        One from a state that is not zero, in which a mistake would not show.
        """
        state = type(call.state)(*map(wave, call.state))
        for one in (replace(call, xs=wave(call.xs), state=state), call):
            y, own = self.step(one.xs[0], one.state)
            with without_autocast(self.device.type):
                ys, last, _ = unfold_reference(one)
            worst, allowed = error([y, *own], [ys[0], *last]), TOLERANCE[self.dtype]
            if worst > allowed:
                raise CannotBuild(said_of(worst, allowed, self.device))


Parted = tuple[list[Item], list[tuple[Item, ...]]]


def _parts(items: Sequence[Item]) -> list[Parted]:
    """Products, and vectors put together, which torch takes; and the levels of lines after them."""
    found: list[Parted] = []
    for level in levels_of(items):
        lines = tuple(item for item in level if isinstance(item, Reduce) or not item.waits)
        whole = [item for item in level if item not in lines]
        if whole or not found:
            found.append((whole, []))
        found[-1][1].append(lines)
    return found


def _items(part: Parted) -> list[Item]:
    return [*part[0], *(item for level in part[1] for item in level)]


class _Part:
    """`ends` are lines that a step gives, `later` all items that come after this part."""

    def __init__(
        self,
        stages: Stages,
        whole: Sequence[Item],
        levels: Sequence[tuple[Item, ...]],
        ends: set[str],
        later: Sequence[Item],
    ):
        self.whole = Runner(stages, arranged(whole))
        made = [item.name for level in levels for item in level]
        by_products = _reads(item for item in later if isinstance(item, Accumulate))
        by_others = _reads(item for item in later if not isinstance(item, Accumulate))
        # what only products read is rounded as they would
        outputs = [name for name in made if name in ends | (by_products - by_others)]
        stored = [name for name in made if name in by_others and name not in outputs]
        self.lines = None
        if made:
            recurrence = _recurrence(stages, tuple(filter(None, levels)), outputs, stored)
            xs = stages.call.xs
            self.lines = Loop(recurrence, xs.dtype, xs.shape[1], xs.device, precision_of(xs.dtype))

    def __call__(self, env: Env, stages: Stages) -> None:
        self.whole(env)
        if self.lines is not None:
            (found,) = self.lines.launch([Side(stages, env, (), False)])
            env |= {name: steps[0] for name, steps in found.outputs.items()}
            env |= found.stored


def _recurrence(
    stages: Stages, levels: Levels, outputs: Sequence[str], stored: Sequence[str]
) -> Recurrence:
    """Of a single step: states are arrays like any other."""
    plan = stages.plan
    return Recurrence(
        levels=levels,
        sizes={name: size.value(stages.bound.sizes) for name, size in plan.sizes.items()},
        carried={},
        outputs=tuple(outputs),
        stored=tuple(stored),
        vectors=frozenset(plan.equations.vectors),
        row_masks=frozenset(),
        numbers=numbers_of(stages.call),
        history=False,
        ragged=False,
        backwards=(False,),
    )


def _reads(items: Iterable[Item]) -> set[str]:
    return {name for item in items for name in item.reads()}
