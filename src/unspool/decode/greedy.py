"""The likeliest token at every step."""

from torch import Tensor

from unspool.decode.loop import Decoded, decode
from unspool.decode.protocol import State, Step


def greedy(step: Step, first: Tensor, state: State, *, end: int | None, steps: int) -> Decoded:
    """At most `steps` tokens after `first` (B,), each the likeliest; a row stops at `end`."""
    return decode(step, first, state, _likeliest, end=end, steps=steps)


def _likeliest(log_probs: Tensor) -> Tensor:
    return log_probs.argmax(1)
