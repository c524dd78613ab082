"""A bag of n-grams: counting beside reading.

    scores = sum over the n-grams g of the text of w_g

A linear layer over which n-grams of symbols a text has, wherever they stand. By itself it is a
strong baseline on short texts; added to a recurrent classifier's scores it remembers the pieces
that give a class away.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import torch
from torch import Tensor, nn

from unspool.layers.drop import drop

Gram = tuple[int, ...]


def grams(ids: Sequence[int], longest: int) -> Iterator[Gram]:
    """Every n-gram of one up to `longest` symbols."""
    for size in range(1, longest + 1):
        for start in range(len(ids) - size + 1):
            yield tuple(ids[start : start + size])


class Grams:
    """The n-grams that are known, and their numbers."""

    def __init__(self, known: Sequence[Gram]):
        self.known = list(known)
        self.number = {gram: k for k, gram in enumerate(self.known)}
        self.longest = max(map(len, self.known), default=0)

    @staticmethod
    def learn(rows: Iterable[Sequence[int]], longest: int, least: int = 2) -> list[Gram]:
        """Those that occur at least twice, the most frequent first."""
        counts = Counter(chain.from_iterable(grams(row, longest) for row in rows))
        kept = [gram for gram, count in counts.items() if count >= least]
        return sorted(kept, key=lambda gram: (-counts[gram], gram))

    def numbers(self, ids: Sequence[int]) -> list[int]:
        """Of the n-grams of a row; unknown ones are left out."""
        return [self.number[gram] for gram in grams(ids, self.longest) if gram in self.number]


class Bag(nn.Module):
    """`bag(rows)` gives scores (B, outputs) from the numbers of each row's n-grams.

    In training each n-gram of a text is left out with probability `dropout`.
    """

    def __init__(self, known: int, outputs: int, dropout: float):
        super().__init__()
        self.dropout = dropout
        self.weight = nn.Parameter(torch.zeros(max(1, known), outputs))

    def forward(self, rows: Sequence[Sequence[int]]) -> Tensor:
        device = self.weight.device
        flat = torch.tensor(list(chain.from_iterable(rows)), dtype=torch.long, device=device)
        starts = torch.tensor([0, *map(len, rows)], device=device).cumsum(0)[:-1]
        kept = torch.ones(len(flat), dtype=self.weight.dtype, device=device)
        if self.training:
            kept = drop(kept, self.dropout, True)
        return nn.functional.embedding_bag(
            flat, self.weight, starts, mode="sum", per_sample_weights=kept
        )
