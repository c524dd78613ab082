"""Where a cell stands still: fixed points under a constant input, and what happens around them.

With s all states of a cell joined in order (for an LSTM [h; c]) and F one step, a fixed point is
F(s*) = s*. Around it the step is nearly its Jacobian dF/ds: what lies along an eigenvector is
multiplied by the eigenvalue at every step, so it dies out below 1 in modulus and grows above it
(Sussillo and Barak, "Opening the black box", Neural Computation 25, 2013).
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from unspool.cells.cell import Bound, Cell
from unspool.equations.derivative import OUTPUT, adjoint, derive, from_next
from unspool.equations.evaluate import evaluate, run

BLOCK = 2_000_000  # entries of Jacobians held at a time: 16 MB a line of the equations
STUCK = 1e12  # a step damped this much no longer moves
AIM = 1e-4  # of the tolerance: where an eigenvalue is 1, searches meet only far below it
LEVEL = 1e-6  # a slope of the speed that counts as none

Kind = Literal["stable", "unstable", "saddle"]


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A state (S,) that a step leaves in place, or moves less than any state around it.

    `speed` is ||F(s) - s||, `eigenvalues` are the complex ones of dF/ds, the largest modulus
    (`radius`) first. `kind` is "stable" where all moduli are below 1, "unstable" where all are
    above, else "saddle". A `slow` point is a local minimum of the speed that is not a fixed point.
    """

    state: Tensor
    speed: float
    eigenvalues: Tensor
    radius: float
    kind: Kind
    slow: bool


@torch.no_grad()
def fixed_points(
    cell: Any,
    x: Tensor | None = None,
    *,
    starts: Tensor,
    tolerance: float = 1e-10,
    apart: float = 1e-4,
    margin: float = 1.0,
    steps: int = 300,
) -> list[FixedPoint]:
    """The fixed points of a cell under the input x (I,), zeros if None, found from many starts.

    `starts` (N, S) are joined states, best those that the cell visits on data: from each one,
    1/2 ||F(s) - s||^2 is minimised in float64. The search stays within `margin` of the range of
    the starts, unit by unit: far out gates saturate, and everything stands still. Points closer
    than `apart` are one. Fixed points come first, then slow points, each in the order of the
    starts that lead to them; starts that have led nowhere after `steps` are left out. Each start
    costs S^3 a step.
    """
    motion = _Motion(cell, x)
    if not isinstance(starts, Tensor) or starts.dim() != 2 or starts.shape[1] != motion.size:
        found = tuple(starts.shape) if isinstance(starts, Tensor) else type(starts).__name__
        joined = " + ".join(f"{name} {size}" for name, size in motion.states.items())
        raise ValueError(
            f"starts has shape (N, {motion.size}), the states joined ({joined}); got {found}. "
            "A state becomes one with torch.cat(tuple(state), -1)"
        )
    if not len(starts) or not starts.isfinite().all():
        raise ValueError("starts holds one finite state or more: leave out NaN and infinity")
    if not (tolerance > 0 and apart >= 0 and margin >= 0 and steps >= 1):
        raise ValueError(
            "tolerance is above 0, apart and margin 0 or more, steps 1 or more; "
            f"got {tolerance=}, {apart=}, {margin=}, {steps=}"
        )
    starts = starts.detach().to(motion.x)
    box = (starts.amin(0) - margin, starts.amax(0) + margin)
    states = _settle(motion, starts, box, AIM * tolerance, steps)
    distinct = _distinct(motion, states, tolerance, apart)
    return [_point(motion, state, tolerance) for state in distinct]


class _Motion:
    """One step of a cell under a constant input: where states go, and its Jacobian there."""

    def __init__(self, cell: Any, x: Tensor | None):
        bound = cell.bind() if isinstance(cell, Cell) else cell
        if not isinstance(bound, Bound):
            raise ValueError(
                f"fixed points are those of a cell with equations and sizes, as us.cells.GRU(8, 16)"
                f"; got {type(cell).__name__}"
            )
        self.tensors = {name: value.detach().double() for name, value in bound.tensors.items()}
        self.derived = derive(bound.equations)
        # the derived lines read pre-activations, which have names and sizes of their own
        self.bound = Bound(self.derived.forward, bound.sizes, self.tensors)
        self.states = bound.state_sizes
        self.size = sum(self.states.values())
        like = next(iter(self.tensors.values()), torch.zeros((), dtype=torch.float64))
        zeros = like.new_zeros(bound.sizes["input"])
        if x is not None and x.shape != zeros.shape:
            raise ValueError(
                f"x is one input of shape {tuple(zeros.shape)}, the same at every step; "
                f"got {tuple(x.shape)}"
            )
        self.x = zeros if x is None else x.detach().to(zeros)

    def values(self, states: Tensor) -> dict[str, Any]:
        """Every line of a step from states (N, S)."""
        x = self.x.expand(len(states), -1)
        parts = states.split(list(self.states.values()), -1)
        env: dict[str, Any] = {**self.tensors, "x": x, **dict(zip(self.states, parts, strict=True))}
        run(self.derived.forward.lines, env, x, self.bound.size_of)
        return env

    def residual(self, states: Tensor, env: dict[str, Any] | None = None) -> Tensor:
        """F(s) - s, (N, S)."""
        env = self.values(states) if env is None else env
        carried = self.derived.forward.carried.values()
        return torch.cat([env[line] for line in carried], -1) - states

    def jacobian(self, states: Tensor, env: dict[str, Any]) -> Tensor:
        """dF/ds, (N, S, S): the derived backward step of each unit of the new state by itself."""
        count, sizes = len(states), list(self.states.values())
        units = torch.eye(self.size, dtype=states.dtype, device=states.device)
        seeds = units[:, None].expand(-1, count, -1).split(sizes, -1)
        env = env | {from_next(name): seed for name, seed in zip(self.states, seeds, strict=True)}
        env[OUTPUT] = states.new_zeros(self.bound.output_size)
        for line in self.derived.lines:
            env[line.name] = evaluate(line.expr, env, self.bound.size_of)
        parts = [
            env.get(adjoint(name), states.new_zeros(size)).expand(self.size, count, size)
            for name, size in self.states.items()
        ]
        return torch.cat(parts, -1).transpose(0, 1)


def _settle(
    motion: _Motion, starts: Tensor, box: tuple[Tensor, Tensor], aim: float, steps: int
) -> Tensor:
    """Each start moved to where its speed is least: Levenberg's and Marquardt's steps in a box.

    The damping is in proportion to the squared speed, so that close to a fixed point the steps
    are Newton's, also where fixed points lie on a line and the Jacobian is singular.
    """
    states, damping = starts.clone(), starts.new_ones(len(starts))
    speed = _speed(motion.residual(states))
    for _ in range(steps):
        moving = ((speed > aim) & (damping < STUCK)).nonzero()[:, 0]
        if not len(moving):
            break
        for rows in moving.split(max(1, BLOCK // motion.size**2)):
            tried = (states[rows] + _newton(motion, states[rows], damping[rows])).clamp(*box)
            reached = _speed(motion.residual(tried))
            better = reached < speed[rows]
            states[rows] = torch.where(better[:, None], tried, states[rows])
            speed[rows] = torch.where(better, reached, speed[rows])
            damping[rows] = torch.where(
                better, (damping[rows] / 10).clamp(min=1e-8), damping[rows] * 10
            )
    return states


def _newton(motion: _Motion, states: Tensor, damping: Tensor) -> Tensor:
    """The damped step: (J^T J + d I) step = -J^T r, with r = F(s) - s and J its Jacobian."""
    residual, slope, jacobian = _slope(motion, states)
    damped = damping * residual.square().sum(1)
    matrix = jacobian.mT @ jacobian
    matrix.diagonal(dim1=1, dim2=2).add_(damped[:, None])
    # a singular matrix gives what is not finite, which is then not taken
    return -torch.linalg.solve_ex(matrix, slope[..., None]).result[..., 0]


def _slope(motion: _Motion, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """r = F(s) - s, the gradient J^T r of 1/2 ||r||^2, and J."""
    env = motion.values(states)
    residual, jacobian = motion.residual(states, env), motion.jacobian(states, env)
    jacobian = jacobian - torch.eye(motion.size, dtype=states.dtype, device=states.device)
    return residual, (jacobian.mT @ residual[..., None])[..., 0], jacobian


def _speed(residual: Tensor) -> Tensor:
    return residual.norm(dim=1).nan_to_num(nan=torch.inf)


def _distinct(motion: _Motion, states: Tensor, tolerance: float, apart: float) -> list[Tensor]:
    """Of the states that have settled one for each place, fixed points before slow ones."""
    fixed, slow = [], []
    for block in states.split(max(1, BLOCK // motion.size**2)):
        residual, slope, _ = _slope(motion, block)
        speed = _speed(residual)
        fixed.append(block[speed <= tolerance])
        slow.append(block[(speed > tolerance) & (slope.norm(dim=1) <= LEVEL * speed)])
    left, found = torch.cat(fixed + slow), []
    while len(left):
        found.append(left[0])
        left = left[(left - left[0]).norm(dim=1) > apart]
    return found


def _point(motion: _Motion, state: Tensor, tolerance: float) -> FixedPoint:
    states = state[None]
    env = motion.values(states)
    speed = _speed(motion.residual(states, env)).item()
    values = torch.linalg.eigvals(motion.jacobian(states, env)[0])
    values = values[values.abs().argsort(descending=True, stable=True)]
    moduli = values.abs()
    kind: Kind = "saddle"
    if (moduli < 1).all():
        kind = "stable"
    elif (moduli > 1).all():
        kind = "unstable"
    return FixedPoint(state, speed, values, moduli[0].item(), kind, speed > tolerance)
