"""What a search finds: hypotheses with their scores, the best first."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from unspool.decode.tree import Tree


@dataclass(frozen=True)
class Hypothesis:
    """One sequence that a search has found.

    `tokens` are without END. `log_probs` has one for each token, and one more for END where the
    hypothesis is `finished`; `score` is their sum, normalised.
    """

    tokens: list[int]
    log_probs: list[float]
    score: float
    finished: bool

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)


@dataclass(frozen=True)
class Found:
    """The hypotheses of each sentence, the best first; the trees of searches that were recorded."""

    hypotheses: list[list[Hypothesis]]
    trees: list[Tree] | None = None

    @property
    def best(self) -> list[Hypothesis]:
        return [found[0] for found in self.hypotheses]


class Scored(Protocol):
    @property
    def finished(self) -> bool: ...
    @property
    def score(self) -> float: ...


E = TypeVar("E", bound=Scored)


def ranked(ends: Iterable[E]) -> list[E]:
    """Finished ones before those that a limit cut off, by score; among equals, as they came."""
    return sorted(ends, key=lambda end: (not end.finished, -end.score))
