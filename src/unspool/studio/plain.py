"""Numbers as a page gets them."""

import math
from typing import Any

import torch
from torch import Tensor


def plain(values: Tensor, digits: int = 7) -> Any:
    """A tensor as lists, with as many digits as float32 has; what is not finite as None."""
    return _lists(values.detach().cpu().to(torch.float64).tolist(), digits)


def _lists(value: Any, digits: int) -> Any:
    if isinstance(value, list):
        return [_lists(item, digits) for item in value]
    # Differences from itself: NaN, and infinities.
    return float(f"{value:.{digits}g}") if value - value == 0 else None


def finite(answer: Any) -> Any:
    """The same, with None for what JSON has no number for: NaN and the infinities."""
    if isinstance(answer, dict):
        return {key: finite(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [finite(value) for value in answer]
    if isinstance(answer, float) and not math.isfinite(answer):
        return None
    return answer
