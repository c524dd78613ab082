"""An error at the last step, followed back through time, for several cells side by side.

Masi and Faralli's picture: the error arises at step 128 and at no other, and what is left of it
at each earlier step tells how far back a cell can learn.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from unspool.cells.cell import Cell, CellType
from unspool.cells.seeded import seeded
from unspool.engine.bptt import bptt
from unspool.engine.unfold import unfold
from unspool.inspect import jacobians

SHOWN = 8  # singular values that are kept


@dataclass(frozen=True)
class Flow:
    """The way back of one cell, over T steps.

    `gradients` has for each state dL/ds_t at every step, (T, n): the total gradient, so that of
    an LSTM's c_t includes its way through h_t. `lines` has the values of every line on the way
    there, (T, n). The rest is of all states joined, s, at t = 0 ... T: `measured` is
    ||ds_T/ds_t||, `norm_bound` the product of the steps' norms, `bound` (gamma * sigma_1)^(T-t)
    where the cell has that form, each (T + 1,), and `singular` the largest singular values of
    ds_T/ds_t, (T + 1, k).
    """

    name: str
    gradients: Mapping[str, Tensor]
    lines: Mapping[str, Tensor]
    measured: Tensor
    norm_bound: Tensor
    bound: Tensor | None
    singular: Tensor

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(self.gradients)

    @property
    def norms(self) -> dict[str, Tensor]:
        """||dL/ds_t|| of each state at every step, (T,)."""
        return {name: gradient.norm(dim=-1) for name, gradient in self.gradients.items()}


def gradient_flow(
    cells: Iterable[CellType] | CellType,
    *,
    steps: int = 128,
    input_size: int | None = None,
    hidden_size: int = 32,
    gain: float = 1.0,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
) -> list[Flow]:
    """Each cell, built from the same seed, on the same random input; the loss is v . y_T.

    `gain` multiplies every recurrent matrix. The input is as long as the hidden vector unless
    `input_size` says otherwise (MUT1 and MUT2 need it to be), and so is every further size that a
    cell declares, unless `sizes` has it, as in {"proj": 16}. All in float64.
    """
    kinds = [cells] if isinstance(cells, CellType) else list(cells)
    _check(kinds, steps, gain)
    input_size = hidden_size if input_size is None else input_size
    given = {"input": input_size, "hidden": hidden_size, **(sizes or {})}
    unknown = set(given) - {"input", "hidden"} - {n for k in kinds for n in k.equations.named_sizes}
    if unknown:
        raise ValueError(f"no cell here has the size {', '.join(sorted(unknown))}: leave it out")
    built = [_build(kind, given, gain, seed) for kind in kinds]
    draw = torch.Generator().manual_seed(seed)
    xs = torch.randn(steps, input_size, generator=draw, dtype=torch.float64)
    return [flow(cell, xs, _direction(cell.output_size, seed)) for cell in built]


@torch.no_grad()
def flow(cell: Cell, xs: Tensor, v: Tensor) -> Flow:
    """The way back of the loss v . y_T along one row `xs` (T, I), from a state of zeros."""
    if xs.dim() != 2 or not len(xs):
        raise ValueError(f"xs is one row of 1 step or more, (T, I); got {tuple(xs.shape)}")
    if v.shape != (cell.output_size,):
        raise ValueError(f"v has shape {tuple(v.shape)}; the output has ({cell.output_size},)")
    eqs, row = cell.equations, xs[:, None]
    d_ys = row.new_zeros(len(xs), 1, cell.output_size)
    d_ys[-1, 0] = v
    gradients = bptt(cell, row, d_ys=d_ys, record=eqs.states).recorded
    lines = unfold(cell, row, record=eqs.recordable, backend="reference")[2]
    steps = jacobians.step_jacobians(cell, xs)
    singular = jacobians.singular_values(jacobians.products(steps))
    return Flow(
        name=cell.kind.name,
        gradients={name: gradients[name][:, 0] for name in eqs.states},
        lines={name: values[:, 0] for name, values in lines.items()},
        measured=singular[:, 0],
        norm_bound=jacobians.norm_bound(steps),
        bound=jacobians.bound(cell, len(xs)),
        singular=singular[:, :SHOWN],
    )


def _check(kinds: list[CellType], steps: int, gain: float) -> None:
    for kind in kinds:
        if not isinstance(kind, CellType):
            hint = "give its kind, cell.kind" if isinstance(kind, Cell) else "see unspool.cell"
            raise ValueError(
                f"gradient_flow takes cell types, which it builds from one seed, and not a "
                f"{type(kind).__name__}: {hint}"
            )
    if steps < 1:
        raise ValueError(f"the error is followed back over 1 step or more, not {steps}")
    if not math.isfinite(gain):
        raise ValueError(f"the gain of the recurrent matrices is a finite number, not {gain}")


@torch.no_grad()
def _build(kind: CellType, given: Mapping[str, int], gain: float, seed: int) -> Cell:
    further = {name: size for name, size in given.items() if name not in ("input", "hidden")}
    with seeded(seed):
        cell = kind.sized(given["input"], given["hidden"], **further).double()
    with seeded(seed):
        cell.reset_parameters()  # once more: orthogonal to the last digit of float64
    for name in kind.equations.recurrent:
        cell.parameter(name).mul_(gain)
    return cell


def _direction(size: int, seed: int) -> Tensor:
    """A random unit vector, the same for all cells whose outputs are equally long."""
    v = torch.randn(size, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    return v / v.norm()
