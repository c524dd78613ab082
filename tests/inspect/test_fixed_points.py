"""Fixed points: cells for which they are known, and what holds for those of any cell."""

import math
from importlib import import_module

import pytest
import torch
from torch import Tensor

import unspool as us
from tests.conformance.table import IDS, TABLE, build
from unspool.inspect.fixed_points import FixedPoint, fixed_points


def joined_step(cell: us.Cell, x: Tensor, state: Tensor) -> Tensor:
    """F(s): one step of the cell itself, on one row."""
    parts = state[None].split(list(cell.state_sizes.values()), -1)
    return torch.cat(tuple(cell.step(x[None], parts)[1]), -1)[0]


def check(cell: us.Cell, x: Tensor, points: list[FixedPoint]) -> None:
    """Every point is what it says it is, by the step itself and autograd's Jacobian."""
    for point in points:
        moved = (joined_step(cell, x, point.state) - point.state).norm().item()
        assert moved == pytest.approx(point.speed, rel=1e-6, abs=1e-13)
        assert point.slow == (moved > 1e-10)
        jacobian = torch.autograd.functional.jacobian(
            lambda state: joined_step(cell, x, state), point.state
        )
        assert isinstance(jacobian, Tensor)
        moduli = point.eigenvalues.abs()
        assert moduli.tolist() == sorted(moduli.tolist(), reverse=True)
        assert point.radius == moduli[0]
        for value in point.eigenvalues:  # each makes J - value I singular
            shifted = jacobian - value * torch.eye(len(jacobian))
            assert torch.linalg.svdvals(shifted)[-1] < 1e-6
        torch.testing.assert_close(point.eigenvalues.sum().real, jacobian.trace())
        kinds = {"stable": (moduli < 1).all(), "unstable": (moduli > 1).all()}
        assert point.kind == next((kind for kind, held in kinds.items() if held), "saddle")
        slope = (jacobian - torch.eye(len(jacobian))).T @ (
            joined_step(cell, x, point.state) - point.state
        )
        assert slope.norm() <= 1e-5 * moved + 1e-9
    for n, point in enumerate(points):
        assert all((point.state - other.state).norm() > 1e-4 for other in points[:n])


def linear(matrix: Tensor) -> us.Cell:
    cell = us.cell("h' = U @ h + W @ x")(2, len(matrix)).double()
    with torch.no_grad():
        cell.parameter("U").copy_(matrix)
    return cell


@pytest.mark.parametrize(
    ("values", "kind"),
    [([0.5, -0.9, 0.1], "stable"), ([2.0, -1.5, 3.0], "unstable"), ([0.5, 2.0, -3.0], "saddle")],
)
def test_of_a_linear_cell(values: list[float], kind: str) -> None:
    """(I - A) s = W x has one solution, and the eigenvalues are those of A."""
    basis = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64)).Q
    matrix = basis @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ basis.T
    cell, x = linear(matrix), torch.randn(2, dtype=torch.float64)
    starts = torch.randn(20, 3, dtype=torch.float64)
    (point,) = fixed_points(cell, x, starts=starts, margin=100)
    expected = torch.linalg.solve(torch.eye(3) - matrix, cell.parameter("W") @ x)
    torch.testing.assert_close(point.state, expected)
    assert sorted(point.eigenvalues.real.tolist()) == pytest.approx(sorted(values))
    assert (point.kind, point.slow) == (kind, False)
    assert point.radius == pytest.approx(max(map(abs, values)))
    (origin,) = fixed_points(cell, starts=starts)
    torch.testing.assert_close(origin.state, torch.zeros(3, dtype=torch.float64))


def test_a_rotation_has_complex_eigenvalues() -> None:
    turn = 0.8 * torch.tensor([[math.cos(1), -math.sin(1)], [math.sin(1), math.cos(1)]])
    (point,) = fixed_points(linear(turn), starts=torch.randn(5, 2))
    assert point.kind == "stable"
    assert point.radius == pytest.approx(0.8)
    assert sorted(point.eigenvalues.angle().tolist()) == pytest.approx([-1, 1])


def test_a_line_of_fixed_points_is_met_where_the_starts_are() -> None:
    """With A = diag(1, 1/2) all of the first axis stands still: nothing is singular for us."""
    points = fixed_points(linear(torch.diag(torch.tensor([1.0, 0.5]))), starts=torch.randn(6, 2))
    assert len(points) == 6
    for point in points:
        assert abs(point.state[1]) < 1e-9
        assert point.speed <= 1e-10


def one_unit(w: float, b: float) -> us.Cell:
    cell = us.cell("h' = tanh(w * h + W @ x + b)")(1, 1)
    with torch.no_grad():
        cell.parameter("w").fill_(w)
        cell.parameter("b").fill_(b)
    return cell


def bisect(low: float, high: float, w: float) -> float:
    """Where tanh(w h) - h changes its sign."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if math.tanh(w * middle) > middle else (low, middle)
    return low


def test_one_unit_with_two_memories() -> None:
    points = fixed_points(one_unit(2.0, 0.0), starts=torch.linspace(-1, 1, 40)[:, None])
    by_place = sorted(points, key=lambda point: point.state.item())
    far = bisect(0.5, 1.0, 2.0)
    assert [p.state.item() for p in by_place] == pytest.approx([-far, 0.0, far], abs=1e-9)
    assert [p.kind for p in by_place] == ["stable", "unstable", "stable"]
    inner = 2 * (1 - far**2)
    assert [p.radius for p in by_place] == pytest.approx([inner, 2.0, inner])
    assert not any(p.slow for p in points)


def test_a_slow_point_where_two_fixed_points_have_just_gone() -> None:
    """tanh(2h + b) - h is least where its slope is 0, at 2h + b = -artanh(sqrt(1/2))."""
    b = 0.55
    points = fixed_points(one_unit(2.0, b), starts=torch.linspace(-1, 1, 40)[:, None])
    fixed, slow = points
    assert (fixed.slow, fixed.kind) == (False, "stable")
    assert slow.slow
    place = (-math.atanh(0.5**0.5) - b) / 2
    assert slow.state.item() == pytest.approx(place, abs=1e-5)
    assert slow.speed == pytest.approx(math.tanh(2 * place + b) - place)


def test_of_an_lstm() -> None:
    cell = us.cells.LSTM(3, 4).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.copy_(torch.randn_like(parameter))
    x = torch.randn(3, dtype=torch.float64)
    points = fixed_points(cell, x, starts=torch.randn(60, 8, dtype=torch.float64), margin=3)
    assert any(not point.slow for point in points)
    check(cell, x, points)


@pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)
def test_of_every_cell(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    size = sum(cell.state_sizes.values())
    x = torch.randn(cell.input_size, dtype=torch.float64)
    starts = torch.randn(12, size, dtype=torch.float64) * 0.5
    check(cell, x, fixed_points(cell, x, starts=starts, steps=60))


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, starts = us.cells.GRU(2, 3), torch.randn(9, 3)
    whole = fixed_points(cell, starts=starts)
    monkeypatch.setattr(import_module("unspool.inspect.fixed_points"), "BLOCK", 20)
    for one, other in zip(whole, fixed_points(cell, starts=starts), strict=True):
        torch.testing.assert_close(one.state, other.state)


def test_the_search_stays_near_the_starts() -> None:
    """Far out the gates of a GRU are shut, and any state stands still: that is none of ours."""
    cell, starts = us.cells.GRU(3, 4), torch.randn(40, 4).clamp(-1, 1)
    for point in fixed_points(cell, starts=starts):
        assert point.state.abs().max() <= 2
    inside = fixed_points(one_unit(2.0, 0.0), starts=torch.full((1, 1), 0.3), margin=0.0)
    assert all(point.state.item() == pytest.approx(0.3) for point in inside)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cell": us.cells.GRU}, "got CellType"),
        ({"x": torch.zeros(5)}, r"shape \(2,\)"),
        ({"starts": torch.zeros(4, 3)}, r"h 3 \+ c 3"),
        ({"starts": torch.zeros(0, 6)}, "one finite state"),
        ({"starts": torch.full((1, 6), torch.nan)}, "one finite state"),
        ({"tolerance": 0.0}, "tolerance=0.0"),
        ({"margin": -1.0}, "margin=-1.0"),
        ({"steps": 0}, "steps=0"),
    ],
)
def test_what_is_refused(change: dict, message: str) -> None:
    given = {"cell": us.cells.LSTM(2, 3), "starts": torch.zeros(1, 6)} | change
    with pytest.raises(ValueError, match=message):
        fixed_points(**given)
