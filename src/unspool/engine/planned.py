"""The plan in plain torch: all steps at once where the plan allows it, a loop where it must.

The fallback where no kernel can be built, and a second check of the plan beside the reference.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.engine.call import Call
from unspool.engine.plan import Accumulate, Elementwise, Item, Plan, Reduce, Term, make_plan
from unspool.equations.derivative import OUTPUT, adjoint, from_next, recorded
from unspool.equations.evaluate import evaluate
from unspool.equations.expr import Expr
from unspool.equations.functions import LAYER_NORM_EPS

Env = dict[str, Any]


@dataclass
class Stages:
    """One call of a plan: its sizes, its tensors, and the rows that its padding leaves.

    Arrays over time are (T, B, n). What runs for all steps at once runs on the rows that are
    inside their sequence alone, (N, n): what stands in the padding is never computed with.
    """

    call: Call
    plan: Plan
    tensors: dict[str, Tensor]

    @cached_property
    def bound(self) -> Bound:
        assert isinstance(self.call.cell, Bound)
        return self.call.cell

    @cached_property
    def inside(self) -> Tensor | None:
        """(T, B), False past a row's end; None if every row is full."""
        if self.call.lengths is None:
            return None
        steps = torch.arange(self.call.xs.shape[0], device=self.call.xs.device)
        return steps[:, None] < self.call.lengths.to(self.call.xs.device)

    @cached_property
    def rows(self) -> Tensor | None:
        return None if self.inside is None else self.inside.flatten().nonzero().flatten()

    def size(self, name: str) -> int:
        return self.plan.sizes[name].value(self.bound.sizes)

    def size_of(self, expr: Expr) -> int:
        size = self.plan.equations.size_of(expr)
        assert size is not None
        return size.value(self.bound.sizes)

    def flat(self, array: Tensor) -> Tensor:
        """(T, B, n) to the rows inside, (N, n)."""
        flat = array.flatten(0, 1)
        return flat if self.rows is None else flat.index_select(0, self.rows)

    def spread(self, flat: Tensor) -> Tensor:
        """The rows inside, (N, n), to (T, B, n), zeros elsewhere."""
        T, B = self.call.xs.shape[:2]
        if self.rows is not None:
            flat = flat.new_zeros(T * B, flat.shape[1]).index_copy(0, self.rows, flat)
        return flat.reshape(T, B, flat.shape[1])

    def times(self) -> list[int]:
        order = range(self.call.xs.shape[0])
        return list(reversed(order)) if self.call.reverse else list(order)

    def masks_at(self, t: int) -> Env:
        steps = {k: m[t] if isinstance(m, Tensor) else m for k, m in self.call.step_masks.items()}
        return {**self.call.row_masks, **steps}

    def flat_masks(self) -> Env:
        T = self.call.xs.shape[0]
        rows = {k: self.flat(m.expand(T, *m.shape)) for k, m in self.call.row_masks.items()}
        steps = self.call.step_masks.items()
        return rows | {k: self.flat(m) if isinstance(m, Tensor) else m for k, m in steps}

    def previous(self, history: Tensor) -> Tensor:
        """From (T + 1, B, n), a state at the start of each step; `history` is in time's order."""
        return history[1:] if self.call.reverse else history[:-1]


def stages_of(call: Call) -> Stages:
    assert isinstance(call.cell, Bound)
    plan = make_plan(call.cell.equations, call.record)
    tensors = dict(call.cell.tensors)
    for name, piece in plan.pieces.items():
        start, size = (s.value(call.cell.sizes) for s in (piece.start, piece.size))
        tensors[name] = tensors[piece.matrix][:, start : start + size]
    return Stages(call, plan, tensors)


class Runner:
    """Runs items on rows; matrices that read the same vector are one product."""

    def __init__(self, stages: Stages, items: Iterable[Item]):
        self.stages = stages
        self.steps: list[Callable[[Env], None]] = []
        items = list(items)
        sums = [item for item in items if isinstance(item, Accumulate)]
        groups: dict[Any, list[Accumulate]] = {}
        for item in sums:
            one = item.terms[0]
            single = len(item.terms) == 1 and one.sign > 0
            key = (one.operand, one.transposed) if single else item.name
            groups.setdefault(key, []).append(item)
        first = {group[0].name: group for group in groups.values()}
        for item in items:
            if isinstance(item, Accumulate) and item.name in first:
                self.steps.append(self.products(first[item.name]))
            elif isinstance(item, Reduce):
                self.steps.append(self.reduction(item))
            elif isinstance(item, Elementwise):
                self.steps.append(self.line(item))

    def __call__(self, env: Env) -> None:
        for step in self.steps:
            step(env)

    def products(self, group: Sequence[Accumulate]) -> Callable[[Env], None]:
        if len(group[0].terms) > 1:
            terms, name = group[0].terms, group[0].name
            stacked = torch.cat([self.right(term) * term.sign for term in terms])
            operands = [term.operand for term in terms]

            def run_sum(env: Env) -> None:
                env[name] = torch.cat([as_rows(env, o) for o in operands], -1) @ stacked

            return run_sum
        only = [item.terms[0] for item in group]
        stacked = torch.cat([self.right(term) * term.sign for term in only], 1)
        sizes, operand = [self.stages.size(item.name) for item in group], only[0].operand

        def run(env: Env) -> None:
            parts = (as_rows(env, operand) @ stacked).split(sizes, -1)
            env.update(zip((item.name for item in group), parts, strict=True))

        return run

    def right(self, term: Term) -> Tensor:
        """What the rows of the operand are multiplied by."""
        matrix = self.stages.tensors[term.matrix]
        return matrix if term.transposed else matrix.T

    def reduction(self, item: Reduce) -> Callable[[Env], None]:
        def run(env: Env) -> None:
            vector = env[item.of]
            if item.function == "mean":
                env[item.name] = vector.mean(-1, keepdim=True)
            else:
                centred = vector - vector.mean(-1, keepdim=True)
                variance = centred.square().mean(-1, keepdim=True)
                env[item.name] = torch.rsqrt(variance + LAYER_NORM_EPS)

        return run

    def line(self, item: Elementwise) -> Callable[[Env], None]:
        size, like = self.stages.size(item.name), self.stages.call.xs

        def run(env: Env) -> None:
            value = evaluate(item.expr, env, self.stages.size_of)
            shape = (env["rows"], size)
            is_tensor = isinstance(value, Tensor)
            env[item.name] = value.expand(shape) if is_tensor else like.new_full(shape, value)

        return run


def as_rows(env: Env, name: str) -> Tensor:
    """A vector as one row for each; parameters have none of their own."""
    value: Tensor = env[name]
    return value if value.dim() == 2 else value.expand(env["rows"], -1)


@dataclass
class Saved:
    """What the backward pass reads: arrays over the rows inside, by name, and masks."""

    flat: Env


def forward(stages: Stages, training: bool) -> tuple[list[Tensor], Saved | None]:
    """Outputs: ys, the last state, the recorded lines."""
    call, plan, eqs = stages.call, stages.plan, stages.plan.equations
    T, B = call.xs.shape[:2]
    flat: Env = {**stages.tensors, **stages.flat_masks(), "x": stages.flat(call.xs)}
    flat["rows"] = len(flat["x"])
    Runner(stages, plan.forward.before)(flat)
    wanted = {*plan.saved} if training else set()
    wanted |= {name for item in plan.forward.after for name in item.reads()}
    wanted |= {eqs.output, *(eqs.carried.get(name, name) for name in call.record)}
    made = [item.name for item in plan.forward.inside]
    reads = {n for item in plan.forward.inside for n in item.reads()} | {*eqs.carried.values()}
    ready = {item.name for item in plan.forward.before} | {"x"}
    early = {name: stages.spread(flat[name]) for name in reads & ready}
    kept: dict[str, list[Any]] = {n: [None] * T for n in made if n in wanted}
    state = dict(zip(eqs.states, call.state, strict=True))
    history: dict[str, list[Any]] = {n: [None] * T for n in eqs.states}
    run = Runner(stages, plan.forward.inside)
    for t in stages.times():
        env: Env = {**stages.tensors, **stages.masks_at(t), **state, "rows": B}
        env |= {name: array[t] for name, array in early.items()}
        for name, value in state.items():
            history[name][t] = value
        run(env)
        for name, steps in kept.items():
            steps[t] = env[name]
        state = {n: _keep(stages, t, env[line], state[n]) for n, line in eqs.carried.items()}
    for name, steps in kept.items():
        flat[name] = stages.flat(_stack(steps, call.xs, B, stages.size(name)))
    for name, steps in history.items():
        flat[name] = stages.flat(_stack(steps, call.xs, B, stages.size(name)))
    Runner(stages, plan.forward.after)(flat)
    names = (eqs.output, *(eqs.carried.get(name, name) for name in call.record))
    outputs = [stages.spread(flat[name]) for name in names]
    last = [value.clone() if not T else value for value in state.values()]
    return [outputs[0], *last, *outputs[1:]], Saved(flat) if training else None


def backward(stages: Stages, saved: Saved, grads: Sequence[Tensor]) -> dict[str, Tensor]:
    """Gradients by name: x, each state, each parameter of the equations."""
    call, plan, eqs = stages.call, stages.plan, stages.plan.equations
    B, states = call.xs.shape[1], eqs.states
    flat = dict(saved.flat)
    flat[OUTPUT] = stages.flat(grads[0])
    for name, grad in zip(call.record, grads[1 + len(states) :], strict=True):
        flat[recorded(name)] = stages.flat(grad)
    Runner(stages, plan.backward.before)(flat)
    made = [item.name for item in plan.backward.inside]
    reads = {n for item in plan.backward.inside for n in item.reads()} - set(made)
    reads |= {line for line in plan.flow().values() if line not in made}
    fixed = {*eqs.vectors, *call.step_masks, *call.row_masks, *map(from_next, states)}
    early = {name: stages.spread(flat[name]) for name in reads - fixed}
    kept: dict[str, list[Any]] = {name: [None] * len(call.xs) for name in made}
    flow = {name: grads[1 + k] for k, name in enumerate(states)}
    flows = plan.flow()
    run = Runner(stages, plan.backward.inside)
    history: dict[str, list[Any]] = {name: [None] * len(call.xs) for name in states}
    for t in reversed(stages.times()):
        env: Env = {**stages.tensors, **stages.masks_at(t), "rows": B}
        env |= {name: array[t] for name, array in early.items()}
        for name, value in flow.items():
            env[from_next(name)] = history[name][t] = value
        run(env)
        for name, steps in kept.items():
            steps[t] = env[name]
        nothing = torch.zeros_like(call.xs[0, :, :1])
        sent = {n: env[flows[n]] if n in flows else nothing.expand_as(v) for n, v in flow.items()}
        flow = {name: _keep(stages, t, sent[name], value) for name, value in flow.items()}
    for name, steps in kept.items():
        flat[name] = stages.flat(_stack(steps, call.xs, B, stages.size(name)))
    for name, steps in history.items():
        flat[from_next(name)] = stages.flat(_stack(steps, call.xs, B, stages.size(name)))
    Runner(stages, plan.backward.after)(flat)
    found = {"x": stages.spread(flat[adjoint("x")])} if adjoint("x") in flat else {}
    return found | flow | parameter_gradients(stages, flat)


def parameter_gradients(stages: Stages, flat: Mapping[str, Any]) -> dict[str, Tensor]:
    """One product a matrix, over all steps; pieces of a matrix add into their columns."""
    plan, bound = stages.plan, stages.bound
    found = {name: torch.zeros_like(tensor) for name, tensor in bound.tensors.items()}
    for name, outers in plan.derived.matrices.items():
        for outer in outers:
            left = evaluate(outer.left, flat, stages.size_of)
            right = evaluate(outer.right, flat, stages.size_of)
            assert isinstance(left, Tensor)
            assert isinstance(right, Tensor)
            target = found.get(name)
            if name in plan.pieces:
                piece = plan.pieces[name]
                start, size = (s.value(bound.sizes) for s in (piece.start, piece.size))
                target = found[piece.matrix][:, start : start + size]
            assert target is not None
            target += left.T @ right.expand(flat["rows"], -1)
    for name, share in plan.derived.vectors.items():
        value = evaluate(share, flat, stages.size_of)
        assert isinstance(value, Tensor)
        found[name] += value.expand(flat["rows"], -1).sum(0)
    return found


def _keep(stages: Stages, t: int, new: Tensor, old: Tensor) -> Tensor:
    return new if stages.inside is None else torch.where(stages.inside[t][:, None], new, old)


def _stack(steps: Sequence[Any], like: Tensor, rows: int, size: int) -> Tensor:
    if not steps:
        return like.new_zeros(0, rows, size)
    return torch.stack([step.expand(rows, -1) for step in steps])
