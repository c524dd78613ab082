"""Kernels earn their trust on each machine: a few steps, held against the planned loop.

A compiler or a driver that nobody has tried may be wrong where ours were right. What is checked is
the kernel that then runs, on the first steps of the call that asked for it. (Where tensors are laid
out in another way Triton compiles it again; that is not checked again.)
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from unspool.engine import cuda, planned
from unspool.engine.c_build import CannotBuild
from unspool.engine.c_spec import CannotPrint
from unspool.engine.call import Call
from unspool.engine.launch import LONG, is_captured, precision_of
from unspool.engine.recompute import stretch
from unspool.engine.tiles import power_of_two

# Both round, and in other places: what is broken is off by far more.
TOLERANCE = {torch.bfloat16: 0.25, torch.float16: 0.05, torch.float32: 1e-4, torch.float64: 1e-8}
_verdicts: dict[tuple[object, ...], Exception | None] = {}


def earned(calls: Sequence[Call], training: bool) -> None:
    """Raises CannotBuild if the kernels of these calls give other numbers than the planned loop.

    CannotPrint says that there are none.
    """
    xs = calls[0].xs
    key = (
        *(cuda.kind(call) for call in calls),
        tuple((call.reverse, call.lengths is None) for call in calls),
        power_of_two(xs.shape[1], 16),
        xs.device,
        precision_of(xs.dtype),
        len(xs) >= LONG,
        training,
    )
    if key not in _verdicts:
        if is_captured(xs.device):
            return  # nothing can be compared there
        with torch.no_grad():
            verdict, proves = _verdict(calls, training)
        if not proves:
            return  # it is tried again
        _verdicts[key] = verdict
    verdict = _verdicts[key]
    if verdict is not None:
        raise type(verdict)(str(verdict))  # anew: one that was raised holds on to all it has seen


def _verdict(calls: Sequence[Call], training: bool) -> tuple[Exception | None, bool]:
    """What speaks against these kernels, if anything; and whether that is more than chance."""
    few = [stretch(call, 0, LONG) for call in calls]
    try:
        if training:
            for call in few:
                cuda.print_both(call)
        if len(calls[0].xs) > LONG:
            _all_of(calls, training)  # all steps, so that the fastest way is found with them
        ours = _all_of(few, training)
    except (CannotBuild, CannotPrint) as problem:
        return type(problem)(str(problem)), True
    theirs = [_expected(call, training) for call in few]
    worst = max(error(a, b) for a, b in zip(ours, theirs, strict=True))
    dtype, device = calls[0].xs.dtype, calls[0].xs.device
    allowed = 1e-2 if precision_of(dtype) == "tf32" else TOLERANCE[dtype]
    if worst > allowed:
        return CannotBuild(said_of(worst, allowed, device)), True
    # of inputs that are nothing, and of results that are not numbers, nothing follows
    finite = all(value.isfinite().float().mean() > 0.5 for value in theirs[0] if value.numel())
    return None, finite and bool(calls[0].xs.any())


def said_of(worst: float, allowed: float, device: torch.device) -> str:
    return (
        f"a kernel's numbers on {device} are off by {worst:.1e} of their size, more than the "
        f"{allowed:.0e} that rounding explains; it is not used. Please report the cell, the "
        "device and the versions of torch and triton"
    )


def _all_of(calls: Sequence[Call], training: bool) -> list[list[Tensor]]:
    """Everything that kernels compute: outputs and gradients."""
    done = cuda.forwards(calls, training)
    found = [list(outputs) for outputs, _ in done]
    if training:
        grads = [[wave(output) for output in outputs] for outputs, _ in done]
        shares = cuda.backwards(calls, [saved for _, saved in done], grads, True)
        found = [
            own + [by[name] for name in sorted(by)] for own, by in zip(found, shares, strict=True)
        ]
    return found


def _expected(call: Call, training: bool) -> list[Tensor]:
    """The same from the planned loop."""
    outputs, saved = planned.forward(call, training)
    if not training:
        return outputs
    by = planned.backward(call, saved, [wave(output) for output in outputs], True)
    return outputs + [by[name] for name in sorted(by)]


def error(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> float:
    """The largest difference by norm; what is no number on one side must be none on the other."""
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if not torch.equal(a.isfinite(), b.isfinite()):
            return float("inf")
        a, b = (torch.nan_to_num(value.double(), 0.0, 0.0, 0.0) for value in (a, b))
        worst = max(worst, ((a - b).norm() / b.norm().clamp(min=1e-3)).item())
    return worst


def wave(like: Tensor) -> Tensor:
    """A gradient that is no chance's: nobody's random numbers are drawn."""
    steps = torch.arange(like.numel(), device=like.device, dtype=torch.float32)
    return torch.sin(steps + 1.0).view(like.shape).to(like.dtype)
