"""Attention of queries to a memory that was read before, a source sentence for example.

Plain, the memory m is both keys and values:

    w_qj = softmax_j score(q, m_j),  context_q = sum_j w_qj m_j

Extended, queries, keys and values are projected, and each head reads its own share of them:

    w_qj = softmax_j score(W_q q, W_k m_j),  context_q = W_o sum_j w_qj W_v m_j
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from unspool.attention.mask import readable
from unspool.attention.protocol import check_sizes
from unspool.attention.scores import SCORES
from unspool.attention.weights import weigh


class Memory(NamedTuple):
    """What is read, made ready once. Every field's first dimension is the sentence.

    keys (B, K, D) are the score's prepared keys, values (B, K, V), and mask (B, K) is True where
    there is something to read. With several heads keys and values are (B, heads, K, .).
    """

    keys: Tensor
    values: Tensor
    mask: Tensor


class Attention(nn.Module):
    """`context, weights = attention(queries, attention.remember(memory, lengths))`.

    queries (B, Q, query_size) give the context (B, Q, output_size) and the weights (B, Q, K),
    their mean where there are several heads. A query is a step of the target, or a beam of its
    sentence: the memory is not copied for beams.

    `score` is a name of `SCORES`. `size` is its inner size, for `location` the largest number of
    places; 0 is the query size. `project` is the extended form (Vaswani et al. 2017): `size`
    features are projected without bias and split among the `heads`, which share one score of
    size / heads features. Several heads are always projected.
    """

    def __init__(
        self,
        score: str,
        query_size: int,
        memory_size: int,
        *,
        size: int = 0,
        heads: int = 1,
        project: bool = False,
    ):
        super().__init__()
        project = project or heads > 1
        _check(score, size, project)
        size = size or query_size
        check_sizes(query_size=query_size, memory_size=memory_size, size=size, heads=heads)
        if size % heads:
            raise ValueError(
                f"{heads} heads cannot share {size} features: make size a multiple of heads"
            )
        self.query_size, self.memory_size, self.heads = query_size, memory_size, heads
        self.output_size = size if project else memory_size
        sizes = (size // heads,) * 3 if project else (query_size, memory_size, size)
        self.score = SCORES[score](*sizes)
        self.W_q = nn.Linear(query_size, size, bias=False) if project else nn.Identity()
        self.W_k = nn.Linear(memory_size, size, bias=False) if project else nn.Identity()
        self.W_v = nn.Linear(memory_size, size, bias=False) if project else nn.Identity()
        self.W_o = nn.Linear(size, size, bias=False) if project else nn.Identity()

    def remember(self, memory: Tensor, lengths: Tensor | Sequence[int] | None = None) -> Memory:
        """What does not depend on queries, from memory (K, B, memory_size).

        What stands past a row's end, NaN included, changes nothing.
        """
        if memory.ndim != 3 or memory.shape[2] != self.memory_size:
            raise ValueError(
                f"the memory has shape {tuple(memory.shape)}; expected (K, B, {self.memory_size})"
            )
        mask, rows = readable(memory, lengths), memory.transpose(0, 1)
        if lengths is not None:
            rows = torch.where(mask[..., None], rows, 0)
        # Every step of decoding reads them: in order, so that no product makes its own copy.
        rows = rows.contiguous()
        keys, values = self._split(self.W_k(rows)), self._split(self.W_v(rows))
        return Memory(self.score.keys(keys).contiguous(), values.contiguous(), mask)

    def forward(self, queries: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        context, weights = self.by_head(queries, memory)
        return context, weights[:, 0] if self.heads == 1 else weights.mean(1)

    def by_head(self, queries: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """The same context, and the weights of each head, (B, heads, Q, K)."""
        B = len(memory.mask)
        if queries.ndim != 3 or len(queries) != B or queries.shape[2] != self.query_size:
            raise ValueError(
                f"queries have shape {tuple(queries.shape)}; expected ({B}, Q, {self.query_size}), "
                "a sentence of the memory each row: view the beams of a sentence as its queries"
            )
        scores = self.score(self._split(self.W_q(queries)), memory.keys)
        mask = memory.mask[:, None] if self.heads == 1 else memory.mask[:, None, None]
        weights = weigh(scores, mask)
        context = self._join(weights @ memory.values)
        return self.W_o(context), weights[:, None] if self.heads == 1 else weights

    def _split(self, xs: Tensor) -> Tensor:
        """(B, N, size) to (B, heads, N, size / heads), where there are several."""
        return xs if self.heads == 1 else xs.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _join(self, xs: Tensor) -> Tensor:
        return xs if self.heads == 1 else xs.transpose(1, 2).flatten(2)


def _check(score: str, size: int, project: bool) -> None:
    if score not in SCORES:
        raise ValueError(f"the score is one of {', '.join(SCORES)}, not {score!r}")
    if score != "location":
        return
    if size == 0:
        raise ValueError("location needs a size: the largest number of places in a memory")
    if project:
        raise ValueError(
            "location cannot be projected or have several heads: its size is the number of "
            "places, and it does not look at keys; take another score, or project=False, heads=1"
        )
