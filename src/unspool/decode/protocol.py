"""What decoders ask of a model: one function that takes a step.

`log_probs, state = step(tokens, state)`: tokens (B,) are what was said last, log_probs (B, V)
what the model gives every token to come next. `state` is a pair: `live` changes with every step
and is any nest of tuples, lists and dicts of tensors whose first dimension is B; `fixed` is what
stays as it is, a source sentence for example.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

State = tuple[Any, Any]
Step = Callable[[Tensor, State], tuple[Tensor, State]]


def reorder(state: State, rows: Tensor) -> State:
    """The state whose row i is row `rows[i]` of this one: of `live` only, `fixed` stays."""
    live, fixed = state
    return _gather(live, rows), fixed


def _gather(part: Any, rows: Tensor) -> Any:
    if part is None:
        return None
    if isinstance(part, Tensor):
        return part.index_select(0, rows.to(part.device, torch.long))
    if isinstance(part, dict):
        return type(part)((name, _gather(value, rows)) for name, value in part.items())
    if isinstance(part, tuple | list):
        parts = [_gather(value, rows) for value in part]
        return type(part)(*parts) if hasattr(part, "_fields") else type(part)(parts)
    raise ValueError(
        f"a live state is made of tuples, lists, dicts and tensors; {type(part).__name__} is none "
        "of them: put what does not change with the steps into `fixed`"
    )
