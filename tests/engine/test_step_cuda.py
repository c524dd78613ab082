"""One step at a time on a GPU, which is not there: kernels are interpreted."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import unspool as us
from tests.conformance.table import IDS, TABLE, build, inputs
from tests.engine.side_by_side import programs
from tests.engine.test_step import same_as_a_sequence
from unspool.engine import call, cpu, step, step_cuda
from unspool.engine.step_cuda import CudaSession

# numpy warns of what stands beside the units, which nobody reads
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
every_cell = pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)


@pytest.fixture(autouse=True)
def _as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cpu, "takes", lambda call: False)
    with programs():
        yield


@every_cell
@pytest.mark.parametrize("zoneout", [0.0, 0.2])
def test_steps_make_a_sequence(kind: us.CellType, sizes: dict[str, int], zoneout: float) -> None:
    stepper = same_as_a_sequence(kind, sizes, T=3, rows=5, zoneout=zoneout)
    (session,) = stepper.sessions.values()
    assert isinstance(getattr(session, "inner", session), CudaSession)


@every_cell
def test_half_precision_stays(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, _ = inputs(cell, T=1, B=3)
    cell.bfloat16()
    y, state = us.Stepper(cell, us.expected_masks(cell, 0.2))(xs[0].bfloat16())
    assert {value.dtype for value in (y, *state)} == {torch.bfloat16}


ODD = pytest.mark.parametrize(
    "text",
    [
        "k = exp(w)\n h' = tanh(k * (U @ h) + W @ x)\n y = concat(h', k)",
        "h' = tanh(W @ concat(x, h))\n y = V @ layer_norm(h') + x",
        "a' = tanh(W @ x + U @ a)\n b' = a' * b + b_b\n y = concat(a', b')",
        "h' = b",
        "h' = x",
    ],
)


@ODD
def test_cells_that_the_table_has_not(text: str) -> None:
    kind = us.cell(text)
    cell = us.Cell(kind, dict.fromkeys(kind.equations.named_sizes, 4)).double()
    xs = torch.randn(3, 2, 4, dtype=torch.float64)
    ys, _ = us.unfold(cell, xs, backend="reference")
    stepper, state = us.Stepper(cell), None
    for x, y in zip(xs, ys, strict=True):
        found, state = stepper(x, state)
        torch.testing.assert_close(found, y.detach())


@ODD
def test_odd_cells_in_half_precision(text: str) -> None:
    kind = us.cell(text)
    cell = us.Cell(kind, dict.fromkeys(kind.equations.named_sizes, 4)).bfloat16()
    x = torch.randn(2, 4).bfloat16()
    y, state = us.Stepper(cell, us.expected_masks(cell, 0.2))(x)
    assert {value.dtype for value in (y, *state)} == {torch.bfloat16}


def test_lines_that_read_whole_vectors_join_the_kernel_before_them() -> None:
    stepper = us.Stepper(us.cells.LayerNormLSTM(4, 4))
    stepper(torch.randn(2, 4))
    (session,) = stepper.sessions.values()
    assert isinstance(session, CudaSession)
    assert len(session.parts) == 1


def test_one_session_serves_any_number_of_rows() -> None:
    cell = us.cells.GRU(3, 4).double()
    stepper = us.Stepper(cell)
    for rows in (2, 5, 1, 9):
        x = torch.randn(rows, 3, dtype=torch.float64)
        _, state = stepper(x)
        y, _ = stepper(x, state)
        expected, _ = us.unfold(cell, torch.stack((x, x)), backend="reference")
        torch.testing.assert_close(y, expected[1].detach())
    assert len(stepper.sessions) == 1
    assert stepper(torch.randn(0, 3).double())[0].shape == (0, 4)
    with pytest.raises(ValueError, match=r"expected h \(2, 4\)"):
        stepper(x[:2], [state.h[:1]])
    with pytest.raises(ValueError, match="7 features"):
        stepper(torch.randn(2, 7).double(), state)


def test_what_a_step_gives_is_the_callers_own() -> None:
    cell, x = us.cell("h' = tanh(W @ x + h)\n c' = b * c")(3, 3), torch.randn(2, 3)
    stepper = us.Stepper(cell)
    _, state = stepper(x)
    y, after = stepper(x, state)
    expected = y.clone()
    for value in (*after,):
        value.fill_(7.0)
    assert stepper(x, state)[0].equal(expected)
    assert all(a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr()
               for a, b in zip(after, state, strict=True))  # fmt: skip


def test_states_that_a_product_put_side_by_side_are_apart_again() -> None:
    text = "h' = tanh(W @ x + U @ h)\n c' = tanh(A @ x + c)\n y = V @ concat(h', c')"
    cell = us.cell(text)(3, 4)
    y, state = us.Stepper(cell)(torch.randn(5, 3))
    assert y.is_contiguous()
    assert all(value.is_contiguous() for value in state)


def test_half_precision() -> None:
    cell, x = us.cells.LSTM(16, 16).bfloat16(), torch.randn(4, 16).bfloat16()
    (y, state), (expected, _) = us.Stepper(cell)(x), us.unfold(cell, x[None], backend="reference")
    assert y.dtype == state.c.dtype == torch.bfloat16
    torch.testing.assert_close(y, expected[0].detach(), rtol=0.02, atol=0.02)


def test_no_gradient_and_no_autocast_gets_in() -> None:
    cell, x = us.cells.LSTM(3, 4), torch.randn(2, 3, requires_grad=True)
    stepper = us.Stepper(cell)
    expected, state = stepper(x)
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(2):
            y, last = stepper(x, [torch.zeros(2, 4), torch.zeros(2, 4)])
            assert y.equal(expected)
    y, last = stepper(x, state)
    assert not any(value.requires_grad for value in (y, *state, *last))


def test_a_mistake_in_a_state_is_noticed_at_the_first_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though that step begins with zeros."""
    right = step_cuda._Part.__call__

    def wrong(self: Any, env: Any, stages: Any) -> None:
        env["h"] = -7 * env["h"]
        right(self, env, stages)

    monkeypatch.setattr(step_cuda._Part, "__call__", wrong)
    with pytest.warns(UserWarning, match="off by"):
        us.Stepper(us.cells.LSTM(3, 4))(torch.randn(2, 3))


def test_autocast_converts_the_weights_once(monkeypatch: pytest.MonkeyPatch) -> None:
    convert, seen = call.under_autocast, []

    def noted(*given: Any) -> Any:
        seen.append(given)
        return convert(*given)

    for module in (call, step):
        monkeypatch.setattr(module, "autocast_decides", call.autocast_is_on)
    monkeypatch.setattr(step, "under_autocast", noted)
    stepper, x = us.Stepper(us.cells.LSTM(3, 4)), torch.randn(2, 3)
    with torch.autocast("cpu", torch.bfloat16):
        y, state = stepper(x)
        for _ in range(3):
            y, state = stepper(x, state)
    assert y.dtype == state.c.dtype == torch.bfloat16
    assert len(seen) == 1


def test_wrong_numbers_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, x = us.cells.LSTM(3, 4), torch.randn(2, 3)
    monkeypatch.setattr(step_cuda, "error", lambda ours, theirs: 1.0)
    stepper = us.Stepper(cell)
    with pytest.warns(UserWarning, match="off by"):
        y, state = stepper(x)
    expected, _ = us.unfold(cell, x[None], backend="reference")
    assert y.equal(expected[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stepper(x, state)


def test_layers_step() -> None:
    layer = us.Recurrent(us.cells.LSTM, 3, 4, num_layers=2, skip="residual")
    xs = torch.randn(3, 2, 3)
    step, state = layer.stepper(), None
    ys, _ = layer(xs, backend="reference")
    for x, y in zip(xs, ys, strict=True):
        found, state = step(x, state)
        torch.testing.assert_close(found, y.detach())
