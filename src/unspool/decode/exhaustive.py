"""Every sequence there is, for vocabularies so small that they can all be looked at."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from unspool.decode.check import check_chances, check_shape, limits_of
from unspool.decode.hypothesis import Found, Hypothesis, ranked
from unspool.decode.normalise import ALPHA, Normalise
from unspool.decode.protocol import State, Step, keep, reorder

LEAVES = 100_000


@torch.no_grad()
def exhaustive(
    step: Step,
    first: Tensor,
    state: State,
    *,
    end: int | None,
    steps: int | Sequence[int],
    nbest: int | None = 1,
    normalise: str = "mean",
    alpha: float = ALPHA,
) -> Found:
    """The truly best of all sequences of at most `steps` tokens: what `beam` tries to find.

    Arguments as for `beam`; `nbest` None gives all that have a chance.
    """
    rule = Normalise(normalise, alpha)
    if nbest is not None and nbest < 1:
        raise ValueError(f"nbest is how many hypotheses to give, 1 or more, not {nbest}")
    found = []
    for sentence, limit in enumerate(limits_of(first, steps)):
        row = torch.tensor([sentence])
        own = keep(state, row, row)
        every = _all(step, first[sentence : sentence + 1], own, end, limit, sentence)
        scored = (
            Hypothesis(tokens, log_probs, rule.score(sum(log_probs), len(log_probs)), finished)
            for tokens, log_probs, finished in every
        )
        found.append(ranked(scored)[:nbest])
    return Found(found)


def _all(
    step: Step, tokens: Tensor, state: State, end: int | None, limit: int, sentence: int
) -> Iterator[tuple[list[int], list[float], bool]]:
    """Tokens, log-probabilities and whether END was said, of every sequence of one sentence."""
    finished, growing = 0, [([], [])]
    first = tokens
    for _ in range(limit):
        if not growing:
            return
        log_probs, state = step(tokens, state)
        check_shape(log_probs, len(growing))
        check_chances(np.array(log_probs.amax(1).tolist()), [sentence] * len(growing))
        longer, rows = [], []
        for row, (said, before) in enumerate(growing):
            for token, log_prob in enumerate(log_probs[row].tolist()):
                if log_prob == -torch.inf:
                    continue
                if token == end:
                    finished += 1
                    yield said, [*before, log_prob], True
                else:
                    longer.append(([*said, token], [*before, log_prob]))
                    rows.append(row)
            if finished + len(longer) > LEAVES:
                raise ValueError(
                    f"there are more than {LEAVES:,} sequences of {log_probs.shape[1]} tokens in "
                    f"{limit} steps: allow fewer steps, or use beam"
                )
        growing, tokens = longer, first.new_tensor([said[-1] for said, _ in longer])
        state = reorder(state, torch.tensor(rows, dtype=torch.long))
    for said, log_probs in growing:
        yield said, log_probs, False
