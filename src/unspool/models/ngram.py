"""Counting as a language model: interpolated Kneser-Ney with modified discounts.

With h a history of k - 1 tokens and h' the same without its first token (Chen and Goodman 1999),

    p_k(w | h) = (c(h w) - D(c(h w))) / c(h .) + g(h) p_(k-1)(w | h')
    g(h) = sum_w D(c(h w)) / c(h .)

and p_0 is uniform. At the highest order c counts occurrences; below it c(h w) is the number of
different tokens seen before h w. A sequence begins with START, before which nothing can stand:
histories end there, and an n-gram that begins with START counts its occurrences at every order.
A history never seen leaves everything to the next shorter one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unspool.text.vocabulary import START

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KneserNey:
    """`KneserNey.learn(sequences, order, size)`, then `log_probs(sequence)`."""

    order: int
    size: int
    levels: "tuple[Level, ...]"

    @classmethod
    def learn(cls, ids: Sequence[Sequence[int]], order: int, size: int) -> "KneserNey":
        """From sequences of token ids below `size`, with histories of up to `order - 1` tokens."""
        if order < 1:
            raise ValueError(f"the order of an n-gram model is at least 1, not {order}")
        if size <= START:
            raise ValueError(f"size is that of the vocabulary, above {START}, not {size}")
        tokens, depth = _lay_out(ids, size)
        grams = [_unigrams(tokens, depth, size)]
        while len(grams) < order:
            grams.append(_longer(grams[-1], tokens, depth, len(grams) + 1, size))
        levels = []
        for below, gram, longer in zip([None, *grams], grams, [*grams[1:], None], strict=False):
            counts = _counts(gram, longer)
            histories = gram.keys // size if below else np.zeros(size, np.int64)
            levels.append(_level(gram.keys, counts, histories, len(below.keys) if below else 1))
        return cls(order, size, tuple(levels))

    def to_plain(self) -> dict[str, Any]:
        """Numbers and tensors, for a file."""
        levels = [[*map(torch.from_numpy, vars(level).values())] for level in self.levels]
        return {"order": self.order, "size": self.size, "levels": levels}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "KneserNey":
        """Of what `to_plain` gave. It comes from a file, and is checked before it is indexed."""
        levels = tuple(Level(*(part.numpy() for part in parts)) for parts in plain["levels"])
        histories = 1
        for level in levels:
            level.check(histories)
            histories = len(level.keys)
        if not levels or len(levels[0].keys) != plain["size"] or len(levels) != plain["order"]:
            raise ValueError("the tables of n-grams are not those of their order and size")
        return cls(len(levels), len(levels[0].keys), levels)

    def log_probs(self, sequence: Sequence[int]) -> list[float]:
        """The natural logarithm of each token's probability, given those before it."""
        tokens, _ = _lay_out([sequence], self.size)
        probs = self.levels[0].rest[0] / self.size + self.levels[0].own[tokens[1:]]
        grams = tokens  # the n-gram of the level below that ends at each position; -1 is unseen
        for k, level in enumerate(self.levels[1:], start=2):
            here = slice(k - 1, None)
            histories = grams[:-1]
            grams = _find(level.keys, histories, tokens[here], self.size)
            probs[k - 2 :] = level.own[grams] + level.rest[histories] * probs[k - 2 :]
        return np.log(probs).tolist()


@dataclass(frozen=True)
class Level:
    """One order: for each n-gram the part of p that is its own, for each history g.

    The key of an n-gram is its history's number at the level below times `size` plus its last
    token; its own number is its place among the keys. Level 1 has every token, seen or not.
    The number of what was never seen is -1, so `own` ends with a 0 and `rest` with a 1.
    """

    keys: Ints
    own: Floats
    rest: Floats

    def check(self, histories: int) -> None:
        """Refuses arrays of other kinds and lengths than `learn` makes for so many histories."""
        kinds = [array.dtype for array in (self.keys, self.own, self.rest)]
        shapes = [array.shape for array in (self.keys, self.own, self.rest)]
        n = len(self.keys)
        right = [(n,), (n + 1,), (histories + 1,)]
        if kinds != [np.int64, np.float64, np.float64] or shapes != right:
            raise ValueError(f"a table of {n:,} n-grams has arrays of {shapes} of {kinds}")
        shares = all(((array >= 0) & (array <= 1)).all() for array in (self.own, self.rest))
        if not shares or (np.diff(self.keys) <= 0).any():
            raise ValueError(f"a table of {n:,} n-grams has no shares of probability in it")


@dataclass(frozen=True)
class _Grams:
    """The n-grams of one order: `ending` (one per position, -1 if none), and one position of each.

    `opening` is True for those that begin with START.
    """

    keys: Ints
    ending: Ints
    one: Ints
    opening: NDArray[np.bool_]
    occurrences: Ints


def _lay_out(ids: Sequence[Sequence[int]], size: int) -> tuple[Ints, Ints]:
    """All sequences in a row, START before each, and each token's place in its sequence."""
    lengths = np.array([len(sequence) for sequence in ids], np.int64)
    total = int(lengths.sum())
    given = np.fromiter(chain.from_iterable(ids), np.int64, total)
    if total and not 0 <= given.min() <= given.max() < size:
        wrong = given.min() if given.min() < 0 else given.max()
        raise ValueError(f"token id {wrong}: ids run from 0 to size - 1 = {size - 1}")
    starts = np.cumsum(lengths) - lengths
    tokens = np.insert(given, starts, START)
    first = np.repeat(starts + np.arange(len(ids)), lengths + 1)
    return tokens, np.arange(len(tokens)) - first


def _unigrams(tokens: Ints, depth: Ints, size: int) -> _Grams:
    """Every token is its own number; START before a sequence is a history and no occurrence."""
    keys = np.arange(size)
    occurrences = np.bincount(tokens[depth > 0], minlength=size)
    return _Grams(keys, tokens, keys, keys == START, occurrences)


def _longer(below: _Grams, tokens: Ints, depth: Ints, k: int, size: int) -> _Grams:
    """The n-grams of order k: those below, each with the token that follows it."""
    at = np.flatnonzero(depth >= k - 1)
    keys, one, number, occurrences = np.unique(
        below.ending[at - 1] * size + tokens[at],
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    ending = np.full(len(tokens), -1)
    ending[at] = number
    return _Grams(keys, ending, at[one], tokens[at[one] - k + 1] == START, occurrences)


def _counts(gram: _Grams, longer: _Grams | None) -> Ints:
    if longer is None:
        return gram.occurrences
    kinds = np.bincount(gram.ending[longer.one], minlength=len(gram.keys))
    return np.where(gram.opening, gram.occurrences, kinds)


def _level(keys: Ints, counts: Ints, histories: Ints, below: int) -> Level:
    taken = _discounts(counts)[np.minimum(counts, 3)]
    total = np.bincount(histories, counts, below)
    followed = total > 0
    rest = np.ones(below + 1)
    np.divide(np.bincount(histories, taken, below), total, out=rest[:-1], where=followed)
    own = np.zeros(len(keys) + 1)
    np.divide(counts - taken, total[histories], out=own[:-1], where=followed[histories])
    return Level(keys, own, rest)


def _discounts(counts: Ints) -> Floats:
    """What is taken from a count of 0, 1, 2, and 3 or more."""
    n1, n2, n3, n4 = (int((counts == n).sum()) for n in (1, 2, 3, 4))
    if n1 and n2 and n3 and n4:
        y = n1 / (n1 + 2 * n2)
        found = np.array([0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3])
        if (found[1:] > 0).all():
            return found
    # Too few counts to estimate from, or too strange: something must be left for unseen tokens.
    return np.array([0.0, 0.5, 1.0, 1.5])


def _find(keys: Ints, histories: Ints, tokens: Ints, size: int) -> Ints:
    """The number of each n-gram, -1 where it was never seen."""
    wanted = np.where(histories >= 0, histories * size + tokens, -1)
    at = np.searchsorted(keys, wanted)
    found = at < len(keys)
    found[found] = keys[at[found]] == wanted[found]
    return np.where(found, at, -1)
