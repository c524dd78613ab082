"""Less memory for more time: only some states are kept, and what lies between runs again.

A sequence is cut into chunks. The forward pass keeps the state at each cut; the backward pass runs
a chunk forwards once more before it runs it backwards. Numbers stay the same to the last bit
within a chunk; parameter gradients are added up chunk by chunk. Parameters must stay as they are
until then: what runs again reads them again.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from unspool.cells.cell import Bound
from unspool.engine.autograd import in_func
from unspool.engine.call import Call


def in_chunks(run: Callable[[Call], Any], call: Call, steps: int) -> Any:
    """`run` over at most `steps` steps at a time; without gradients, all at once."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ValueError(f"recompute is a number of steps, at least 1, or None, not {steps!r}")
    starts = list(range(0, len(call.xs), steps))
    draws = not isinstance(call.cell, Bound)  # equations never draw numbers, a class may
    if len(starts) < 2 or not torch.is_grad_enabled() or in_func():
        return run(call)
    state, parts = call.state, {}
    for start in reversed(starts) if call.reverse else starts:
        chunk = stretch(call, start, steps)

        def again(xs: Tensor, *state: Tensor, chunk: Call = chunk) -> Any:
            chunk.xs, chunk.state = xs, type(chunk.state)(*state)
            return run(chunk)

        found = checkpoint(again, chunk.xs, *state, use_reentrant=False, preserve_rng_state=draws)
        parts[start], state = found, found[1]
    found = [parts[start] for start in starts]
    lines = {name: torch.cat([part[2][name] for part in found]) for name in call.record}
    return torch.cat([ys for ys, _, _ in found]), state, lines


def stretch(call: Call, start: int, steps: int) -> Call:
    """A stretch of the call: its steps of everything that changes by step."""
    stop = start + steps
    lengths = call.lengths
    return Call(
        cell=call.cell,
        xs=call.xs[start:stop],
        state=call.state,
        lengths=None if lengths is None else (lengths - start).clamp(0, len(call.xs[start:stop])),
        reverse=call.reverse,
        record=call.record,
        step_masks={
            name: mask[start:stop] if isinstance(mask, Tensor) else mask
            for name, mask in call.step_masks.items()
        },
        row_masks=call.row_masks,
    )
