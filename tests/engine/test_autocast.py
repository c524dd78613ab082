"""Autocast decides the dtype of a recurrence on a GPU, as it does for torch.nn's layers.

There is none here: the CPU is taken for one.
"""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

import unspool as us
from tests.engine.side_by_side import programs
from unspool.engine import call
from unspool.inspect import watch

HALF = torch.bfloat16


@pytest.fixture(autouse=True)
def _as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call, "autocast_decides", call.autocast_is_on)


@pytest.fixture
def autocast() -> Iterator[None]:
    with torch.autocast("cpu", HALF):
        yield


def made() -> tuple[us.Cell, us.Cell, Tensor]:
    """A cell in float32, the same in half precision, and an input."""
    cell, half = us.cells.LSTM(3, 4), us.cells.LSTM(3, 4)
    half.load_state_dict(cell.state_dict())
    return cell, half.to(HALF), torch.randn(6, 5, 3)


@pytest.mark.parametrize("backend", ["reference", "planned", "cuda", "auto"])
def test_a_cell_runs_as_one_of_that_dtype_would(backend: str) -> None:
    cell, half, xs = made()
    how = {"lengths": [6, 3, 0, 1, 6], "record": "f", "backend": backend}
    with programs():
        expected, state, lines = us.unfold(half, xs.to(HALF), **how)
        wanted = torch.autograd.grad(expected.sum() + state.c.sum(), [*half.parameters()])
        with torch.autocast("cpu", HALF):
            ys, last, found = us.unfold(cell, xs, **how)
        grads = torch.autograd.grad(ys.sum() + last.c.sum(), [*cell.parameters()])
    assert ys.dtype == last.c.dtype == found["f"].dtype == HALF
    assert ys.equal(expected)
    assert last.c.equal(state.c)
    assert found["f"].equal(lines["f"])
    assert all(grad.dtype == torch.float32 for grad in grads)
    assert all(a.equal(b.float()) for a, b in zip(grads, wanted, strict=True))


@pytest.mark.usefixtures("autocast")
def test_a_state_of_another_dtype_is_taken_along() -> None:
    cell, _, xs = made()
    _, state = us.unfold(cell, xs[:3], backend="planned")
    whole = [value.float() for value in state]
    a, _ = us.unfold(cell, xs[3:].to(HALF), state, backend="planned")
    b, _ = us.unfold(cell, xs[3:], whole, backend="planned")
    assert a.equal(b)


@pytest.mark.usefixtures("autocast")
def test_float64_stays() -> None:
    ys, _ = us.unfold(us.cells.GRU(3, 4).double(), torch.randn(5, 2, 3).double())
    assert ys.dtype == torch.float64


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")  # no processor has these kernels
@pytest.mark.usefixtures("autocast")
def test_layers_and_torchs_layers_too() -> None:
    xs = torch.randn(5, 2, 3)
    layer = us.Recurrent(us.cells.GRU, 3, 4, num_layers=2, bidirectional=True, skip="residual")
    assert layer(xs)[0].dtype == HALF
    ours, theirs = us.nn.LSTM(3, 4, num_layers=2), torch.nn.LSTM(3, 4, num_layers=2)
    assert ours(xs)[0].dtype == ours(xs)[1][1].dtype == theirs(xs)[0].dtype == HALF


@pytest.mark.parametrize("backend", ["auto", "cuda"])
def test_in_a_compiled_graph_as_outside(backend: str) -> None:
    cell, _, xs = made()

    def run(xs: Tensor) -> Tensor:
        with torch.autocast("cpu", HALF):
            return us.unfold(cell, xs, backend=backend)[0]

    with programs():
        eager = run(xs)
        ys = torch.compile(run, fullgraph=True, backend="aot_eager")(xs)
        assert ys.dtype == HALF
        assert ys.equal(eager)
        found, wanted = (torch.autograd.grad(y.sum(), [*cell.parameters()]) for y in (ys, eager))
    assert all(a.dtype == torch.float32 and a.equal(b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")  # no processor has these kernels
def test_what_was_watched_is_found_again_without_autocast() -> None:
    layer, xs = us.Recurrent(us.cells.LSTM, 3, 4), torch.randn(5, 2, 3)
    with torch.autocast("cpu", HALF), watch(layer) as seen:
        ys, _, lines = layer(xs, record="f")
    seen.backward(ys.sum())
    assert seen.line(0, "f").equal(lines[0][0]["f"])
    assert seen.gradient(0, "h").dtype == HALF


@pytest.mark.usefixtures("autocast")
def test_the_derived_gradient_is_of_the_same_call() -> None:
    cell, half, xs = made()
    ys, _ = us.unfold(cell, xs)
    expected = us.bptt(half, xs.to(HALF), d_ys=torch.ones_like(ys))
    for d_ys in (torch.ones_like(ys), torch.ones(ys.shape)):
        found = us.bptt(cell, xs, d_ys=d_ys).parameters["U_f"]
        assert found.dtype == torch.float32
        assert found.equal(expected.parameters["U_f"].float())


@pytest.mark.usefixtures("autocast")
def test_what_was_wrong_without_autocast_stays_wrong() -> None:
    cell = us.cells.Elman(3, 4)
    cell.parameter("W").data = torch.randn(4, 3, dtype=torch.float64)
    with pytest.raises(ValueError, match="of one kind"):
        us.unfold(cell, torch.randn(2, 2, 3))
    with pytest.raises(ValueError, match=r"parameters are torch\.float32"):
        us.unfold(us.cells.Elman(3, 4), torch.ones(2, 2, 3, dtype=torch.int64))
