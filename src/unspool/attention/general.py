"""The general, or bilinear, score: a dot product through a matrix."""

from torch import Tensor, nn

from unspool.attention.protocol import Score, check_sizes


class General(Score):
    """score(q, k) = q . W k, W of query_size x key_size (Luong et al. 2015)."""

    def __init__(self, query_size: int, key_size: int, size: int = 0):
        super().__init__()
        check_sizes(query_size=query_size, key_size=key_size)
        self.W = nn.Linear(key_size, query_size, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        return self.W(memory)

    def forward(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return queries @ prepared.transpose(-2, -1)
