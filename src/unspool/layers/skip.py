"""Connections around layers, so that deep stacks train."""

from typing import Literal

import torch
from torch import Tensor, nn

Skip = Literal["residual", "dense"]
SKIPS: tuple[Skip, ...] = ("residual", "dense")


class Residual(nn.Module):
    """A layer's input added to its output, through a matrix where their sizes differ."""

    def __init__(self, input_size: int, output_size: int):
        super().__init__()
        same = input_size == output_size
        self.through = nn.Identity() if same else nn.Linear(input_size, output_size, bias=False)

    def forward(self, xs: Tensor, ys: Tensor, inside: Tensor | None) -> Tensor:
        """`inside` (T, B, 1) keeps what stands in the padding of `xs` out of the sum."""
        return ys + self.through(xs if inside is None else torch.where(inside, xs, 0))
