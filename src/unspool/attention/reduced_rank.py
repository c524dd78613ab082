"""The reduced-rank score: the general one with fewer parameters."""

from torch import Tensor, nn

from unspool.attention.protocol import Score, check_sizes


class ReducedRank(Score):
    """score(q, k) = (U q) . (V k), that is q . W k with W = U^T V of rank `size` at most.

    It has size * (query_size + key_size) parameters where `general` has query_size * key_size.
    From Stanford's course CS224n; scaled, it is one head of Vaswani et al. 2017.
    """

    def __init__(self, query_size: int, key_size: int, size: int):
        super().__init__()
        check_sizes(query_size=query_size, key_size=key_size, size=size)
        self.U = nn.Linear(query_size, size, bias=False)
        self.V = nn.Linear(key_size, size, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        return self.V(memory)

    def forward(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return self.U(queries) @ prepared.transpose(-2, -1)
