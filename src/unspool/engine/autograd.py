"""Plans under autograd: a forward pass that saves what the derived backward pass reads."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from unspool.cells.cell import Bound
from unspool.cells.state import make_state
from unspool.engine.call import Call
from unspool.engine.planned import Saved
from unspool.engine.reference import unfold_reference


def only_reference(call: Call) -> bool:
    """What plans do not serve: torch.func, forward mode, Python cells, other devices."""
    in_func = torch._C._functorch.peek_interpreter_stack() is not None  # type: ignore[attr-defined]
    odd = not isinstance(call.cell, Bound) or call.xs.device.type not in ("cpu", "cuda")
    return in_func or forward_ad._current_level >= 0 or odd


def unfold_with(backend: Any, call: Call) -> tuple[Tensor, Any, dict[str, Tensor]]:
    """Runs a module that has `stages_of`, `forward` and `backward`."""
    assert isinstance(call.cell, Bound)
    tensors = [call.xs, *call.state, *call.cell.tensors.values()]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        outputs: Sequence[Tensor] = _Unfold.apply(backend, call, *tensors)  # type: ignore[assignment]
    else:
        outputs = backend.forward(backend.stages_of(call), training=False)[0]
    states = call.cell.equations.states
    last = make_state(states, outputs[1 : 1 + len(states)])
    return outputs[0], last, dict(zip(call.record, outputs[1 + len(states) :], strict=True))


def with_tensors(call: Call, tensors: Sequence[Tensor]) -> Call:
    """The same call on other tensors: xs, the state, the parameters."""
    assert isinstance(call.cell, Bound)
    count = len(call.state)
    parameters = dict(zip(call.cell.tensors, tensors[1 + count :], strict=True))
    cell = Bound(call.cell.equations, call.cell.sizes, parameters)
    state = type(call.state)(*tensors[1 : 1 + count])
    return replace(call, cell=cell, xs=tensors[0], state=state)


class _Unfold(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, backend: Any, call: Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        call = with_tensors(call, [tensor.detach() for tensor in tensors])
        outputs, saved = backend.forward(backend.stages_of(call), training=True)
        # torch holds what the backward pass reads, so that it notices when an output that shares
        # memory with it is changed in place
        kept = {k: v for k, v in saved.flat.items() if isinstance(v, Tensor)}
        ctx.backend, ctx.call, ctx.names = backend, call, list(kept)
        ctx.plain = {k: v for k, v in saved.flat.items() if k not in kept}
        ctx.save_for_backward(*tensors, *kept.values())
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        count = len(ctx.saved_tensors) - len(ctx.names)
        tensors, kept = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        if torch.is_grad_enabled():  # a backward pass that is itself differentiated
            return (None, None, *_through_reference(ctx.call, tensors, grads))
        stages = ctx.backend.stages_of(with_tensors(ctx.call, [t.detach() for t in tensors]))
        saved = Saved({**ctx.plain, **dict(zip(ctx.names, kept, strict=True))})
        found = ctx.backend.backward(stages, saved, grads)
        cell = ctx.call.cell
        names = ("x", *cell.equations.states, *cell.tensors)
        wanted = zip(names, tensors, ctx.needs_input_grad[2:], strict=True)
        return (None, None, *(_of(found, n, t) if needed else None for n, t, needed in wanted))


def _of(found: dict[str, Tensor], name: str, tensor: Tensor) -> Tensor:
    return found[name] if name in found else torch.zeros_like(tensor)


def _through_reference(
    call: Call, tensors: Sequence[Tensor], grads: Sequence[Tensor]
) -> list[Tensor | None]:
    ys, last, lines = unfold_reference(with_tensors(call, tensors))
    outputs = [ys, *last, *lines.values()]
    pairs = [(out, grad) for out, grad in zip(outputs, grads, strict=True) if out.requires_grad]
    inputs = [tensor for tensor in tensors if tensor.requires_grad]
    found = torch.autograd.grad(
        [out for out, _ in pairs],
        inputs,
        [grad for _, grad in pairs],
        create_graph=True,
        allow_unused=True,
    )
    by_input = iter(found)
    return [next(by_input) if tensor.requires_grad else None for tensor in tensors]
