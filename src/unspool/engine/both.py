"""Two calls of one cell under autograd, in one launch: the directions of a bidirectional layer."""

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.cells.state import make_state
from unspool.engine import cuda
from unspool.engine.autograd import (
    fixed,
    gradient_of,
    in_words,
    is_one,
    say_of_gradients,
    through_reference,
    whole,
)
from unspool.engine.call import Call, without_autocast
from unspool.engine.saved import Saved


def unfold_both(calls: Sequence[Call]) -> list[tuple[Tensor, Any, dict[str, Tensor]]]:
    """What `unfold_with` gives for each of calls that are alike."""
    tensors = [_tensors(call) for call in calls]
    wanted = any(tensor.requires_grad for tensor in itertools.chain(*tensors))
    if torch.is_grad_enabled() and wanted:
        outputs: Sequence[Tensor] = _Both.apply(calls, *itertools.chain(*tensors))  # type: ignore[assignment]
    else:
        outputs = list(itertools.chain(*(found for found, _ in cuda.forwards(calls, False))))
    results = []
    for call, found in zip(calls, _halves(outputs), strict=True):
        assert isinstance(call.cell, Bound)
        count = 1 + len(call.state)
        last = make_state(call.cell.equations.states, found[1:count])
        results.append((found[0], last, dict(zip(call.record, found[count:], strict=True))))
    return results


def _tensors(call: Call) -> list[Tensor]:
    assert isinstance(call.cell, Bound)
    return [call.xs, *call.state, *call.cell.tensors.values()]


def _halves(values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """What belongs to the first call, and to the second: calls that are alike have as much."""
    middle = len(values) // 2
    return values[:middle], values[middle:]


class _Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, calls: Sequence[Call], *tensors: Tensor) -> tuple[Tensor, ...]:
        (first, saved), (second, saved_too) = cuda.forwards(calls, training=True)
        kept = [*saved.tensors, *saved_too.tensors]
        read = [tensor for call in calls for tensor in fixed(call)]  # so that changes are noticed
        ctx.save_for_backward(*tensors, *kept, *read)
        ctx.counts = len(tensors), len(tensors) + len(kept)
        ctx.rest = saved.rest
        ctx.calls = [call.on([None] * (len(tensors) // 2)) for call in calls]
        ctx.set_materialize_grads(False)
        ctx.shapes = [output.shape for output in (*first, *second)]
        return *first, *second

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        if all(grad is None for grad in grads):
            return (None,) * len(ctx.needs_input_grad)
        first, second = ctx.counts
        tensors = _halves(ctx.saved_tensors[:first])
        kept = _halves(ctx.saved_tensors[first:second])
        given, needed = _halves(whole(grads, ctx.shapes)), _halves(ctx.needs_input_grad[1:])
        pairs = list(zip(ctx.calls, tensors, given, strict=True))
        if torch.is_grad_enabled() or not all(map(is_one, itertools.chain(*given))):
            say_of_gradients(ctx.calls[0])
            found = [through_reference(*pair) for pair in pairs]
            return (None, *itertools.chain(*found))
        calls = [call.on(own) for call, own, _ in pairs]
        saved = [Saved(list(own), ctx.rest) for own in kept]
        wants_x = any(needs[0] for needs in needed)
        results: list[Tensor | None] = [None]
        with without_autocast(calls[0].xs.device.type), in_words("backwards"):
            found = cuda.backwards(calls, saved, given, wants_x)
        for call, own, needs, by_name in zip(calls, tensors, needed, found, strict=True):
            assert isinstance(call.cell, Bound)
            names = ("x", *call.cell.equations.states, *call.cell.tensors)
            wanted = zip(names, own, needs, strict=True)
            results += [gradient_of(by_name, n, t) if need else None for n, t, need in wanted]
        return tuple(results)
