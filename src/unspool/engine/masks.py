"""Random masks of a recurrence, drawn before it runs, so that every backend computes the same.

Draw anew for every call of `unfold`: in truncated backpropagation, for every chunk.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.equations.expr import Apply, Expr, products
from unspool.equations.program import Equations
from unspool.equations.rewrite import mask_operands, recurrent_operands, zoneout

FAR = 2**-8  # from 0 and 1: nearer to them 16 bits are too coarse for a chance


@dataclass(frozen=True)
class Masks:
    """`keep`: for each state 1 where it keeps its old value, (T, B, n), or the chance of it.

    `operands`: for each vector that a recurrent product reads (`h`, or `r * h`), a factor the
    same at every step, (B, n). `weights`: for each matrix a factor for every entry of it.
    """

    keep: Mapping[str, Tensor | float] = field(default_factory=dict)
    operands: Mapping[str, Tensor] = field(default_factory=dict)
    weights: Mapping[str, Tensor] = field(default_factory=dict)


def draw_masks(
    cell: Any,
    xs: Tensor,
    *,
    zoneout: float = 0.0,
    recurrent: float = 0.0,
    weights: float = 0.0,
) -> Masks:
    """Masks for one training call on `xs` (T, B, I).

    `zoneout` is the chance that a state keeps its old value (Krueger et al. 2017); `recurrent`
    drops entries of what recurrent products read, the same ones at every step (variational
    dropout, Gal and Ghahramani 2016); `weights` drops entries of the recurrent matrices
    (Merity et al. 2018). What is left is scaled up by 1 / (1 - p), zoneout aside.
    """
    for name, p in (("zoneout", zoneout), ("recurrent", recurrent), ("weights", weights)):
        check_probability(name, p)
    T, B = xs.shape[:2]
    if not hasattr(cell, "state_sizes"):
        raise ValueError(f"masks are drawn for a cell with sizes, not for {cell!r}")
    sizes: Mapping[str, int] = cell.state_sizes
    keep = {s: chance((T, B, n), zoneout, xs).to(xs.dtype) for s, n in sizes.items() if zoneout}
    if not (recurrent or weights):
        return Masks(keep)
    bound = _equations_needed(cell)
    operands = {
        text: keep_mask((B, size.value(bound.sizes)), recurrent, xs)
        for text, (_, size) in recurrent_operands(bound.equations).items()
        if recurrent
    }
    return Masks(keep, operands, _weight_masks(bound, weights, xs) if weights else {})


def expected_masks(cell: Any, zoneout: float) -> Masks:
    """What `draw_masks` comes to on average, for evaluation: zoneout mixes, nothing is dropped."""
    check_probability("zoneout", zoneout)
    return Masks({state: zoneout for state in cell.state_sizes if zoneout})


def check_probability(name: str, p: float) -> None:
    if not 0.0 <= p < 1.0:
        raise ValueError(f"{name} is a probability, at least 0 and below 1, not {p}")


def keep_mask(shape: tuple[int, ...], p: float, like: Tensor) -> Tensor:
    """0 with probability p, else 1 / (1 - p)."""
    return chance(shape, 1 - p, like).to(like.dtype).mul_(1 / quantised(1 - p))


def chance(shape: tuple[int, ...], p: float, like: Tensor) -> Tensor:
    """True with probability `quantised(p)`, on the device of `like`.

    On a CPU random numbers are dear, and one of 64 bits is enough for four entries.
    """
    if like.device.type != "cpu" or not FAR < p < 1 - FAR:
        return torch.rand(shape, device=like.device) < quantised(p)
    count = math.prod(shape)
    words = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    below = round(p * 2**16) - 2**15
    return (words.view(torch.int16)[:count] < below).view(shape)


def quantised(p: float) -> float:
    """The nearest 1/65536; chances near 0 and 1 stay as they are."""
    return round(p * 2**16) / 2**16 if FAR < p < 1 - FAR else p


def _equations_needed(cell: Any) -> Bound:
    bound = cell.bind() if hasattr(cell, "bind") else cell
    if not isinstance(bound, Bound):
        raise ValueError(
            "dropout inside the recurrence needs a cell written as equations; "
            f"{type(cell).__name__} is a Python class, which takes zoneout only"
        )
    return bound


def _weight_masks(bound: Bound, p: float, like: Tensor) -> dict[str, Tensor]:
    """A mask for every recurrent matrix; columns that read only the input stay as they are."""
    masks: dict[str, Tensor] = {}
    for matrix in bound.equations.recurrent:
        shape = tuple(bound.tensors[matrix].shape)
        drawn, masks[matrix] = keep_mask(shape, p, like), torch.ones(shape).to(like)
        for line in bound.equations.lines:
            for node in products(line.expr):
                if node.matrix == matrix:
                    for columns in _recurrent_columns(node.operand, bound):
                        masks[matrix][:, columns] = drawn[:, columns]
    return masks


def _recurrent_columns(operand: Expr, bound: Bound, start: int = 0) -> Iterator[slice]:
    if isinstance(operand, Apply) and operand.function == "concat":
        for part in operand.args:
            yield from _recurrent_columns(part, bound, start)
            start += bound.size_of(part)
    elif bound.equations.depends_on_state(operand):
        yield slice(start, start + bound.size_of(operand))


def check_masks(cell: Any, masks: Masks, xs: Tensor) -> None:
    """Every mask names something of the cell and has its shape."""
    if not isinstance(masks, Masks):
        raise ValueError(f"masks come from draw_masks or Masks(...), not as {type(masks).__name__}")
    if not (masks.keep or masks.operands or masks.weights):
        return
    T, B = xs.shape[:2]
    sizes: Mapping[str, int] = cell.state_sizes
    for state, keep in masks.keep.items():
        if state not in sizes:
            raise ValueError(f"a keep mask names {state!r}; the states are {', '.join(sizes)}")
        if isinstance(keep, Tensor):
            _check_shape(f"keep[{state!r}]", keep, (T, B, sizes[state]))
        elif not 0.0 <= keep <= 1.0:
            raise ValueError(f"the mask keep[{state!r}] is a share between 0 and 1, not {keep}")
    if not isinstance(cell, Bound):
        if masks.operands or masks.weights:
            raise ValueError("operand and weight masks need a cell written as equations")
        return
    operands = recurrent_operands(cell.equations)
    for text, mask in masks.operands.items():
        if text not in operands:
            listed = ", ".join(operands) or "none"
            raise ValueError(
                f"an operand mask names {text!r}; the recurrent operands are: {listed}"
            )
        _check_shape(f"operands[{text!r}]", mask, (B, operands[text][1].value(cell.sizes)))
    for name, mask in masks.weights.items():
        if name not in cell.equations.matrices:
            raise ValueError(f"a weight mask names {name!r}, which is no matrix of the cell")
        _check_shape(f"weights[{name!r}]", mask, tuple(cell.tensors[name].shape))


def _check_shape(name: str, mask: Any, shape: tuple[int, ...]) -> None:
    found = tuple(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
    if found != shape:
        raise ValueError(f"the mask {name} has shape {found}; expected {shape}")


@lru_cache(maxsize=256)
def masked_equations(
    equations: Equations, keep: tuple[str, ...], operands: tuple[str, ...]
) -> Equations:
    """The equations with these masks written into them."""
    return zoneout(mask_operands(equations, operands), keep)
