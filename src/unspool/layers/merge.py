"""How the two directions of a bidirectional layer become one output."""

from typing import Literal

import torch
from torch import Tensor, nn

Merge = Literal["concat", "mean", "sum", "learned"]
MERGES: tuple[Merge, ...] = ("concat", "mean", "sum", "learned")


def check_merge(merge: str) -> None:
    if merge not in MERGES:
        raise ValueError(f"merge is one of {', '.join(MERGES)}, not {merge!r}")


class MergeDirections(nn.Module):
    """(T, B, O) twice to (T, B, 2 * O) for concat, else to (T, B, O).

    `learned` is a linear map of both: W @ concat(forwards, backwards) + b.
    """

    def __init__(self, merge: Merge, size: int):
        super().__init__()
        check_merge(merge)
        self.merge = merge
        self.output_size = 2 * size if merge == "concat" else size
        self.linear = nn.Linear(2 * size, size) if merge == "learned" else None

    def forward(self, forwards: Tensor, backwards: Tensor, inside: Tensor | None) -> Tensor:
        """`inside` (T, B, 1) is False past a row's end, where the learned bias must not show."""
        if self.merge == "sum":
            return forwards + backwards
        if self.merge == "mean":
            return (forwards + backwards) / 2
        both = torch.cat((forwards, backwards), -1)
        if self.linear is None:
            return both
        return self.linear(both) if inside is None else self.linear(both) * inside
