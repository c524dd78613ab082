"""States as points: against the eigenvectors of their covariance, and what must not change."""

import pytest
import torch
from torch import Tensor

from unspool.inspect.trajectory import trajectory


def states(N: int = 40, S: int = 6) -> Tensor:
    """Spread unevenly, so that the axes are well apart, and away from the origin."""
    scale = torch.linspace(3, 0.5, S, dtype=torch.float64)
    mixed = torch.linalg.qr(torch.randn(S, S, dtype=torch.float64)).Q
    return torch.randn(N, S, dtype=torch.float64) * scale @ mixed + 5


@pytest.mark.parametrize(("N", "S", "count"), [(40, 6, 2), (4, 9, 3), (30, 5, 5), (200, 2, 1)])
def test_axes_are_eigenvectors_of_the_covariance(N: int, S: int, count: int) -> None:
    values = states(N, S)
    found = trajectory(values, count=count)
    variances, vectors = torch.linalg.eigh(torch.cov(values.T, correction=0))
    variances, vectors = variances.flip(0), vectors.T.flip(0)
    torch.testing.assert_close(found.explained, variances[:count] / variances.sum())
    cosines = (found.axes * vectors[:count]).sum(1)
    torch.testing.assert_close(cosines.abs(), torch.ones(count, dtype=torch.float64))
    spread = found.points.square().mean(0)
    torch.testing.assert_close(spread, variances[:count])
    torch.testing.assert_close(found.mean, values.mean(0))


def test_points_are_projections_and_lift_comes_back() -> None:
    values = states()
    found = trajectory(values)
    torch.testing.assert_close(found.project(values), found.points)
    torch.testing.assert_close(found.project(found.lift(found.points)), found.points)
    assert found.project(values[0]).shape == (2,)
    assert found.lift(torch.zeros(3, 4, 2)).shape == (3, 4, 6)
    whole = trajectory(values, count=6)
    torch.testing.assert_close(whole.lift(whole.points), values)
    torch.testing.assert_close(whole.explained.sum().item(), 1.0)


def test_the_largest_entry_of_an_axis_is_positive() -> None:
    """Mirrored, in another order or moved, the same states have the same axes."""
    values = states()
    found = trajectory(values)
    for axis in found.axes:
        assert axis[axis.abs().argmax()] > 0
    for other in (-values, values[torch.randperm(len(values))], values + 7, values * 2):
        torch.testing.assert_close(trajectory(other).axes, found.axes)


def test_of_equally_large_entries_the_first_is_positive() -> None:
    line = torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None]
    for sign in (1, -1):
        axis = trajectory(sign * line * torch.tensor([1.0, -1.0])).axes[0]
        torch.testing.assert_close(axis, torch.tensor([1.0, -1.0], dtype=torch.float64) / 2**0.5)


@pytest.mark.parametrize(
    "values",
    [
        torch.full((5, 3), 0.1),
        torch.full((5, 3), 1e6) / 3,
        torch.randn(1, 4),
        torch.zeros(3, 1),
    ],
    ids=["constant", "large", "one state", "one unit"],
)
def test_what_does_not_vary_stands_at_the_origin(values: Tensor) -> None:
    found = trajectory(values)
    assert found.points.shape == (len(values), 2)
    assert not found.points.any()
    assert not found.axes.any()
    assert not found.explained.any()
    torch.testing.assert_close(found.lift(found.points), values.double())


def test_states_on_a_line_have_one_axis() -> None:
    """Across the line there is rounding alone, which is no direction."""
    direction = torch.randn(5, dtype=torch.float64)
    along = torch.randn(20, 1, dtype=torch.float64)
    found = trajectory(3 + along * direction)
    torch.testing.assert_close(found.axes[0].abs(), direction.abs() / direction.norm())
    assert not found.axes[1].any()
    assert not found.points[:, 1].any()
    assert found.explained.tolist() == [1.0, 0.0]


def test_one_unit_has_one_axis() -> None:
    values = torch.randn(8, 1)
    found = trajectory(values)
    assert found.axes.tolist() == [[1.0], [0.0]]
    assert found.explained.tolist() == [1.0, 0.0]
    torch.testing.assert_close(found.lift(found.points), values.double())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (torch.zeros(3), r"\(N, S\)"),
        (torch.zeros(4, 2, 3), "flatten"),
        (torch.zeros(0, 3), r"\(0, 3\)"),
        (torch.tensor([[1.0, torch.nan]]), "NaN"),
    ],
)
def test_what_is_refused(values: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trajectory(values)


def test_other_sizes_are_refused() -> None:
    found = trajectory(states())
    with pytest.raises(ValueError, match="6 units"):
        found.project(torch.zeros(3, 5))
    with pytest.raises(ValueError, match="2 coordinates"):
        found.lift(torch.zeros(3))
    with pytest.raises(ValueError, match="count"):
        trajectory(states(), count=0)
