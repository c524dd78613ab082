"""The noisy channel: an n-best list sorted again, by what reads well and explains the source."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class HasLogProb(Protocol):
    @property
    def log_prob(self) -> float: ...


H = TypeVar("H", bound=HasLogProb)


@dataclass(frozen=True)
class Reranked(Generic[H]):
    """A hypothesis y for a source x, its new score and the log-probabilities it is made of."""

    hypothesis: H
    direct: float
    language: float
    channel: float
    score: float


def rerank(
    hypotheses: Sequence[H],
    language: Sequence[float],
    channel: Sequence[float],
    *,
    language_weight: float = 1.0,
    channel_weight: float = 1.0,
    direct_weight: float = 0.0,
) -> list[Reranked[H]]:
    """The hypotheses by log p(y) + log p(x|y), the best first; among equals, as they came.

    By Bayes' rule argmax_y p(y|x) = argmax_y p(y) p(x|y). `language` are log p(y) from a model
    of the target language, `channel` are log p(x|y) from a model that translates back. Each has
    a weight, and so has the direct model's log p(y|x), the hypotheses' own `log_prob`.
    """
    if not len(hypotheses) == len(language) == len(channel):
        raise ValueError(
            f"there are {len(hypotheses)} hypotheses, {len(language)} log p(y) and "
            f"{len(channel)} log p(x|y): give one of each for every hypothesis"
        )
    weights = (direct_weight, language_weight, channel_weight)
    if not all(map(math.isfinite, weights)):
        raise ValueError(f"weights are finite numbers, not {weights}")
    found = []
    for hypothesis, fluent, faithful in zip(hypotheses, language, channel, strict=True):
        parts = (hypothesis.log_prob, fluent, faithful)
        # A weight of 0 leaves a part out, even where its log-probability is -inf.
        score = sum(w * part for w, part in zip(weights, parts, strict=True) if w)
        if math.isnan(score):
            raise ValueError(f"log p(y|x), log p(y) and log p(x|y) are {parts}: NaN has no rank")
        found.append(Reranked(hypothesis, *parts, score))
    return sorted(found, key=lambda one: -one.score)
