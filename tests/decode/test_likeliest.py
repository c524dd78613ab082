import math

import pytest
import torch

from unspool.decode.likeliest import CHUNK, likeliest


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("V", [1, 3, 100, 20 * CHUNK, 30 * CHUNK + 7])
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("levels", [3, 40, None])
def test_they_are_the_first_of_a_stable_sort(
    dtype: torch.dtype, V: int, count: int, levels: int | None
) -> None:
    """Few levels are many ties; None is no ties, but for bfloat16's own."""
    log_probs = torch.randn(50, V)
    if levels is not None:
        log_probs = (torch.rand(50, V) * levels).floor()
    log_probs = log_probs.to(dtype)
    log_probs[torch.rand(50, V) < 0.1] = -torch.inf
    values, tokens = likeliest(log_probs, count)
    expected, places = log_probs.sort(dim=1, descending=True, stable=True)
    for row in range(50):
        found = {(t, v) for t, v in zip(tokens[row].tolist(), values[row].tolist(), strict=True)}
        first = zip(places[row].tolist(), expected[row, :count].tolist(), strict=False)
        assert len(found) == min(count, V)
        # What has no chance may be any token.
        assert {x for x in found if x[1] > -math.inf} == {x for x in first if x[1] > -math.inf}


@pytest.mark.parametrize("V", [3, 20 * CHUNK, 20 * CHUNK + 7])
def test_nan_anywhere_is_seen(V: int) -> None:
    log_probs = torch.zeros(V, V)
    log_probs.fill_diagonal_(math.nan)
    values, _ = likeliest(log_probs, 2)
    assert values.isnan().any(1).all()
