"""What attention asks of a score: keys made ready once, then a number for every query and key."""

from abc import ABC, abstractmethod

from torch import Tensor, nn


class Score(nn.Module, ABC):
    """`scores = score(queries, score.keys(memory))`.

    memory (..., K, key_size) gives prepared keys (..., K, D); with queries (..., Q, query_size)
    they give scores (..., Q, K). Every score is built as `Score(query_size, key_size, size)`;
    `size` is the inner size of its equation, and means nothing where the equation has none.
    """

    @abstractmethod
    def keys(self, memory: Tensor) -> Tensor:
        """What depends on the memory alone: computed once, however many queries follow."""

    @abstractmethod
    def forward(self, queries: Tensor, prepared: Tensor) -> Tensor:
        """How well each prepared key fits each query."""


def check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} is at least 1, not {size}")


def check_same_size(score: str, query_size: int, key_size: int) -> None:
    """For scores that have no parameters to get from one size to the other."""
    check_sizes(query_size=query_size, key_size=key_size)
    if query_size != key_size:
        raise ValueError(
            f"{score} compares a query with a key feature by feature, and queries have "
            f"{query_size} features, keys {key_size}: project the keys to {query_size}, or take "
            "the score `general`"
        )
