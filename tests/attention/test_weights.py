import math

import pytest
import torch
from torch import Tensor

from unspool.attention import attend, scaled_dot, weigh


def slow(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """One query and one key at a time."""
    B, Q, D = queries.shape
    context = torch.zeros(B, Q, values.shape[-1], dtype=values.dtype)
    weights = torch.zeros(mask.shape, dtype=values.dtype)
    for b in range(B):
        for q in range(Q):
            read = [k for k in range(keys.shape[1]) if mask[b, q, k]]
            scores = {k: float(queries[b, q] @ keys[b, k]) / math.sqrt(D) for k in read}
            total = sum(math.exp(score) for score in scores.values())
            for k, score in scores.items():
                weights[b, q, k] = math.exp(score) / total
                context[b, q] += weights[b, q, k] * values[b, k]
    return context, weights


def draw() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    queries, keys = torch.randn(3, 4, 6), torch.randn(3, 5, 6)
    mask = torch.rand(3, 4, 5) < 0.6
    mask[1, 2] = False  # a query with nothing to read
    mask[2, :, 4] = False  # a key that nothing reads
    return queries.double(), keys.double(), torch.randn(3, 5, 2).double(), mask


def test_equals_a_plain_loop() -> None:
    queries, keys, values, mask = draw()
    found = attend(scaled_dot(queries, keys), values, mask)
    torch.testing.assert_close(found, slow(queries, keys, values, mask))


def test_weights_sum_to_1_over_what_may_be_read() -> None:
    queries, keys, values, mask = draw()
    context, weights = attend(scaled_dot(queries, keys), values, mask)
    assert not weights[~mask].any()
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).double())
    assert not context[1, 2].any()


def test_nothing_to_read_makes_no_nan_on_the_way() -> None:
    """So that looking for NaN with torch's own tool finds only real ones."""
    queries, keys, values, mask = draw()
    queries.requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        context, weights = attend(scaled_dot(queries, keys), values, mask)
        (context.sin().sum() + weights.square().sum()).backward()


def test_no_mask_reads_everything() -> None:
    queries, keys, values, _ = draw()
    scores = scaled_dot(queries, keys)
    everything = torch.ones(5, dtype=torch.bool)
    torch.testing.assert_close(attend(scores, values), attend(scores, values, everything))


def test_large_scores_do_not_overflow() -> None:
    scores = torch.tensor([[1e4, 0.0, 2e4]])
    mask = torch.tensor([[True, True, False]])
    context, weights = attend(scores, torch.eye(3), mask)
    assert weights.tolist() == [[1.0, 0.0, 0.0]]
    assert context.equal(weights)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_low_scores_are_above_what_may_not_be_read(dtype: torch.dtype) -> None:
    scores = torch.tensor([[-3e4, 0.0, -3e4]], dtype=dtype)
    weights = weigh(scores, torch.tensor([[True, False, True]]))
    assert weights.tolist() == [[0.5, 0.0, 0.5]]
    assert weights.dtype == dtype


@pytest.mark.parametrize("filling", [torch.nan, torch.inf])
def test_what_may_not_be_read_changes_nothing(filling: float) -> None:
    queries, keys, values, mask = draw()
    scores = scaled_dot(queries, keys)
    found = []
    for fill in (0.0, filling):
        s = torch.where(mask, scores, fill).requires_grad_()
        v = torch.where(mask.any(-2)[..., None], values, fill).requires_grad_()
        context, weights = attend(s, v, mask)
        (context.sin().sum() + weights.square().sum()).backward()
        assert s.grad is not None
        assert v.grad is not None
        assert not s.grad[~mask].any()
        found.append((context, weights, s.grad, v.grad))
    for clean, filled in zip(*found, strict=True):
        assert clean.equal(filled)


def test_gradients_are_those_of_the_equations() -> None:
    queries, keys, values, mask = draw()
    leaves = [t.requires_grad_() for t in (queries, keys, values)]
    assert torch.autograd.gradcheck(lambda q, k, v: attend(scaled_dot(q, k), v, mask), leaves)


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="queries have 3 features and keys 2"):
        scaled_dot(torch.randn(1, 3), torch.randn(4, 2))
    with pytest.raises(ValueError, match=r"torch\.bool, True where"):
        attend(torch.randn(1, 3), torch.randn(3, 2), torch.ones(1, 3))
