"""Tokens drawn at random, from all that the model gives or from the likeliest only."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from unspool.decode.loop import Decoded, decode
from unspool.decode.protocol import State, Step


def sample(
    step: Step,
    first: Tensor,
    state: State,
    *,
    end: int | None,
    steps: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seeds: Sequence[int] | None = None,
) -> Decoded:
    """At most `steps` tokens after `first` (B,), drawn from `truncate`; a row stops at `end`.

    Temperature 0 is greedy. `seeds` has a number for each row: a row draws from its own stream,
    so the same seed gives it the same text whatever runs beside it. Without seeds they are drawn
    from torch's generator, so `torch.manual_seed` settles everything.
    """
    _check(temperature, top_k, top_p)
    if seeds is None:
        seeds = torch.randint(2**62, (len(first),)).tolist()
    if len(seeds) != len(first) or any(seed < 0 for seed in seeds):
        raise ValueError(f"seeds are {len(first)} numbers of 0 or more, one a row, not {seeds}")
    streams = [np.random.default_rng(seed) for seed in seeds]

    def choose(log_probs: Tensor) -> Tensor:
        uniform = torch.tensor([stream.random() for stream in streams], dtype=torch.float64)
        return draw(truncate(log_probs, temperature, top_k, top_p), uniform)

    return decode(step, first, state, choose, end=end, steps=steps)


def truncate(
    log_probs: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """The distribution (B, V) to draw from, in float64, 0 for what is left out.

    First p^(1 / temperature), where 0 leaves the likeliest token alone; then the `top_k`
    likeliest tokens; then the fewest of these whose shares together reach `top_p`. Of tokens
    that are equally likely the first counts as likelier.
    """
    _check(temperature, top_k, top_p)
    if temperature == 0:
        temperature, top_k = 1.0, 1
    # On the processor, where every device's numbers are summed in the same order.
    log_probs = log_probs.detach().to("cpu", torch.float64)
    log_probs, tokens = log_probs.sort(dim=1, descending=True, stable=True)
    probs = ((log_probs - log_probs[:, :1]) / temperature).softmax(1)
    if top_k is not None:
        probs[:, top_k:] = 0
        probs /= probs.sum(1, keepdim=True)
    if top_p is not None and top_p < 1:
        before = torch.nn.functional.pad(probs.cumsum(1)[:, :-1], (1, 0))
        probs[before >= top_p] = 0
        probs /= probs.sum(1, keepdim=True)
    return torch.zeros_like(probs).scatter_(1, tokens, probs)


def draw(probs: Tensor, uniform: Tensor) -> Tensor:
    """For each row the first token at which the sum of the probabilities exceeds its number."""
    sums = probs.cumsum(1)
    total = sums[:, -1]
    # Rounding must not carry a number up to the total: no token lies beyond it.
    at = torch.minimum(uniform * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(sums, at[:, None], right=True)[:, 0]


def _check(temperature: float, top_k: int | None, top_p: float | None) -> None:
    if not (temperature >= 0 and math.isfinite(temperature)):
        raise ValueError(
            f"temperature is 0 (greedy) or above, 1 for the model's own, not {temperature}"
        )
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is how many tokens to draw from, 1 or more, not {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is a probability, above 0 and at most 1, not {top_p}")
