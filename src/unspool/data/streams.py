"""Contiguous streams: a long text cut into rows that are read side by side, piece by piece."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unspool.data.batches import Epoch


@dataclass(frozen=True)
class Piece:
    """The next steps of every row: what is read (T, B), and what comes after it (T, B), -1 where
    nothing does; `count` is how many do."""

    inputs: Tensor
    targets: Tensor
    count: int

    @property
    def size(self) -> tuple[int, int]:
        return self.inputs.shape[0], self.inputs.shape[1]

    def to(self, device: Any) -> "Piece":
        inputs, targets = (x.to(device, non_blocking=True) for x in (self.inputs, self.targets))
        return Piece(inputs, targets, self.count)


class Streams:
    """Token ids as `rows` streams, in pieces of `steps`: each piece goes on where the last ended.

    Every epoch starts at another place, drawn from the seed and the epoch's number, so that the
    cuts between pieces fall elsewhere. What does not fill the rows evenly is left out of that
    epoch. With `shift=False` nothing is shifted or left out: the last rows are padded, and the
    targets there are -1.
    """

    def __init__(
        self, ids: Tensor, *, rows: int, steps: int, seed: int = 0, shift: bool = True
    ) -> None:
        if len(ids) < 2:
            raise ValueError(f"a stream needs at least 2 tokens, the text has {len(ids)}")
        self.ids, self.steps, self.seed, self.shift = ids, steps, seed, shift
        self.rows = min(rows, len(ids) - 1)

    def epoch(self, number: int) -> Epoch[Piece]:
        inputs, targets = self.shifted(number) if self.shift else self.padded()
        starts = range(0, inputs.shape[0], self.steps)

        def piece(start: int) -> Piece:
            end = start + self.steps
            wanted = targets[start:end].contiguous()
            return Piece(inputs[start:end].contiguous(), wanted, int((wanted >= 0).sum()))

        return Epoch(list(starts), piece)

    def shifted(self, number: int) -> tuple[Tensor, Tensor]:
        """Column b is the b-th stream, (L, B)."""
        room = max(1, min(self.steps, (len(self.ids) - 1) // self.rows))
        offset = int(np.random.default_rng([self.seed, number]).integers(room))
        length = (len(self.ids) - 1 - offset) // self.rows
        if not length:
            offset, length = 0, (len(self.ids) - 1) // self.rows
        taken = self.ids[offset : offset + length * self.rows + 1]
        return _columns(taken[:-1], self.rows), _columns(taken[1:], self.rows)

    def padded(self) -> tuple[Tensor, Tensor]:
        lack = -(len(self.ids) - 1) % self.rows
        inputs = torch.nn.functional.pad(self.ids[:-1], (0, lack))
        targets = torch.nn.functional.pad(self.ids[1:], (0, lack), value=-1)
        return _columns(inputs, self.rows), _columns(targets, self.rows)


def _columns(ids: Tensor, rows: int) -> Tensor:
    return ids.view(rows, -1).t()
