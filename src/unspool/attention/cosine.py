"""The cosine as a score: addressing by content."""

import torch
from torch import Tensor, nn

from unspool.attention.protocol import Score, check_same_size


class Cosine(Score):
    """score(q, k) = b cos(q, k), cos(q, k) = q . k / (|q| |k|) (Graves et al. 2014).

    A cosine by itself lies between -1 and 1, too little to tell one key of many: no weight could
    be more than e^2 = 7.4 times another. So the sharpness b > 0 is learned, as
    exp(log_sharpness); it starts at 1, the plain cosine. A vector of zeros has cosine 0 with all.
    """

    def __init__(self, query_size: int, key_size: int, size: int = 0):
        super().__init__()
        check_same_size("cosine", query_size, key_size)
        self.log_sharpness = nn.Parameter(torch.zeros(()))

    def keys(self, memory: Tensor) -> Tensor:
        return _unit(memory)

    def forward(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return (_unit(queries) * self.log_sharpness.exp()) @ prepared.transpose(-2, -1)


def _unit(vectors: Tensor) -> Tensor:
    """v / |v|, and 0 for 0: a first state is often zeros, and its gradient has to be finite."""
    length = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / length.masked_fill(length == 0, 1)
