"""The location-based score: places chosen by the query alone."""

from torch import Tensor, nn

from unspool.attention.protocol import Score, check_sizes


class Location(Score):
    """score(q, k_j) = (W q)_j: the weights are softmax(W q) (Luong et al. 2015).

    What stands at a place does not matter, so every place needs its row of W: `size` is the
    largest number of places, and a longer memory is an error.
    """

    def __init__(self, query_size: int, key_size: int, size: int):
        super().__init__()
        check_sizes(query_size=query_size, key_size=key_size, size=size)
        self.W = nn.Linear(query_size, size, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        """No features: only how many places there are is of use."""
        places, known = memory.shape[-2], self.W.out_features
        if places > known:
            raise ValueError(
                f"the memory has {places} places, and this score by location knows {known}: build "
                f"it with size={places} or more, shorten what is read, or take another score"
            )
        return memory[..., :0]

    def forward(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return nn.functional.linear(queries, self.W.weight[: prepared.shape[-2]])
