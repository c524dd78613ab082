import math

import pytest
import torch
from torch import Tensor, nn

from unspool.attention import NonLocal


def draw(*positions: int) -> tuple[NonLocal, Tensor, Tensor]:
    block = NonLocal(4, 3).double()
    nn.init.normal_(block.W_o.weight)
    x = torch.randn(2, *positions, 4).double()
    mask = torch.rand(x.shape[:-1]) < 0.6
    mask.flatten(1)[:, 0] = True
    return block, x, mask


@torch.no_grad()
@pytest.mark.parametrize("positions", [(5,), (2, 3), (2, 1, 2)])
def test_equals_a_plain_loop(positions: tuple[int, ...]) -> None:
    block, x, mask = draw(*positions)
    z, weights = block(x, mask)
    assert z.shape == x.shape
    for b in range(2):
        rows, found = x[b][mask[b]], z[b][mask[b]]
        places = mask[b].flatten().nonzero()[:, 0].tolist()
        for i, one in enumerate(rows):
            scores = [float(block.theta(one) @ block.phi(other)) for other in rows]
            shares = [math.exp(s) / sum(map(math.exp, scores)) for s in scores]
            read = sum(w * block.g(other) for w, other in zip(shares, rows, strict=True))
            torch.testing.assert_close(found[i], one + block.W_o(read))
            assert weights[b, places[i], places].tolist() == pytest.approx(shares)
        assert float(weights[b].sum()) == pytest.approx(len(places))
        assert not z[b][~mask[b]].any()


def test_no_mask_reads_everything() -> None:
    block, x, mask = draw(2, 3)
    torch.testing.assert_close(block(x), block(x, torch.ones_like(mask)))


def test_starts_as_the_identity() -> None:
    x = torch.randn(2, 3, 4)
    assert NonLocal(4, 3)(x)[0].equal(x)


def test_what_is_masked_changes_nothing() -> None:
    block, clean, mask = draw(2, 3)
    found = []
    for filling in (0.0, torch.nan):
        block.zero_grad()
        x = torch.where(mask[..., None], clean, filling).requires_grad_()
        z, weights = block(x, mask)
        (z.sin().sum() + weights.square().sum()).backward()
        found.append([z, weights, *(leaf.grad for leaf in (x, *block.parameters()))])
    for zeros, nans in zip(*found, strict=True):
        assert zeros.isfinite().all()
        assert zeros.equal(nans)


def test_gradients_are_those_of_the_equations() -> None:
    block, x, mask = draw(5)
    leaves = [x.requires_grad_(), *block.parameters()]
    assert torch.autograd.gradcheck(lambda x, *_: block(x, mask), leaves)


def test_what_cannot_be_is_said() -> None:
    block, x, mask = draw(5)
    with pytest.raises(ValueError, match="inner is at least 1, not 0"):
        NonLocal(4, 0)
    with pytest.raises(ValueError, match=r"expected \(B, \*positions, 4\)"):
        block(x[0])
    for bad in (mask[:, :4], mask.double()):
        with pytest.raises(ValueError, match=r"expected torch\.bool of \(2, 5\)"):
            block(x, bad)
