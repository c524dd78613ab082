"""Nearest states: against a plain loop over all of them."""

import math

import pytest
import torch
from torch import Tensor

from unspool.inspect import neighbours
from unspool.inspect.neighbours import nearest


def distance(a: list[float], b: list[float], metric: str) -> float:
    if metric == "euclidean":
        return math.dist(a, b)
    lengths = math.hypot(*a) * math.hypot(*b)
    return 1 - math.fsum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 1.0


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("gap", [0, 1, 5])
@pytest.mark.parametrize("block", [1, 20, 10**6])
def test_against_a_loop(
    metric: neighbours.Metric, gap: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "BLOCK", block)
    states = torch.randn(30, 4, dtype=torch.float64)
    states[[3, 17]] = 0.0
    states[20] = states[8]
    rows = states.tolist()
    queries: list[Tensor | int] = [0, 8, 17, 29, -1, torch.randn(4, dtype=torch.float64)]
    for query in queries:
        at = query % 30 if isinstance(query, int) else None
        aim = rows[at] if at is not None else torch.as_tensor(query).tolist()
        far = [n for n in range(30) if at is None or abs(n - at) > gap]
        ranked = sorted(far, key=lambda n: (round(distance(rows[n], aim, metric), 12), n))
        found = nearest(states, query, 7, gap=gap, metric=metric)
        assert [one.at for one in found] == ranked[:7]
        for one in found:
            assert one.distance == pytest.approx(distance(rows[one.at], aim, metric), abs=1e-12)


def test_what_is_close_comes_out_exactly() -> None:
    """Far from the origin a difference of squares would see no difference."""
    states = torch.tensor([[1e8, 1.0], [1e8, 1.25], [1e8, 1.0625]], dtype=torch.float64)
    found = nearest(states, torch.tensor([1e8, 1.0], dtype=torch.float64), 3)
    assert [(one.at, one.distance) for one in found] == [(0, 0.0), (2, 0.0625), (1, 0.25)]


def test_fewer_where_there_are_no_more() -> None:
    states = torch.randn(4, 3)
    assert sorted(one.at for one in nearest(states, 0, 10)) == [2, 3]
    assert nearest(states, 1, 10, gap=3) == []
    assert len(nearest(states, states[0], 10)) == 4
    assert nearest(states, torch.tensor(2), 10) == nearest(states, 2, 10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": torch.zeros(3)}, r"\(N, S\)"),
        ({"query": 5}, "places 0 to 4"),
        ({"query": "h"}, "got str"),
        ({"query": torch.zeros(2)}, "3 units"),
        ({"query": torch.tensor([torch.nan, 0, 0])}, "near to nothing"),
        ({"states": torch.tensor([[0.0] * 3, [torch.inf] * 3, [torch.nan] * 3])}, "state 2"),
        ({"k": 0}, "k=0"),
        ({"gap": -1}, "gap=-1"),
        ({"metric": "manhattan"}, "manhattan"),
    ],
)
def test_what_is_refused(change: dict, message: str) -> None:
    given = {"states": torch.randn(5, 3), "query": 0, "k": 2} | change
    with pytest.raises(ValueError, match=message):
        nearest(**given)
