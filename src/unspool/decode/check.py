"""What every decoder refuses: limits that are none, and steps that give no log-probabilities."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


def limits_of(first: Tensor, steps: int | Sequence[int]) -> list[int]:
    """How many steps each of the rows of `first` may take: one number for all, or one a row."""
    if first.ndim != 1:
        raise ValueError(f"first has shape {tuple(first.shape)}; expected (B,), a token a row")
    limits = [steps] if isinstance(steps, int) else [int(limit) for limit in steps]
    if any(limit < 0 for limit in limits):
        raise ValueError(f"steps is how many tokens to say at most, 0 or more, not {steps}")
    if isinstance(steps, int):
        return limits * len(first)
    if len(limits) != len(first):
        raise ValueError(f"steps are {len(limits)} numbers for {len(first)} rows: give one a row")
    return limits


def check_shape(log_probs: Tensor, rows: int) -> None:
    if log_probs.ndim != 2 or len(log_probs) != rows:
        raise ValueError(
            f"the step gave log_probs of shape {tuple(log_probs.shape)}; expected ({rows}, V)"
        )


def check_chances(best: NDArray[np.float64], rows: Sequence[int] | NDArray[np.int64]) -> None:
    """`best` are the largest log-probabilities of `rows`: NaN where a row has one anywhere."""
    bad = ~(best > -np.inf)
    if bad.any():
        raise ValueError(
            f"the step gave NaN, or no token a chance, in row {rows[int(bad.argmax())]}: "
            "look for NaN in the model's weights or in what it reads"
        )
