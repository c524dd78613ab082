"""The dot product as a score."""

from torch import Tensor

from unspool.attention.protocol import Score, check_same_size


class Dot(Score):
    """score(q, k) = q . k (Luong et al. 2015). It has no parameters."""

    def __init__(self, query_size: int, key_size: int, size: int = 0):
        super().__init__()
        check_same_size("dot", query_size, key_size)

    def keys(self, memory: Tensor) -> Tensor:
        return memory

    def forward(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return queries @ prepared.transpose(-2, -1)
