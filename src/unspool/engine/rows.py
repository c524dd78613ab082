"""Items on rows: what a plan computes for all steps at once, or for one step, in plain torch."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unspool.engine.items import Accumulate, Elementwise, Item, Reduce, Term
from unspool.engine.stages import Env, Stages
from unspool.equations.evaluate import evaluate
from unspool.equations.expr import Expr, Name
from unspool.equations.functions import LAYER_NORM_EPS


@dataclass(frozen=True, eq=False)
class Together:
    """Sums that read the same vectors, one or several: they are one product."""

    sums: tuple[Accumulate, ...]


Arranged = tuple[Together | Reduce | Elementwise, ...]


def arranged(items: Iterable[Item]) -> Arranged:
    """Items in their order; sums that are one product stand where the first of them stood."""
    groups: dict[tuple[str, ...], list[Accumulate]] = {}
    order: dict[Any, Any] = {}
    for item in items:
        if isinstance(item, Accumulate):
            operands = tuple(term.operand for term in item.terms)
            order.setdefault(operands, None)
            groups.setdefault(operands, []).append(item)
        else:
            order[item.name] = item
    return tuple(one or Together(tuple(groups[key])) for key, one in order.items())


class Runner:
    """Runs items on rows, with the tensors of one call."""

    def __init__(self, stages: Stages, work: Arranged):
        self.stages = stages
        self.steps: list[Callable[[Env], None]] = []
        for one in work:
            if isinstance(one, Together):
                self.steps.append(self.products(one.sums))
            elif isinstance(one, Reduce):
                self.steps.append(self.reduction(one))
            else:
                self.steps.append(self.line(one))

    def __call__(self, env: Env) -> None:
        for step in self.steps:
            step(env)

    def products(self, group: Sequence[Accumulate]) -> Callable[[Env], None]:
        """Matrices of one sum side by side, sums one below the other."""
        sizes = [self.stages.size(item.name) for item in group]
        bias = self.bias(group, sizes)
        weights = self.weights(group)
        operands = [term.operand for term in group[0].terms]

        def run(env: Env) -> None:
            rows = together(env, operands, weights.dtype)
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

    def weights(self, group: Sequence[Accumulate]) -> Tensor:
        """Matrices as they stand on the left of `@`: of one sum side by side."""
        if all(term.transposed for item in group for term in item.terms):
            # turned when they are one: a copy of what is turned takes longer
            return _join([_join([self.matrix(t) for t in item.terms], 0) for item in group], 1).T
        return _join([_join([self.rows_of(t) for t in item.terms], 1) for item in group], 0)

    def rows_of(self, term: Term) -> Tensor:
        return self.matrix(term).T if term.transposed else self.matrix(term)

    def matrix(self, term: Term) -> Tensor:
        matrix = self.stages.tensors[term.matrix]
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


def together(env: Env, names: Sequence[str], dtype: torch.dtype) -> Tensor:
    """Vectors as columns side by side, where they stand from then on: nobody copies them again.

    Kernels may have kept more digits than products take.
    """
    parts = [as_rows(env, name) for name in names]
    wide = side_by_side(parts)
    if wide is None:
        wide = torch.cat(parts, -1)
        columns = wide.split([part.shape[1] for part in parts], -1)
        env.update(zip(names, columns, strict=True))
    return wide.to(dtype)


def side_by_side(parts: Sequence[Tensor]) -> Tensor | None:
    """What stands side by side in memory, as one; None where it does not."""
    first = parts[0]
    if len(parts) == 1:
        return first
    strides, dtype, start = first.stride(), first.dtype, first.untyped_storage().data_ptr()
    width, at = 0, first.storage_offset()
    if strides[-1] != 1:
        return None
    for part in parts:
        if part.shape[:-1] != first.shape[:-1]:
            return None
        if part.storage_offset() != at + width or part.stride() != strides or part.dtype != dtype:
            return None
        if part is not first and part.untyped_storage().data_ptr() != start:
            return None
        width += part.shape[-1]
    return first.as_strided((*first.shape[:-1], width), strides)


def _join(parts: Sequence[Tensor], dim: int) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim)


def parameter_gradients(stages: Stages, flat: Env) -> dict[str, Tensor]:
    """One product for all matrices that read the same vector, over all steps at once."""
    plan, bound, dtype = stages.plan, stages.bound, stages.call.xs.dtype
    found: dict[str, Tensor] = {}

    def receive(name: str, share: Tensor) -> None:
        if name in plan.pieces:
            piece = plan.pieces[name]
            if piece.matrix not in found:
                found[piece.matrix] = torch.zeros_like(bound.tensors[piece.matrix])
            piece.of(found[piece.matrix], bound.sizes).add_(share)
        else:
            found[name] = share if name not in found else found[name] + share

    for right, terms in plan.outers_by_right.items():
        wide = together(flat, [left for _, left in terms], dtype)
        shares = (wide.T @ together(flat, [right], dtype)).split(
            [stages.size(left) for _, left in terms]
        )
        for (name, _), share in zip(terms, shares, strict=True):
            receive(name, share)
    for name, share in _sums(stages, flat):
        receive(name, share.to(dtype))
    return found


def _sums(stages: Stages, flat: Mapping[str, Any]) -> Iterable[tuple[str, Tensor]]:
    """Over all rows: each expression once, and in one go what stands side by side."""
    sums = stages.plan.sums
    shares = {expr: _share(stages, flat, expr) for expr in sums.values()}
    values = dict(sorted(shares.items(), key=lambda pair: pair[1].storage_offset()))
    wide = side_by_side([*values.values()]) if values else None
    if wide is None:
        found = [stages.cleared(value).sum(0) for value in values.values()]
    else:
        widths = [value.shape[1] for value in values.values()]
        found = stages.cleared(wide).sum(0).split(widths)
    totals, taken = dict(zip(values, found, strict=True)), set[Expr]()
    for name, expr in sums.items():
        yield name, totals[expr].clone() if expr in taken else totals[expr]  # memory of its own
        taken.add(expr)


def _share(stages: Stages, flat: Mapping[str, Any], expr: Expr) -> Tensor:
    if isinstance(expr, Name):
        return as_rows(flat, expr.id)
    value = evaluate(expr, flat, stages.size_of)
    assert isinstance(value, Tensor)
    return value if value.dim() == 2 else value.expand(flat["rows"], -1)
