"""Plans under autograd: a forward pass that saves what the derived backward pass reads."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from unspool.cells.cell import Bound
from unspool.cells.state import make_state
from unspool.engine import planned
from unspool.engine.c_build import CannotBuild
from unspool.engine.c_spec import CannotPrint
from unspool.engine.call import Call, without_autocast, zeros
from unspool.engine.reference import unfold_reference
from unspool.engine.saved import Saved
from unspool.engine.say import say_once


def why_reference(call: Call) -> str | None:
    """What plans do not serve: Python cells, transforms, tensors of other kinds and devices."""
    if not isinstance(call.cell, Bound):
        return "it is a Python class, not equations"
    if in_func() or forward_ad._current_level >= 0:
        return "under torch.func and in forward mode the reference runs, step by step"
    if call.xs.device.type not in ("cpu", "cuda"):
        return f"there are no kernels for {call.xs.device.type}"
    for tensor in (call.xs, *call.state, *call.cell.tensors.values()):
        if type(tensor) not in (Tensor, nn.Parameter):
            return f"there are no kernels for {type(tensor).__name__}"
    if any(isinstance(mask, Tensor) and mask.requires_grad for mask in masks_of(call)):
        return "kernels give masks no gradient"
    return None


def masks_of(call: Call) -> list[Any]:
    return [*call.step_masks.values(), *call.row_masks.values()]


def in_func() -> bool:
    """Whether torch.func is at work: what looks like a tensor then is many, or a tangent."""
    return torch._C._functorch.peek_interpreter_stack() is not None  # type: ignore[attr-defined]


def is_training(call: Call) -> bool:
    """Whether a gradient is asked for."""
    assert isinstance(call.cell, Bound)
    tensors = (call.xs, *call.state, *call.cell.tensors.values())
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def unfold_with(backend: Any, call: Call) -> tuple[Tensor, Any, dict[str, Tensor]]:
    """Runs a module that has `forward` and `backward`."""
    assert isinstance(call.cell, Bound)
    backend = backend if call.xs.shape[0] * call.xs.shape[1] else planned  # nothing to be fast at
    tensors = [call.xs, *call.state, *call.cell.tensors.values()]
    if is_training(call):
        outputs: Sequence[Tensor] = _Unfold.apply(backend, call, *tensors)  # type: ignore[assignment]
    else:
        outputs = backend.forward(call, training=False)[0]
    states = call.cell.equations.states
    last = make_state(states, outputs[1 : 1 + len(states)])
    return outputs[0], last, dict(zip(call.record, outputs[1 + len(states) :], strict=True))


@contextmanager
def in_words(where: str) -> Iterator[None]:
    """What keeps kernels from running, for whoever asked for them by name."""
    try:
        yield
    except (CannotPrint, CannotBuild) as error:
        raise ValueError(f"no kernel runs this cell {where}: {error}") from None


class _Unfold(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, backend: Any, call: Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        outputs, saved = backend.forward(call, training=True)
        # torch holds what the backward pass reads, and nobody else: it notices when something is
        # changed in place, and what is left of a checkpointed call holds no memory
        ctx.save_for_backward(*tensors, *saved.tensors, *fixed(call))
        ctx.backend, ctx.rest = backend, saved.rest
        ctx.counts = len(tensors), len(tensors) + len(saved.tensors)
        ctx.call = call.on([None] * len(tensors))
        ctx.set_materialize_grads(False)  # what nobody asked about is one launch below, not many
        ctx.shapes = [output.shape for output in outputs]
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        everything = ctx.saved_tensors
        first, second = ctx.counts
        tensors, kept = everything[:first], everything[first:second]
        if all(grad is None for grad in given):
            return (None,) * len(ctx.needs_input_grad)
        grads = whole(given, ctx.shapes)
        if torch.is_grad_enabled() or not all(map(is_one, grads)):
            if ctx.backend is not planned:
                say_of_gradients(ctx.call)
            return (None, None, *through_reference(ctx.call, tensors, grads))
        call = ctx.call.on(tensors)
        wants_x = ctx.needs_input_grad[2]
        with without_autocast(call.xs.device.type), in_words("backwards"):
            found = ctx.backend.backward(call, Saved(list(kept), ctx.rest), grads, wants_x)
        cell = ctx.call.cell
        names = ("x", *cell.equations.states, *cell.tensors)
        wanted = zip(names, tensors, ctx.needs_input_grad[2:], strict=True)
        shares = (gradient_of(found, n, t) if needed else None for n, t, needed in wanted)
        return (None, None, *shares)


def say_of_gradients(call: Call) -> None:
    assert isinstance(call.cell, Bound)
    what = "a backward pass of this cell runs step by step, without compiled kernels"
    problem = "they give no gradients of gradients, and no gradients of many outputs at once"
    say_once(problem, call.cell.equations, what)


def is_one(tensor: Tensor) -> bool:
    """False inside a transform such as vmap, where what looks like a tensor stands for many."""
    return bool(torch._C._has_storage(tensor))


def whole(grads: Sequence[Tensor | None], shapes: Sequence[torch.Size]) -> list[Tensor]:
    """With zeros for outputs that nothing depends on."""
    some = next(grad for grad in grads if grad is not None)
    missing = [shape for grad, shape in zip(grads, shapes, strict=True) if grad is None]
    nothing = iter(zeros(some, missing, some.dtype))
    return [next(nothing) if grad is None else grad for grad in grads]


def fixed(call: Call) -> list[Tensor]:
    """What a call reads besides: lengths and masks."""
    return [t for t in (call.lengths, *masks_of(call)) if isinstance(t, Tensor)]


def gradient_of(found: dict[str, Tensor], name: str, tensor: Tensor) -> Tensor:
    return found[name] if name in found else torch.zeros_like(tensor)


def through_reference(
    call: Call, tensors: Sequence[Tensor], grads: Sequence[Tensor]
) -> list[Tensor | None]:
    """Gradients that are differentiated in turn, or many of them at once: by torch, step by step.

    Gradients without a graph of their own are taken as such: `is_grads_batched` asks for these.
    """
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        # views, so that the way from one input to another is not walked: that is torch's own to do
        tensors = [tensor.view_as(tensor) if tensor.requires_grad else tensor for tensor in tensors]
        ys, last, lines = unfold_reference(call.on(tensors))
    outputs = [ys, *last, *lines.values()]
    pairs = [(out, grad) for out, grad in zip(outputs, grads, strict=True) if out.requires_grad]
    inputs = [tensor for tensor in tensors if tensor.requires_grad]
    found = torch.autograd.grad(
        [out for out, _ in pairs],
        inputs,
        [grad for _, grad in pairs],
        create_graph=again,
        allow_unused=True,
    )
    by_input = iter(found)
    return [next(by_input) if tensor.requires_grad else None for tensor in tensors]
