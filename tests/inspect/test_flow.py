"""The way back of an error, against finite differences and against the products of Jacobians."""

from typing import Any

import pytest
import torch
from torch import Tensor

import unspool as us
from unspool.equations.evaluate import run
from unspool.inspect.flow import flow, gradient_flow
from unspool.inspect.jacobians import products, step_jacobians

OWN = us.cell(
    """
    k  = sigmoid(W_k @ x + U_k @ m + b_k)
    m' = k * m + (1 - k) * tanh(W @ x + U @ s)
    s' = tanh(m' + V @ s)
    y  = s' * k
    """,
    name="own",
)
MEASURED = [us.cells.LSTM, us.cells.GRU, us.cells.Elman, OWN]


def loss_with(cell: us.Cell, xs: Tensor, v: Tensor, at: tuple[int, str], added: Tensor) -> float:
    """v . y_T, where one state of one step has something added as soon as it is computed."""
    eqs, bound = cell.equations, cell.bind()
    values: dict[str, Any] = {n: xs.new_zeros(1, size) for n, size in cell.state_sizes.items()}
    env: dict[str, Any] = {}
    for t, x in enumerate(xs):
        env = {**bound.tensors, "x": x[None], **values}
        for line in eqs.lines:
            run([line], env, x[None], bound.size_of)
            if (t, line.name) == (at[0], eqs.carried[at[1]]):
                env[line.name] = env[line.name] + added
        values = {name: env[line] for name, line in eqs.carried.items()}
    return (env[eqs.output][0] @ v).item()


@pytest.mark.parametrize("kind", MEASURED, ids=lambda kind: kind.name)
@torch.no_grad()
def test_gradients_are_what_a_push_at_that_step_does_to_the_loss(kind: us.CellType) -> None:
    cell, eps = kind(3, 4).double(), 1e-5
    xs, v = torch.randn(6, 3, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    found = flow(cell, xs, v)
    assert found.states == cell.equations.states
    for state, gradients in found.gradients.items():
        for t, gradient in enumerate(gradients):
            pushes = eps * torch.eye(4, dtype=torch.float64)
            up = [loss_with(cell, xs, v, (t, state), push) for push in pushes]
            down = [loss_with(cell, xs, v, (t, state), -push) for push in pushes]
            theirs = (pushes.new_tensor(up) - pushes.new_tensor(down)) / (2 * eps)
            assert (gradient - theirs).norm() <= 1e-7 * theirs.norm() + 1e-10


def test_with_one_state_the_gradient_is_v_times_the_product() -> None:
    cell = us.cells.GRU(3, 4).double()
    xs, v = torch.randn(7, 3, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    found, ways = flow(cell, xs, v), products(step_jacobians(cell, xs))
    torch.testing.assert_close(found.gradients["h"], v @ ways[1:])
    torch.testing.assert_close(found.norms["h"], (v @ ways[1:]).norm(dim=-1))
    assert (found.norms["h"] <= found.measured[1:] * v.norm() * (1 + 1e-12)).all()


def test_every_line_and_every_measure_has_its_shape() -> None:
    elman, lstm = gradient_flow([us.cells.Elman, us.cells.LSTM], steps=9, hidden_size=5)
    assert set(lstm.lines) == set(us.cells.LSTM.equations.recordable)
    assert all(values.shape == (9, 5) for values in lstm.lines.values())
    assert lstm.gradients["c"].shape == (9, 5)
    assert (elman.singular.shape, lstm.singular.shape) == ((10, 5), (10, 8))
    for found in (elman, lstm):
        assert found.measured.shape == found.norm_bound.shape == (10,)
        assert found.measured.equal(found.singular[:, 0])
        assert (found.measured <= found.norm_bound * (1 + 1e-9)).all()
        assert found.measured.dtype == torch.float64
    assert lstm.bound is None
    assert elman.bound is not None
    assert (elman.norm_bound <= elman.bound * (1 + 1e-9)).all()


def test_a_memory_that_is_told_to_keep_carries_the_error_further() -> None:
    keeping = us.cells.LSTM.with_init(us.init.keep_bias(8.0))
    for seed in range(3):
        (elman,) = gradient_flow([us.cells.Elman], gain=0.5, seed=seed)
        (lstm,) = gradient_flow([keeping], gain=0.5, seed=seed)
        kept = lstm.norms["c"][0] / lstm.norms["c"][-1]
        left = elman.norms["h"][0] / elman.norms["h"][-1]
        assert left <= 0.5**127  # the bound: gamma * sigma_1 is one half
        assert kept > 1e6 * left
        assert (lstm.lines["f"] > 0.9).all()


def test_all_cells_get_the_same_input_and_the_same_start() -> None:
    first = us.cell("u = 1 * x\nh' = tanh(W @ u + U @ h)")
    second = us.cell("u = 1 * x\ng = sigmoid(V @ u)\nh' = g * tanh(W @ u + U @ h)")
    one, other, again = gradient_flow([first, second, first], steps=6, hidden_size=4, seed=3)
    assert one.lines["u"].equal(other.lines["u"])
    assert one.gradients["h"].equal(again.gradients["h"])
    assert one.gradients["h"][-1].equal(other.gradients["h"][-1])  # v
    torch.testing.assert_close(one.norms["h"][-1].item(), 1.0)
    (moved,) = gradient_flow([first], steps=6, hidden_size=4, seed=4)
    assert not moved.lines["u"].equal(one.lines["u"])


def test_random_numbers_of_the_caller_are_left_alone() -> None:
    before = torch.get_rng_state()
    (first,) = gradient_flow([us.cells.LSTM], steps=2, hidden_size=3)
    assert torch.get_rng_state().equal(before)
    torch.manual_seed(99)
    (second,) = gradient_flow([us.cells.LSTM], steps=2, hidden_size=3)
    assert second.gradients["c"].equal(first.gradients["c"])


def test_the_gain_multiplies_recurrent_matrices() -> None:
    (linear,) = gradient_flow([us.cell("h' = W @ x + U @ h")], steps=8, hidden_size=4, gain=0.5)
    expected = [0.5 ** (8 - t) for t in range(9)]  # U is orthogonal, times the gain
    for found in (linear.measured, linear.norm_bound, linear.bound):
        assert found is not None
        assert found.tolist() == pytest.approx(expected, rel=1e-12)


def test_every_cell_can_be_followed_without_a_word_about_sizes() -> None:
    kinds = list(us.cells.named().values())
    found = gradient_flow(kinds, steps=3, hidden_size=4)
    assert [one.name for one in found] == [kind.name for kind in kinds]
    projected, _ = gradient_flow(
        [us.cells.LSTMProjected, us.cells.Elman],
        steps=3, input_size=3, hidden_size=4, sizes={"proj": 2},
    )  # fmt: skip
    assert projected.gradients["h"].shape == (3, 2)
    assert projected.gradients["c"].shape == (3, 4)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="mut1 needs input = hidden, and was given 3 and 4"):
        gradient_flow([us.cells.Elman, us.cells.MUT1], input_size=3, hidden_size=4)
    with pytest.raises(ValueError, match="not a Cell: give its kind"):
        gradient_flow([us.cells.Elman(2, 2)])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="no cell here has the size proj"):
        gradient_flow([us.cells.Elman], sizes={"proj": 2})
    with pytest.raises(ValueError, match="1 step or more, not 0"):
        gradient_flow([us.cells.Elman], steps=0)
    with pytest.raises(ValueError, match="a finite number, not nan"):
        gradient_flow([us.cells.Elman], gain=float("nan"))
    cell = us.cells.Elman(2, 3)
    with pytest.raises(ValueError, match="one row of 1 step or more"):
        flow(cell, torch.zeros(4, 1, 2), torch.zeros(3))
    with pytest.raises(ValueError, match=r"v has shape \(2,\); the output has \(3,\)"):
        flow(cell, torch.zeros(4, 2), torch.zeros(2))
