"""Batches: which examples go together, in which order.

The order of an epoch follows from the seed and the epoch's number alone, so that a position in
the data is two whole numbers: epoch and batch.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

B = TypeVar("B")
POOL = 50  # batches whose examples are sorted by length together


class Epoch(Generic[B]):
    """The batches of one epoch, each made when it is asked for."""

    def __init__(self, groups: Sequence[Any], make: Callable[[Any], B]):
        self.groups, self.make = groups, make

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, index: int) -> B:
        return self.make(self.groups[index])

    def __iter__(self) -> Iterator[B]:
        return map(self.make, self.groups)


class Bucketed(Generic[B]):
    """Batches of examples of about the same length, none above `tokens` with its padding.

    An example that is longer than that makes a batch of its own. Examples are shuffled, sorted
    by length within pools of some batches, cut by the budget, and the batches shuffled: little
    padding, and still an order of its own for each epoch.
    """

    def __init__(
        self,
        examples: Sequence[Any],
        lengths: Sequence[int],
        collate: Callable[[list[Any]], B],
        *,
        tokens: int,
        seed: int = 0,
    ):
        if not examples:
            raise ValueError("there is nothing to train on: the data has no examples")
        self.examples, self.collate = examples, collate
        self.lengths = np.maximum(np.asarray(lengths), 1)
        self.tokens, self.seed = tokens, seed

    def epoch(self, number: int) -> Epoch[B]:
        draw = np.random.default_rng([self.seed, number])
        order = draw.permutation(len(self.examples))
        share = max(1, int(POOL * self.tokens / self.lengths.mean()))
        groups: list[np.ndarray] = []
        for start in range(0, len(order), share):
            pool = order[start : start + share]
            groups += self.cut(pool[np.argsort(self.lengths[pool], kind="stable")])
        return Epoch([groups[k] for k in draw.permutation(len(groups))], self.make)

    def cut(self, order: np.ndarray) -> list[np.ndarray]:
        """Neighbours in rising length, as many as the budget takes."""
        groups, start = [], 0
        for index in range(len(order)):
            if (index + 1 - start) * self.lengths[order[index]] > self.tokens and index > start:
                groups.append(order[start:index])
                start = index
        return [*groups, order[start:]]

    def make(self, group: np.ndarray) -> B:
        return self.collate([self.examples[k] for k in group])


def in_order(
    examples: Sequence[Any], lengths: Sequence[int], tokens: int
) -> Iterator[tuple[list[int], list[Any]]]:
    """Batches for prediction, by length; each comes with the places its examples stood in."""
    if not examples:
        return
    whole = Bucketed(examples, lengths, lambda batch: batch, tokens=tokens)
    for group in whole.cut(np.argsort(whole.lengths, kind="stable")):
        yield [int(k) for k in group], [examples[k] for k in group]
