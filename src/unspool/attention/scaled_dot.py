"""The scaled dot product as a score of keys for queries."""

import math

from torch import Tensor

from unspool.attention.protocol import Score, check_same_size


def scaled_dot(queries: Tensor, keys: Tensor) -> Tensor:
    """score(q, k) = q . k / sqrt(D), D the size of a key (Vaswani et al. 2017).

    queries (..., Q, D) and keys (..., K, D) give scores (..., Q, K). The root keeps the variance
    of the scores at that of one feature, whatever D is.
    """
    D = keys.shape[-1]
    if queries.shape[-1] != D:
        raise ValueError(f"queries have {queries.shape[-1]} features and keys {D}: make them equal")
    return queries @ keys.transpose(-2, -1) / math.sqrt(D)


class ScaledDot(Score):
    """`scaled_dot` as a score that models can take. It has no parameters."""

    def __init__(self, query_size: int, key_size: int, size: int = 0):
        super().__init__()
        check_same_size("scaled_dot", query_size, key_size)

    def keys(self, memory: Tensor) -> Tensor:
        return memory

    def forward(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return scaled_dot(queries, prepared)
