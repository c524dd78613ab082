"""The continuations of the hypotheses in a beam, best first."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from unspool.decode.check import check_chances, check_shape
from unspool.decode.likeliest import likeliest

Array = NDArray[Any]
ROUNDING = 1e-3  # a log-probability may be above 0 by so much


class Candidates(NamedTuple):
    """Arrays (b, n) with a row for each sentence: which slot says which token next.

    `totals` are the log-probabilities of all that is said then, falling along a row; -inf is no
    candidate.
    """

    parents: Array
    tokens: Array
    log_probs: Array
    totals: Array


def rank(
    log_probs: Tensor, totals: Array, sentences: Array, width: int, *, everything: bool = False
) -> Candidates:
    """The best `width` continuations of hypotheses that have `totals` (b, S).

    They are among the `width` likeliest of each hypothesis; `everything` gives all of those.
    Among equals the lower slot comes first, then the lower token. What the step gave for an
    empty slot, one whose total is -inf, is not looked at.
    """
    b, S = totals.shape
    check_shape(log_probs, b * S)
    likely, tokens_ = likeliest(log_probs, width)
    # From here on all is small, and the processor's float64 is the same on every machine.
    values, tokens = likely.double().cpu().numpy(), tokens_.cpu().numpy().reshape(b, -1)
    alive = totals > -np.inf
    _check(values.max(1).reshape(b, S), alive, sentences)
    values = np.where(alive[:, :, None], values.reshape(b, S, -1), -np.inf)
    sums = (totals[:, :, None] + values).reshape(b, -1)
    slots = np.arange(S).repeat(values.shape[2])
    order = np.lexsort((slots * log_probs.shape[1] + tokens, -sums), axis=1)
    order = order if everything else order[:, :width]
    parts = (tokens, values.reshape(b, -1), sums)
    return Candidates(slots[order], *(np.take_along_axis(part, order, 1) for part in parts))


def _check(best: Array, alive: Array, sentences: Array) -> None:
    rows = sentences[alive.nonzero()[0]]
    check_chances(best[alive], rows)
    above = best[alive] > ROUNDING
    if above.any():
        at = int(above.argmax())
        raise ValueError(
            f"the step gave a log-probability of {best[alive][at]:.4g} in row {rows[at]}, and none "
            "is above 0: give log_softmax of the scores"
        )
