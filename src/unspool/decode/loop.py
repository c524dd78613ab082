"""The loop that decoders share when they say one token at a time and never look back."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

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

    `choose` takes log_probs (B, V) and gives tokens (B,). A finished row runs along, because a
    state cannot lose rows, and what comes out of it is not looked at.
    """
    if steps < 0:
        raise ValueError(f"steps is how many tokens to say at most, 0 or more, not {steps}")
    if first.ndim != 1:
        raise ValueError(f"first has shape {tuple(first.shape)}; expected (B,), a token a row")
    B = len(first)
    said = Decoded([[] for _ in range(B)], [[] for _ in range(B)], [False] * B)
    tokens = first
    for _ in range(steps):
        if all(said.finished):
            break
        log_probs, state = step(tokens, state)
        _check(log_probs, said.finished)
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


def _check(log_probs: Tensor, finished: list[bool]) -> None:
    if log_probs.ndim != 2 or len(log_probs) != len(finished):
        raise ValueError(
            f"the step gave log_probs of shape {tuple(log_probs.shape)}; "
            f"expected ({len(finished)}, V)"
        )
    bad = log_probs.isnan().any(1) | (log_probs.amax(1) == -torch.inf)
    rows = [r for r, b in enumerate(bad.tolist()) if b and not finished[r]]
    if rows:
        raise ValueError(
            f"the step gave NaN, or no token a chance, in row {rows[0]}: "
            "look for NaN in the model's weights or in what it reads"
        )
