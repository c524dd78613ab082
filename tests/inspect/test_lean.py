"""How units lean: exact scores against slow ones, equal values among them."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.inspect.slow_scores import drawn, slow_auc, slow_correlation, slow_ranks
from unspool.inspect.lean import midranks, unit_scores
from unspool.inspect.properties import Kind


@pytest.mark.parametrize("levels", [0, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_the_slow_ones(levels: int, seed: int) -> None:
    values = drawn(40, 7, levels=levels, seed=seed)
    values[:, 3] = 1.5
    labels = drawn(40, 2, levels=3, seed=100 + seed)
    yes = (labels[:, 0] > 0).double().numpy()
    asked: list[tuple[Kind, np.ndarray, Callable[..., float]]] = [
        ("yes/no", yes, slow_auc),
        ("number", labels[:, 1].numpy(), slow_correlation),
    ]
    for kind, given, score in asked:
        found = unit_scores(values, given, kind)
        expected = [score(column.tolist(), given.tolist()) for column in values.t()]
        assert found.tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("levels", [0, 1, 4])
def test_midranks_are_the_slow_ones(levels: int) -> None:
    rows = drawn(5, 23, levels=levels)
    assert midranks(rows).tolist() == [slow_ranks(row.tolist()) for row in rows]
    assert midranks(rows[:, :1]).tolist() == [[1.0]] * 5
