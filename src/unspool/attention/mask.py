"""Which steps of padded sequences may be read."""

from collections.abc import Sequence

import torch
from torch import Tensor


def readable(xs: Tensor, lengths: Tensor | Sequence[int] | None) -> Tensor:
    """(B, T) for xs (T, B, ...): True before a row's end, everywhere where there are no lengths."""
    T, B = xs.shape[:2]
    if lengths is None:
        return torch.ones(B, T, dtype=torch.bool, device=xs.device)
    lengths = torch.as_tensor(lengths, device=xs.device)
    if lengths.shape != (B,):
        raise ValueError(f"lengths have shape {tuple(lengths.shape)}; expected ({B},)")
    return torch.arange(T, device=xs.device) < lengths[:, None]
