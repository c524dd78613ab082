"""Every score of the table, against its equation in plain Python."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from unspool.attention import SCORES, Additive, Cosine, Location, Score, additive

Vector = Sequence[float]
# Of query, key and inner vector (0 where there is none); location has 5 places.
SIZES = {
    "additive": (4, 3, 6),
    "dot": (4, 4, 0),
    "scaled_dot": (4, 4, 0),
    "general": (4, 3, 0),
    "reduced_rank": (4, 3, 2),
    "cosine": (4, 4, 0),
    "location": (4, 3, 5),
}
NAMES = pytest.mark.parametrize("name", SCORES)


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def times(matrix: Any, vector: Vector) -> list[float]:
    return [dot(row, vector) for row in matrix.weight.tolist()]


def tanh_of_both(s: Any, q: Vector, k: Vector) -> float:
    sums = [a + b for a, b in zip(times(s.W_q, q), times(s.W_k, k), strict=True)]
    return dot(s.v.tolist(), [math.tanh(x) for x in sums])


def angle(s: Any, q: Vector, k: Vector) -> float:
    return math.exp(float(s.log_sharpness)) * dot(q, k) / (math.hypot(*q) * math.hypot(*k))


# score(q, k_j) from the module's parameters, the query, the key and j.
SLOW: dict[str, Callable[[Any, Vector, Vector, int], float]] = {
    "additive": lambda s, q, k, j: tanh_of_both(s, q, k),
    "dot": lambda s, q, k, j: dot(q, k),
    "scaled_dot": lambda s, q, k, j: dot(q, k) / math.sqrt(len(k)),
    "general": lambda s, q, k, j: dot(q, times(s.W, k)),
    "reduced_rank": lambda s, q, k, j: dot(times(s.U, q), times(s.V, k)),
    "cosine": lambda s, q, k, j: angle(s, q, k),
    "location": lambda s, q, k, j: times(s.W, q)[j],
}


def draw(name: str, *rows: int) -> tuple[Score, Tensor, Tensor]:
    """A score, 2 queries and 5 keys for each of the rows."""
    query_size, key_size, size = SIZES[name]
    score = SCORES[name](query_size, key_size, size).double()
    if isinstance(score, Cosine):
        torch.nn.init.constant_(score.log_sharpness, 0.7)
    queries, memory = torch.randn(*rows, 2, query_size), torch.randn(*rows, 5, key_size)
    return score, queries.double(), memory.double()


def test_every_score_has_its_equation_here() -> None:
    assert set(SLOW) == set(SIZES) == set(SCORES)


@NAMES
@torch.no_grad()
def test_equals_its_equation(name: str) -> None:
    score, queries, memory = draw(name, 3)
    found = score(queries, score.keys(memory))
    assert found.shape == (3, 2, 5)
    for b in range(3):
        for i, q in enumerate(queries[b].tolist()):
            for j, k in enumerate(memory[b].tolist()):
                assert float(found[b, i, j]) == pytest.approx(SLOW[name](score, q, k, j))


@NAMES
@torch.no_grad()
def test_more_dimensions_are_more_rows(name: str) -> None:
    score, queries, memory = draw(name, 3, 2)
    flat = score(queries.flatten(0, 1), score.keys(memory.flatten(0, 1)))
    found = score(queries, score.keys(memory))
    torch.testing.assert_close(found, flat.unflatten(0, (3, 2)))


@NAMES
def test_gradients_are_those_of_the_equation(name: str) -> None:
    score, queries, memory = draw(name, 2)
    leaves = [queries.requires_grad_(), memory.requires_grad_(), *score.parameters()]
    assert torch.autograd.gradcheck(lambda q, m, *_: score(q, score.keys(m)), leaves)


def test_blocks_of_queries_are_all_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    score = Additive(4, 3, 6).double()
    queries, memory = torch.randn(2, 7, 4).double(), torch.randn(2, 5, 3).double()
    found = []
    for block in (10**9, 130, 1):  # all 7 queries, 2 at a time, 1 at a time
        monkeypatch.setattr(additive, "BLOCK", block)
        score.zero_grad()
        scores = score(queries, score.keys(memory))
        scores.sin().sum().backward()
        found.append([scores, *(p.grad for p in score.parameters())])
    for other in found[1:]:
        torch.testing.assert_close(found[0], other)


def test_zeros_have_no_direction() -> None:
    queries, memory = torch.zeros(1, 4, requires_grad=True), torch.randn(3, 4)
    memory[1] = 0
    score = Cosine(4, 4)
    scores = score(queries, score.keys(memory.requires_grad_()))
    assert not scores.any()
    scores.sum().backward()
    assert queries.grad is not None
    assert queries.grad.norm() < 4


def test_a_memory_longer_than_the_places_is_said() -> None:
    score = Location(4, 3, 5)
    assert score(torch.randn(1, 4), score.keys(torch.randn(2, 3))).shape == (1, 2)
    with pytest.raises(ValueError, match=r"6 places, .* knows 5: build it with size=6 or more"):
        score.keys(torch.randn(6, 3))


@pytest.mark.parametrize("name", ["dot", "scaled_dot", "cosine"])
def test_sizes_that_cannot_be_compared_are_said(name: str) -> None:
    with pytest.raises(ValueError, match=r"keys 3: project the keys to 4, or .*general"):
        SCORES[name](4, 3, 0)


@NAMES
def test_sizes_are_at_least_1(name: str) -> None:
    with pytest.raises(ValueError, match="key_size is at least 1, not 0"):
        SCORES[name](4, 0, 5)
    if SIZES[name][2]:
        with pytest.raises(ValueError, match="size is at least 1, not 0"):
            SCORES[name](4, 3, 0)
