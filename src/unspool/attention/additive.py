"""The additive score: a small network that reads a query and a key."""

import torch
from torch import Tensor, nn

from unspool.attention.protocol import Score, check_sizes

# Numbers in one block of tanh on a CPU. In one piece, tens of megabytes that come fresh from the
# system each time, a batch of 64 pairs of 30 words took 2.2 times as long, with its gradient.
BLOCK = 2**19


class Additive(Score):
    """score(q, k) = v . tanh(W_q q + W_k k) (Bahdanau et al. 2015).

    The notes write v . tanh(W [q; k]): W_q and W_k are the two halves of that W, so that W_k k
    is computed once for all queries.
    """

    def __init__(self, query_size: int, key_size: int, size: int):
        super().__init__()
        check_sizes(query_size=query_size, key_size=key_size, size=size)
        self.W_q = nn.Linear(query_size, size, bias=False)
        self.W_k = nn.Linear(key_size, size, bias=False)
        self.v = nn.Parameter(torch.empty(size))
        nn.init.uniform_(self.v, -(size**-0.5), size**-0.5)

    def keys(self, memory: Tensor) -> Tensor:
        return self.W_k(memory)

    def forward(self, queries: Tensor, prepared: Tensor) -> Tensor:
        queries = self.W_q(queries)
        block = queries.shape[-2]
        if queries.device.type == "cpu":
            block = min(block, max(1, BLOCK // max(1, prepared.numel())))
        if block == queries.shape[-2]:
            return self._scores(queries, prepared)
        return torch.cat([self._scores(some, prepared) for some in queries.split(block, -2)], -2)

    def _scores(self, queries: Tensor, prepared: Tensor) -> Tensor:
        both = queries[..., :, None, :] + prepared[..., None, :, :]
        return both.tanh_() @ self.v
