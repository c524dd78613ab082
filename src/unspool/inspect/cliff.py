"""The cliff: a loss surface along two directions, and descents on it with and without clipping.

A recurrent net unrolled over many steps has walls in its loss. One step of plain descent from a
wall throws the parameters far away, one that is clipped goes in the same direction and stays
(Pascanu et al. 2013; Bilici, figure 13 and algorithm 3). Gradients are cut by the functions that
training uses.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from unspool.train.optimise import clip_norm, clip_value

Clip = Literal["none", "norm", "value"]
Directions = tuple[Sequence[Tensor], Sequence[Tensor]]


@dataclass(frozen=True)
class Unit:
    """One unit, h' = f(w * h + b), over `steps` steps from `first`; the loss is (h_T - target)^2.

    At w > 4 the sigmoid has two fixed points to end in, and where b = -w / 2 a start at 0.5 lies
    between them: the wall. (For tanh: w > 1, b = 0 and a start at 0.)
    """

    activation: Literal["sigmoid", "tanh"] = "sigmoid"
    steps: int = 30
    first: float = 0.5
    target: float = 0.7

    def __post_init__(self) -> None:
        if self.activation not in ("sigmoid", "tanh"):
            raise ValueError(f"the activation is 'sigmoid' or 'tanh', not {self.activation!r}")
        if self.steps < 1:
            raise ValueError(f"a unit runs for 1 step or more, not {self.steps}")

    def loss(self, w: Tensor, b: Tensor) -> Tensor:
        """For every pair of w and b, their shapes broadcast."""
        f = torch.sigmoid if self.activation == "sigmoid" else torch.tanh
        h = torch.full_like(w + b, self.first)
        for _ in range(self.steps):
            h = f(w * h + b)
        return (h - self.target) ** 2


@dataclass(frozen=True)
class Descent:
    """`points` (N + 1, P) on the way and their `losses` (N + 1,), the start first.

    `gradients` (N, P) are those at the first N points, and `cut` the same after the clip: each
    point is the one before, less rate * cut.
    """

    points: Tensor
    losses: Tensor
    gradients: Tensor
    cut: Tensor

    @property
    def norms(self) -> Tensor:
        return self.gradients.norm(dim=-1)

    @property
    def cut_norms(self) -> Tensor:
        return self.cut.norm(dim=-1)


@dataclass(frozen=True)
class Cliff:
    """The loss (points of b, points of w) on a grid, and three descents from the same place."""

    w: Tensor
    b: Tensor
    loss: Tensor
    plain: Descent
    clipped: Descent
    clipped_by_value: Descent


def cliff(
    unit: Unit | None = None,
    *,
    start: tuple[float, float] = (5.0, -2.0),
    rate: float = 0.4,
    limit: float = 0.1,
    updates: int = 200,
    ranges: tuple[tuple[float, float], tuple[float, float]] = ((3.8, 5.6), (-2.8, -1.8)),
    points: int = 81,
) -> Cliff:
    """The loss of one unit over w and b, and descents from `start` (w, b), in float64."""
    unit = unit or Unit()
    w, b = (torch.linspace(*ends, points, dtype=torch.float64) for ends in ranges)

    def down(clip: Clip) -> Descent:
        here = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in start]
        how = {"rate": rate, "updates": updates, "limit": limit}
        return descend(lambda: unit.loss(*here), here, clip=clip, **how)

    grid = unit.loss(w, b[:, None])
    return Cliff(w, b, grid, down("none"), down("norm"), down("value"))


def descend(
    loss: Callable[[], Tensor],
    parameters: Sequence[Tensor],
    *,
    rate: float,
    updates: int,
    limit: float,
    clip: Clip = "norm",
) -> Descent:
    """Gradient descent on a loss of a few parameters, which are put back where they were."""
    if clip not in ("none", "norm", "value"):
        raise ValueError(f"a gradient is clipped by 'norm', by 'value' or 'none', not {clip!r}")
    if not (0 < limit < math.inf and 0 < rate < math.inf):
        raise ValueError(f"rate and limit are finite and above 0, not {rate} and {limit}")
    points, losses, gradients, cut = [_joined(parameters)], [], [], []
    with _put_back(parameters), torch.enable_grad():
        for _ in range(updates):
            losses.append(_gradients(loss, parameters))
            gradients.append(_joined_gradients(parameters))
            if clip == "norm":
                clip_norm(parameters, limit)
            elif clip == "value":
                clip_value(parameters, limit)
            cut.append(_joined_gradients(parameters))
            _move(parameters, points[-1] - rate * cut[-1])
            points.append(_joined(parameters))
        losses.append(loss().detach())
    none = points[0].new_zeros(0, len(points[0]))
    stacked = (torch.stack(rows) if rows else none for rows in (gradients, cut))
    return Descent(torch.stack(points), torch.stack(losses), *stacked)


@dataclass(frozen=True)
class Surface:
    """The loss at origin + u * directions[0] + v * directions[1], as (points of v, points of u)."""

    u: Tensor
    v: Tensor
    loss: Tensor
    origin: Tensor
    directions: Tensor  # (2, P)

    def coordinates(self, points: Tensor) -> Tensor:
        """Where points (N, P) of a descent lie on the surface, or nearest to it, as (N, 2)."""
        return torch.linalg.lstsq(self.directions.T, (points - self.origin).T).solution.T


@torch.no_grad()
def surface(
    loss: Callable[[], Tensor],
    parameters: Sequence[Tensor],
    directions: Directions | None = None,
    *,
    span: float = 1.0,
    points: int = 25,
    seed: int = 0,
) -> Surface:
    """The loss around the present parameters, from -span to span along two directions.

    `loss` reads the parameters, which are moved about and put back bit for bit. Directions are
    tensors in the shapes of the parameters; without them they are drawn from the seed, and are
    filter-normalised (Li et al. 2018): every row of a matrix is as long as the row that it moves,
    and every vector as the vector, so that surfaces of different nets can be compared.
    """
    parameters = list(parameters)
    if directions is None:
        draw = torch.Generator().manual_seed(seed)
        directions = (random_direction(parameters, draw), random_direction(parameters, draw))
    for direction in directions:
        if [d.shape for d in direction] != [p.shape for p in parameters]:
            shapes = [tuple(p.shape) for p in parameters]
            raise ValueError(
                f"a direction has shapes {[tuple(d.shape) for d in direction]}; those of the "
                f"parameters are {shapes}"
            )
    origin, axes = _joined(parameters), torch.stack([_joined(d) for d in directions])
    at = torch.linspace(-span, span, points, dtype=origin.dtype, device=origin.device)
    found = []
    with _put_back(parameters):
        for v in at:
            for u in at:
                _move(parameters, origin + u * axes[0] + v * axes[1])
                found.append(torch.as_tensor(loss()).detach().clone())
    return Surface(at, at, torch.stack(found).view(points, points), origin, axes)


def random_direction(parameters: Sequence[Tensor], draw: torch.Generator) -> list[Tensor]:
    """A filter-normalised direction: as long as the parameters, row by row."""
    found = []
    for p in parameters:
        d = torch.randn(p.shape, generator=draw, dtype=torch.float64).to(p)
        dims = tuple(range(1, p.dim())) if p.dim() > 1 else None
        lengths = [t.detach().norm(dim=dims, keepdim=True) for t in (p, d)]
        found.append(d * (lengths[0] / lengths[1]))
    return found


def _gradients(loss: Callable[[], Tensor], parameters: Sequence[Tensor]) -> Tensor:
    """The loss; its gradients go where the clips look for them."""
    value = loss()
    found = torch.autograd.grad(value, parameters, allow_unused=True, materialize_grads=True)
    for p, gradient in zip(parameters, found, strict=True):
        p.grad = gradient.clone()
    return value.detach()


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([t.detach().reshape(-1) for t in tensors])


def _joined_gradients(parameters: Sequence[Tensor]) -> Tensor:
    return _joined([p.grad for p in parameters if p.grad is not None])


@torch.no_grad()
def _move(parameters: Sequence[Tensor], to: Tensor) -> None:
    pieces = to.split([p.numel() for p in parameters])
    for p, piece in zip(parameters, pieces, strict=True):
        p.copy_(piece.view_as(p))


@contextmanager
def _put_back(parameters: Sequence[Tensor]) -> Iterator[None]:
    """Whatever happens inside, parameters and their gradients come back bit for bit."""
    kept = [(p.detach().clone(), p.grad) for p in parameters]
    try:
        yield
    finally:
        with torch.no_grad():
            for p, (value, gradient) in zip(parameters, kept, strict=True):
                p.copy_(value)
                p.grad = gradient
