"""The plan in plain torch: all steps at once where the plan allows it, a loop where it must.

The fallback where no kernel can be built, and a second check of the plan beside the reference.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.engine.call import Call
from unspool.engine.plan import Accumulate, Elementwise, Item, Plan, Reduce, Term, make_plan
from unspool.engine.saved import Saved
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
    compact: bool = True  # else rows past their end stay, and are zero where it matters

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
        if self.inside is None or not self.compact:
            return None
        return self.inside.flatten().nonzero().flatten()

    def cleared(self, flat: Tensor) -> Tensor:
        """Rows (N, n) with zeros past each sequence's end, where they are not left out anyway."""
        if self.inside is None or self.compact:
            return flat
        return torch.where(self.inside.flatten()[:, None], flat, flat.new_zeros(()))

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


def stages_of(call: Call, compact: bool = True) -> Stages:
    assert isinstance(call.cell, Bound)
    plan = make_plan(call.cell.equations, call.record)
    tensors = dict(call.cell.tensors)
    for name, piece in plan.pieces.items():
        tensors[name] = piece.of(tensors[piece.matrix], call.cell.sizes)
    return Stages(call, plan, tensors, compact)


class Runner:
    """Runs items on rows; matrices that read the same vector are one product."""

    def __init__(self, stages: Stages, items: Sequence[Item]):
        self.stages = stages
        self.steps: list[Callable[[Env], None]] = []
        groups: dict[Any, list[Accumulate]] = {}
        for item in items:
            if isinstance(item, Accumulate):
                one = item.terms[0]
                key = (one.operand, one.transposed) if len(item.terms) == 1 else item.name
                groups.setdefault(key, []).append(item)
        first = {group[0].name: group for group in groups.values()}
        for item in items:
            if isinstance(item, Reduce):
                self.steps.append(self.reduction(item))
            elif isinstance(item, Elementwise):
                self.steps.append(self.line(item))
            elif item.name in first:
                self.steps.append(self.products(first[item.name]))

    def __call__(self, env: Env) -> None:
        for step in self.steps:
            step(env)

    def products(self, group: Sequence[Accumulate]) -> Callable[[Env], None]:
        """Several sums that read one vector, or one sum that reads several."""
        sizes = [self.stages.size(item.name) for item in group]
        terms = [term for item in group for term in item.terms]
        bias = self.bias(group, sizes)
        if len(group) == 1:
            weights = _join([self.rows_of(term) for term in terms], 1)
        else:
            weights = _join([self.rows_of(term) for term in terms], 0)
        operands = [terms[0].operand] if len(group) > 1 else [term.operand for term in terms]

        def run(env: Env) -> None:
            rows = joined([as_rows(env, operand) for operand in operands]).to(weights.dtype)
            product = torch.nn.functional.linear(rows, weights, bias)
            parts = product.split(sizes, -1) if len(group) > 1 else (product,)
            env.update(zip((item.name for item in group), parts, strict=True))

        return run

    def bias(self, group: Sequence[Accumulate], sizes: list[int]) -> Tensor | None:
        if not any(item.bias for item in group):
            return None
        parts = []
        for item, size in zip(group, sizes, strict=True):
            vectors = [self.stages.tensors[name] for name in item.bias]
            parts.append(
                sum(vectors[1:], vectors[0]) if vectors else self.stages.call.xs.new_zeros(size)
            )
        return _join(parts, 0)

    def rows_of(self, term: Term) -> Tensor:
        """The matrix as it stands on the left of `@`."""
        matrix = self.stages.tensors[term.matrix]
        matrix = matrix.T if term.transposed else matrix
        return matrix if term.sign > 0 else -matrix

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


def as_rows(env: Mapping[str, Any], name: str) -> Tensor:
    """A vector as one row for each; parameters have none of their own."""
    value: Tensor = env[name]
    return value if value.dim() == 2 else value.expand(env["rows"], -1)


def joined(parts: Sequence[Tensor]) -> Tensor:
    """Columns side by side, without a copy where they stand side by side already."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if any(part.dtype != first.dtype for part in parts):
        return torch.cat(list(parts), -1)
    width, at = 0, first.storage_offset()
    for part in parts:
        same = part.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        if not same or part.stride() != first.stride() or part.storage_offset() != at + width:
            return torch.cat(list(parts), -1)
        width += part.shape[-1]
    return first.as_strided((*first.shape[:-1], width), first.stride())


def _join(parts: Sequence[Tensor], dim: int) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim)


def forward(call: Call, training: bool) -> tuple[list[Tensor], Saved]:
    """Outputs: ys, the last state, the recorded lines."""
    stages = stages_of(call)
    plan, eqs = stages.plan, stages.plan.equations
    T, B = call.xs.shape[:2]
    flat: Env = {**stages.tensors, **stages.flat_masks(), "x": stages.flat(call.xs)}
    flat["rows"] = len(flat["x"])
    Runner(stages, plan.forward.before)(flat)
    wanted = {*plan.saved} if training else set[str]()
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
    left = {name: value for name, value in flat.items() if isinstance(value, Tensor)}
    plain = {name: value for name, value in flat.items() if name not in left}
    return [outputs[0], *last, *outputs[1:]], Saved([*left.values()], ([*left], plain))


def backward(call: Call, saved: Saved, grads: Sequence[Tensor], wants_x: bool) -> dict[str, Tensor]:
    """Gradients by name: x, each state, each parameter of the equations."""
    stages = stages_of(call)
    plan, eqs = stages.plan, stages.plan.equations
    B, states = call.xs.shape[1], eqs.states
    names, plain = saved.rest
    flat: Env = {**plain, **dict(zip(names, saved.tensors, strict=True))}
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
    """One product for all matrices that read the same vector, over all steps at once."""
    plan, bound = stages.plan, stages.bound
    found: dict[str, Tensor] = {}
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, left, right in plan.outers:
        groups.setdefault(right, []).append((name, left))

    def receive(name: str, share: Tensor) -> None:
        if name in plan.pieces:
            piece = plan.pieces[name]
            if piece.matrix not in found:
                found[piece.matrix] = torch.zeros_like(bound.tensors[piece.matrix])
            piece.of(found[piece.matrix], bound.sizes).add_(share)
        else:
            found[name] = share if name not in found else found[name] + share

    for right, terms in groups.items():
        lefts = [as_rows(flat, left) for _, left in terms]
        dtype = stages.call.xs.dtype  # kernels may have kept more digits
        product = joined(lefts).to(dtype).T @ as_rows(flat, right).to(dtype)
        shares = product.split([left.shape[1] for left in lefts])
        for (name, _), share in zip(terms, shares, strict=True):
            receive(name, share)
    for name, expr in plan.sums.items():
        value = evaluate(expr, flat, stages.size_of)
        assert isinstance(value, Tensor)
        value = value if value.dim() == 2 else value.expand(flat["rows"], -1)
        receive(name, stages.cleared(value).sum(0).to(stages.call.xs.dtype))
    return found


def _keep(stages: Stages, t: int, new: Tensor, old: Tensor) -> Tensor:
    return new if stages.inside is None else torch.where(stages.inside[t][:, None], new, old)


def _stack(steps: Sequence[Any], like: Tensor, rows: int, size: int) -> Tensor:
    if not steps:
        return like.new_zeros(0, rows, size)
    return torch.stack([step.expand(rows, -1) for step in steps])
