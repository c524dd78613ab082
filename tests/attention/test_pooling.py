import math

import pytest
import torch

from unspool.attention import AttentionPooling

LENGTHS = [5, 0, 2]


@torch.no_grad()
@pytest.mark.parametrize("queries", [1, 3])
def test_equals_a_plain_loop(queries: int) -> None:
    pooling = AttentionPooling(4, queries).double()
    xs = torch.randn(5, 3, 4, dtype=torch.float64)
    pooled, weights = pooling(xs, LENGTHS)
    assert pooled.shape == (3, queries * 4)
    assert weights.shape == (3, queries, 5)
    for b, length in enumerate(LENGTHS):
        for n, query in enumerate(pooling.queries):
            sizes = [math.exp(float(query @ xs[t, b]) / 2) for t in range(length)]
            mean = torch.zeros(4, dtype=torch.float64)
            for t, size in enumerate(sizes):
                mean += size / sum(sizes) * xs[t, b]
                assert float(weights[b, n, t]) == pytest.approx(size / sum(sizes))
            torch.testing.assert_close(pooled[b, n * 4 : n * 4 + 4], mean)
            assert not weights[b, n, length:].any()


def test_without_lengths_every_step_is_read() -> None:
    pooling, xs = AttentionPooling(4, 2), torch.randn(5, 3, 4)
    torch.testing.assert_close(pooling(xs), pooling(xs, [5, 5, 5]))
    torch.testing.assert_close(pooling(xs)[1].sum(-1), torch.ones(3, 2))


def test_padding_changes_nothing() -> None:
    pooling = AttentionPooling(4, 2).double()
    inside = (torch.arange(5)[:, None] < torch.tensor(LENGTHS))[..., None]
    clean = torch.randn(5, 3, 4, dtype=torch.float64)
    found = []
    for filling in (0.0, torch.nan):
        pooling.zero_grad()
        xs = torch.where(inside, clean, filling).requires_grad_()
        pooled, weights = pooling(xs, LENGTHS)
        (pooled.sin().sum() + weights.square().sum()).backward()
        assert xs.grad is not None
        assert pooling.queries.grad is not None
        found.append((pooled, weights, xs.grad, pooling.queries.grad.clone()))
    for zeros, nans in zip(*found, strict=True):
        assert zeros.equal(nans)


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="at least 1, not 4 and 0"):
        AttentionPooling(4, 0)
    with pytest.raises(ValueError, match="5 features; this pooling has size 4"):
        AttentionPooling(4)(torch.randn(2, 3, 5))
    with pytest.raises(ValueError, match=r"expected \(3,\)"):
        AttentionPooling(4)(torch.randn(2, 3, 4), [1, 2])
