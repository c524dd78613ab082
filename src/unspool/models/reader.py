"""One reader of a classifier: from a padded batch of texts to scores.

    x_1 .. x_T -> embedding -> layers -> pooling -> linear     (+ a bag of n-grams)

Pooling is the last state (of both directions), the mean or maximum over time, or attention with
learned queries.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from unspool.attention import AttentionPooling
from unspool.layers.drop import Drop
from unspool.models.bag import Bag
from unspool.models.stack import ends, forget, run
from unspool.text import Vocabulary

POOLS = ("last", "mean", "max", "attention")


@dataclass(frozen=True)
class TextBatch:
    """Padded ids (T, B), lengths (B,), what to learn, (B,) or (B, K), and each row's n-grams."""

    ids: Tensor
    lengths: Tensor
    targets: Tensor
    grams: tuple[list[int], ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        return self.ids.shape[0], self.ids.shape[1]

    def to(self, device: Any) -> "TextBatch":
        given = (self.ids, self.lengths, self.targets)
        parts = (part.to(device, non_blocking=True) for part in given)
        return TextBatch(*parts, grams=self.grams)


class Reader(nn.Module):
    """`reader(batch)` gives scores (B, outputs). `settings` are a classifier's."""

    def __init__(self, settings: Any, vocabulary: Vocabulary, outputs: int, grams: int):
        super().__init__()
        self.settings = settings
        self.embed = settings.embed(vocabulary)
        self.layers = settings.build(self.embed.size, settings.bidirectional)
        size = self.layers.output_size
        pooled = settings.pool == "attention"
        self.attention = AttentionPooling(size, settings.queries) if pooled else None
        self.input_dropout = Drop(settings.input_dropout)
        self.dropout = Drop(settings.dropout)
        self.out = nn.Linear(size * (settings.queries if pooled else 1), outputs)
        self.bag = Bag(grams, outputs, settings.dropout) if settings.ngrams else None

    def forward(self, batch: TextBatch) -> Tensor:
        scores = self.read(batch.ids, batch.lengths)
        return scores if self.bag is None else scores + self.bag(batch.grams)

    def read(self, ids: Tensor, lengths: Tensor) -> Tensor:
        if self.training and self.settings.symbol_dropout:
            ids = forget(ids, self.settings.symbol_dropout)
        xs = self.input_dropout(self.embed(ids))
        ys, _ = run(self.layers, xs, lengths=lengths)
        return self.out(self.dropout(self.pool(ys, lengths)))

    def pool(self, ys: Tensor, lengths: Tensor) -> Tensor:
        """(T, B, O) to (B, O)."""
        if self.attention is not None:
            return self.attention(ys, lengths)[0]
        if self.settings.pool == "last":
            return ends(ys, lengths, self.settings.bidirectional)
        if self.settings.pool == "mean":
            return ys.sum(0) / lengths[:, None]
        steps = torch.arange(len(ys), device=ys.device)
        inside = (steps[:, None] < lengths)[..., None]
        return ys.masked_fill(~inside, -torch.inf).amax(0)
