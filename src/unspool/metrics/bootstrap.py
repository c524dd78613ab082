"""Whether one system's BLEU is higher than another's by more than the luck of the sentences.

Sentences are drawn with replacement, the same ones for both systems, and BLEU is computed of each
draw. Koehn 2004; the p-value as Riezler and Maxwell 2005 compute it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unspool.metrics.bleu import score_of, statistics
from unspool.metrics.references import References

WITHIN = (2.5, 97.5)  # per cent: between them lie 95 of 100


@dataclass(frozen=True)
class Difference:
    """BLEU of two systems; how much higher ours is, with its 95% interval and p-value."""

    ours: float
    theirs: float
    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Contrast:
    """The difference in two groups of sentences; how much larger it is in the first."""

    inside: Difference
    outside: Difference
    difference: float
    low: float
    high: float
    p: float


def paired_bootstrap(
    references: References,
    ours: Sequence[str],
    theirs: Sequence[str],
    *,
    samples: int = 1000,
    seed: int = 0,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> Difference:
    """The difference of two systems' BLEU on the same sentences.

    p is how often chance alone, the draws moved to a mean of 0, differs by at least as much.
    """
    draw = _generator(samples, seed)
    stats = _both(references, ours, theirs, lowercase, tokenize)
    return _difference(stats, _drawn(stats, samples, draw))


def contrast_groups(
    references: References,
    ours: Sequence[str],
    theirs: Sequence[str],
    inside: Sequence[bool],
    *,
    samples: int = 1000,
    seed: int = 0,
    tokenize: str = "13a",
) -> Contrast:
    """The difference of differences: is ours better by more in one group, such as long sentences?

    `inside` says of each sentence whether it is in the first group. Each group is drawn from by
    itself, as often as it has sentences.
    """
    chosen = np.asarray(inside, dtype=bool)
    if len(chosen) != len(ours):
        raise ValueError(f"{len(chosen)} marks for {len(ours)} sentences: give one for each")
    if chosen.all() or not chosen.any():
        raise ValueError("all sentences are in one group: a contrast needs two")
    draw = _generator(samples, seed)
    stats = _both(references, ours, theirs, False, tokenize)
    groups = [stats[:, chosen], stats[:, ~chosen]]
    drawn = [_drawn(group, samples, draw) for group in groups]
    first, second = (_difference(g, d) for g, d in zip(groups, drawn, strict=True))
    gap = first.difference - second.difference
    apart = drawn[0] - drawn[1]
    return Contrast(first, second, gap, *_within(apart), _p(gap, apart))


def _generator(samples: int, seed: int) -> np.random.Generator:
    if samples < 1:
        raise ValueError(f"samples is how many draws are made, 1 or more; got {samples}")
    return np.random.default_rng(seed)


def _both(
    references: References,
    ours: Sequence[str],
    theirs: Sequence[str],
    lowercase: bool,
    tokenize: str,
) -> np.ndarray:
    """(2, sentences, statistics)."""
    return np.stack([statistics(references, s, lowercase, tokenize) for s in (ours, theirs)])


def _drawn(stats: np.ndarray, samples: int, draw: np.random.Generator) -> np.ndarray:
    """The difference in each draw, (samples,)."""
    size = stats.shape[1]
    found = []
    for _ in range(samples):
        times = np.bincount(draw.integers(size, size=size), minlength=size)
        one, other = (score_of(times @ side) for side in stats)
        found.append(one - other)
    return np.array(found)


def _difference(stats: np.ndarray, drawn: np.ndarray) -> Difference:
    ours, theirs = (score_of(side.sum(0)) for side in stats)
    gap = ours - theirs
    return Difference(ours, theirs, gap, *_within(drawn), _p(gap, drawn))


def _within(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.percentile(drawn, WITHIN)
    return float(low), float(high)


def _p(gap: float, drawn: np.ndarray) -> float:
    """Two-sided; the sample itself counts as one draw, so that p is never 0."""
    by_chance = np.abs(drawn - drawn.mean()) >= abs(gap)
    return float((1 + by_chance.sum()) / (1 + len(drawn)))
