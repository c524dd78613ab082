"""Products in bfloat16: exact where rounding changes nothing, near where it does."""

import pytest
import torch

import unspool as us
from unspool.engine import bf16, c_build

LINEAR = us.cell("h' = W @ x + U @ h + relu(V @ h)", name="linear")


@pytest.fixture(autouse=True)
def instructions() -> None:
    if not c_build.multiplies_halves():
        pytest.skip("this processor has no instructions for products of bfloat16")


def small_numbers(*shape: int) -> torch.Tensor:
    """Whole numbers of few bits: bfloat16 holds them, and their products and sums in float."""
    return torch.randint(-2, 3, shape).float()


@pytest.mark.parametrize("size", [1, 2, 7, 16, 17, 33, 64])
@pytest.mark.parametrize("rows", [1, 2, 5, 6, 13])
def test_exact_on_small_whole_numbers(size: int, rows: int) -> None:
    cell = LINEAR(3, size)
    with torch.no_grad():
        for name, parameter in cell.named_parameters():
            sparse = torch.rand(parameter.shape) < 2 / parameter.shape[1]
            parameter.copy_(small_numbers(*parameter.shape) * (sparse if name != "W" else 1))
    xs = small_numbers(3, rows, 3).requires_grad_()
    state = [small_numbers(rows, size).requires_grad_()]
    found = []
    for backend in ("reference", "bf16"):
        ys, last = us.unfold(cell, xs, state, backend=backend, lengths=[3] * (rows - 1) + [2])
        wanted = [xs, *state, *cell.parameters()]
        found.append([ys, *last, *torch.autograd.grad(ys.sum(), wanted)])
    for ours, theirs in zip(*found, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", ["lstm", "gru", "elman", "coupled", "mut1"])
def test_near_otherwise(name: str) -> None:
    """The stated accuracy, normwise: 5 in 1,000 for outputs, 2 in 100 for gradients."""
    torch.manual_seed(0)
    cell = us.cells.named()[name](64, 64)
    xs = torch.randn(40, 9, 64, requires_grad=True)
    found = []
    for backend in ("reference", "bf16"):
        ys, _ = us.unfold(cell, xs, backend=backend)
        found.append([ys, *torch.autograd.grad(ys.square().sum(), [xs, *cell.parameters()])])
    distances = [((a - b).norm() / b.norm()).item() for a, b in zip(*found[::-1], strict=True)]
    assert 0 < distances[0] < 5e-3
    assert max(distances[1:]) < 2e-2


def test_what_it_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, xs = us.cells.LSTM(3, 4), torch.zeros(2, 1, 3)
    with pytest.raises(ValueError, match="float64"):
        us.unfold(cell.double(), xs.double(), backend="bf16")
    cell.float()
    with pytest.raises(ValueError, match="forward mode"):
        torch.func.vmap(lambda xs: us.unfold(cell, xs, backend="bf16")[0])(xs[None])
    monkeypatch.setattr(bf16.c_build, "processor", lambda: "a plain one")
    with pytest.raises(ValueError, match="no instructions"):
        us.unfold(cell, xs, backend="bf16")
