"""How a language model would have guessed a text: the rank of every symbol that stands there.

What people write is full of symbols that a model ranks low; what a model writes is not (GLTR,
Gehrmann, Strobelt and Rush 2019).
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from unspool.models.language_model import LanguageModel
from unspool.models.speak import Score, parts, predictions, score
from unspool.text import SPECIALS, START

LIMITS = (1, 10, 100, 1000)


@dataclass(frozen=True)
class Within:
    """How many symbols rank up to `within`, and above the limit before it; None is no limit."""

    within: int | None
    count: int
    share: float


class Candidate(NamedTuple):
    """A symbol that could have stood there; `token` is how it is spelled, or its special name."""

    token: str
    probability: float


@dataclass(frozen=True)
class Ranks:
    """Every symbol of a text, in order; in a model of lines END too, where `start` is `end`."""

    symbols: list[Score]

    def in_text(self) -> "Ranks":
        """Without the ENDs, which are no part of the text."""
        return Ranks([one for one in self.symbols if one.start < one.end])

    @property
    def rank(self) -> list[int]:
        return [one.rank for one in self.symbols]

    @property
    def log_prob(self) -> list[float]:
        """Natural."""
        return [one.log_prob for one in self.symbols]

    @property
    def probability(self) -> list[float]:
        return [math.exp(one.log_prob) for one in self.symbols]

    @property
    def entropy(self) -> list[float]:
        """Of the prediction before each symbol was seen, in bits."""
        return [one.entropy / math.log(2) for one in self.symbols]

    @property
    def bits(self) -> float:
        """What a symbol costs in the mean: -log2 p."""
        nats = -math.fsum(self.log_prob)
        return nats / (max(1, len(self.symbols)) * math.log(2))

    @property
    def counts(self) -> list[Within]:
        """Within the top 1, 10, 100, 1000, and beyond: each symbol counts once."""
        found, before = [], 0
        for limit in (*LIMITS, None):
            upto = sum(limit is None or rank <= limit for rank in self.rank)
            share = (upto - before) / max(1, len(self.symbols))
            found.append(Within(limit, upto - before, share))
            before = upto
        return found


def token_ranks(model: Any, text: str, kind: str | None = None) -> Ranks:
    """Rank, probability and entropy of every symbol of the text, given those before it.

    A model of lines reads each line by itself. `kind` is the class that the text is of, for a
    model of classes.
    """
    _check(model)
    found: list[Score] = []
    for start, part in parts(model, text):
        scores = score(model, part, kind)
        found += [replace(one, start=one.start + start, end=one.end + start) for one in scores]
    return Ranks(found)


def candidates(
    model: Any, text: str, position: int, k: int = 10, kind: str | None = None
) -> list[Candidate]:
    """The k symbols that the model held likeliest at a position, the likeliest first.

    Positions count the symbols of the text from 0, END not among them; the one after the last
    asks what could come next.
    """
    _check(model)
    if k < 1:
        raise ValueError(f"k is how many candidates to give, 1 or more; got {k}")
    ids = _before(model, text, position)
    *_, last = predictions(model, ids, kind)
    values, tokens = last[-1].sort(descending=True, stable=True)
    pairs = zip(tokens[:k].tolist(), values[:k].exp().tolist(), strict=True)
    return [Candidate(_spelled(model, token), probability) for token, probability in pairs]


def _check(model: Any) -> None:
    if not isinstance(model, LanguageModel):
        raise ValueError(
            f"a {type(model).__name__} does not predict the next symbol: ranks need a language "
            "model (unspool train lm)"
        )


def _before(model: LanguageModel, text: str, position: int) -> list[int]:
    """The ids that are read before the symbol at this position."""
    rows = [model.codec.encode(part) for _, part in parts(model, text)] or [[]]
    size = sum(map(len, rows))
    if not 0 <= position <= size:
        raise ValueError(
            f"position {position} is not in the text: its symbols are 0 to {size - 1}, and {size} "
            "is what could come next"
        )
    for ids in rows[:-1]:
        if position < len(ids):
            return [START, *ids[:position]]
        position -= len(ids)
    return [START, *rows[-1][:position]]


def _spelled(model: LanguageModel, token: int) -> str:
    return SPECIALS[token] if token < len(SPECIALS) else model.codec.decode([token])
