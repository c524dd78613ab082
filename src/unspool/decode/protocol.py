"""What decoders ask of a model: one function that takes a step.

`log_probs, state = step(tokens, state)`: tokens (R,) are what was said last, log_probs (R, V)
what the model gives every token to come next. `state` is a pair, `(live, fixed)`, each of them
any nest of tuples, lists, dicts, tensors and None. `live` changes with every step and has a row
for each of the R tokens. `fixed` stays as it is, a source sentence for example, and has an entry
for each of the B sentences.

A beam has several hypotheses of a sentence, so R = B * K, the K of one sentence next to each
other: slot k of sentence b is row b * K + k. A step finds K as R // B; it may change from one
step to the next, and is 1 at the first. What stands in `fixed` is never copied for the K.
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
    return _gather(
        live, rows, "live", "put what does not change with the steps into `fixed`"
    ), fixed


def keep(state: State, rows: Tensor, sentences: Tensor) -> State:
    """The state of these sentences alone: `rows` of `live`, `sentences` of `fixed`."""
    live, fixed = reorder(state, rows)
    advice = "let the step itself hold what is the same for all sentences"
    return live, _gather(fixed, sentences, "fixed", advice)


def _gather(part: Any, rows: Tensor, kind: str, advice: str) -> Any:
    if part is None:
        return None
    if isinstance(part, Tensor):
        return part.index_select(0, rows.to(part.device, torch.long))
    if isinstance(part, dict):
        return type(part)((name, _gather(p, rows, kind, advice)) for name, p in part.items())
    if isinstance(part, tuple | list):
        parts = [_gather(p, rows, kind, advice) for p in part]
        return type(part)(*parts) if hasattr(part, "_fields") else type(part)(parts)
    raise ValueError(
        f"a {kind} state is made of tuples, lists, dicts and tensors; {type(part).__name__} is "
        f"none of them: {advice}"
    )
