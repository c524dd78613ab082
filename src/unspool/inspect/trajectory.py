"""States as points in a plane: the principal components of what a network went through."""

from dataclasses import dataclass

import torch
from torch import Tensor

TIED = 1e-6  # entries of an axis this close to its largest one are as large: the first decides


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States seen along the axes on which they vary most. Everything is float64.

    `points` (N, k) are the states in the order in which they came, `explained` (k,) is each
    axis' share of the variance, `axes` (k, S) are unit vectors at right angles, and `mean` (S,)
    is what stands at the origin. Where there is nothing left to vary an axis is zeros.
    """

    points: Tensor
    explained: Tensor
    mean: Tensor
    axes: Tensor

    def project(self, states: Tensor) -> Tensor:
        """Other states (..., S) on the same axes, as points (..., k)."""
        _check_last(states, self.axes.shape[1], "states", "units")
        return (states.detach().to(self.mean) - self.mean) @ self.axes.T

    def lift(self, points: Tensor) -> Tensor:
        """The states (..., S) that lie on these axes at the points (..., k)."""
        _check_last(points, self.axes.shape[0], "points", "coordinates")
        return self.mean + points.detach().to(self.mean) @ self.axes


def trajectory(states: Tensor, *, count: int = 2) -> Trajectory:
    """The first `count` principal components of states (N, S), one state a row.

    States of several sequences are joined along N before. An axis may point either way; it is
    turned so that its largest entry is positive, and the same states give the same picture.
    """
    if not isinstance(states, Tensor) or states.dim() != 2 or 0 in states.shape:
        found = tuple(states.shape) if isinstance(states, Tensor) else type(states).__name__
        raise ValueError(
            f"states is a tensor of shape (N, S), a state a row; got {found}. "
            "Outputs of shape (T, B, S) become one with ys.flatten(0, 1)"
        )
    if count < 1:
        raise ValueError(f"count is the number of axes, 1 or more, not {count}")
    values = states.detach().double()
    if not values.isfinite().all():
        raise ValueError("states hold NaN or infinity, and have no axes: leave those rows out")
    mean = values.mean(0)
    # The triangle of a QR decomposition has the same axes and spreads, and at most S rows.
    triangle = torch.linalg.qr(values - mean, mode="r").R
    _, spread, axes = torch.linalg.svd(triangle, full_matrices=False)
    # What rounding alone could make is no direction.
    noise = torch.finfo(torch.float64).eps * max(values.shape) * values.norm()
    spread = torch.where(spread > noise, spread, 0.0)
    variance = spread.square()
    axes = _padded(_turned(axes) * (spread > 0)[:, None], count)
    explained = _padded(variance / variance.sum().clamp(min=torch.finfo(torch.float64).tiny), count)
    return Trajectory((values - mean) @ axes.T, explained, mean, axes)


def _turned(axes: Tensor) -> Tensor:
    """Each axis with its largest entry positive, the first of them where several are as large."""
    size = axes.abs()
    largest = size >= size.amax(1, keepdim=True) * (1 - TIED)
    first = largest.to(torch.int8).argmax(1, keepdim=True)  # argmax names the first of equals
    return axes * torch.where(axes.gather(1, first) < 0, -1.0, 1.0)


def _padded(rows: Tensor, count: int) -> Tensor:
    """The first `count` entries, zeros where there are fewer."""
    missing = max(count - len(rows), 0)
    return torch.cat([rows[:count], rows.new_zeros(missing, *rows.shape[1:])])


def _check_last(values: Tensor, size: int, what: str, entries: str) -> None:
    if not values.dim() or values.shape[-1] != size:
        raise ValueError(
            f"{what} of this trajectory have {size} {entries} each; got {tuple(values.shape)}"
        )
