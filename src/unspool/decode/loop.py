"""The loop that decoders share when they say one token at a time and never look back."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unspool.decode.check import check_chances, check_shape, limits_of
from unspool.decode.protocol import State, Step

Choose = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Decoded:
    """What was said, row by row.

    `tokens` are without END. `log_probs` are those of the model itself, however the tokens were
    chosen: one for each token, and one more for END in a row that is `finished`, so that their
    sum is the log-probability of the row.
    """

    tokens: list[list[int]]
    log_probs: list[list[float]]
    finished: list[bool]


@torch.no_grad()
def decode(
    step: Step, first: Tensor, state: State, choose: Choose, *, end: int | None, steps: int
) -> Decoded:
    """At most `steps` tokens after `first` (B,), until each row has said `end`.

    `choose` takes log_probs (B, V) and gives tokens (B,). A finished row runs along, and what
    comes out of it is not looked at.
    """
    limits_of(first, steps)
    B = len(first)
    said = Decoded([[] for _ in range(B)], [[] for _ in range(B)], [False] * B)
    tokens = first
    for _ in range(steps):
        if all(said.finished):
            break
        log_probs, state = step(tokens, state)
        check_shape(log_probs, B)
        live = [row for row in range(B) if not said.finished[row]]
        check_chances(np.array(log_probs.amax(1).tolist())[live], live)
        done = torch.tensor(said.finished, device=log_probs.device)
        log_probs = log_probs.masked_fill(done[:, None], 0)  # a finished row may give NaN
        tokens = choose(log_probs).to(first)
        chosen = log_probs.gather(1, tokens[:, None].to(log_probs.device))[:, 0].tolist()
        for row, (token, log_prob) in enumerate(zip(tokens.tolist(), chosen, strict=True)):
            if said.finished[row]:
                continue
            said.log_probs[row].append(log_prob)
            said.finished[row] = token == end
            if token != end:
                said.tokens[row].append(token)
    return said
