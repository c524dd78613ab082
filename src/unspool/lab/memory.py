"""Can a cell remember the first symbol? Trains it, and looks at its lines while it does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from unspool.cells.cell import Cell, CellType
from unspool.cells.seeded import seeded
from unspool.data import first_symbol
from unspool.engine import unfold
from unspool.train.optimise import clip_norm


@dataclass(frozen=True)
class MemoryRun:
    """The trained cell and what it came to; `lines` has every line's mean by step, (T,)."""

    cell: Cell
    losses: list[float]
    accuracy: float
    lines: dict[str, Tensor]


class FirstSymbol:
    """A cell that learns to name the first of `steps` symbols, one update after the other."""

    def __init__(
        self,
        kind: CellType,
        *,
        steps: int = 20,
        symbols: int = 8,
        hidden_size: int = 32,
        seed: int = 0,
    ):
        self.steps, self.symbols = steps, symbols
        self.generator = torch.Generator().manual_seed(seed)
        # Cells that add the input to a hidden vector read it at that size.
        input_size = hidden_size if kind.equations.constraints else symbols
        with seeded(seed):
            self.cell = kind.sized(input_size, hidden_size)
            self.readout = nn.Linear(self.cell.output_size, symbols)
        self.widen = _widen(symbols, input_size)
        self.parameters = [*self.cell.parameters(), *self.readout.parameters()]
        self.optimiser = torch.optim.AdamW(self.parameters, lr=5e-3, weight_decay=0.0)
        self.losses: list[float] = []

    def batch(self, rows: int) -> tuple[Tensor, Tensor]:
        xs, targets = first_symbol(rows, self.steps, self.symbols, self.generator)
        return xs @ self.widen, targets

    def update(self) -> float:
        """One step of training; the loss before it."""
        xs, targets = self.batch(64)
        ys, _ = unfold(self.cell, xs)
        loss = nn.functional.cross_entropy(self.readout(ys[-1]), targets)
        self.optimiser.zero_grad()
        loss.backward()
        clip_norm(self.parameters, 1.0)
        self.optimiser.step()
        self.losses.append(loss.item())
        return self.losses[-1]

    @torch.no_grad()
    def test(self) -> MemoryRun:
        """How it does on fresh sequences."""
        xs, targets = self.batch(1000)
        ys, _, lines = unfold(self.cell, xs, record=self.cell.equations.recordable)
        right = self.readout(ys[-1]).argmax(-1) == targets
        means = {name: values.mean((1, 2)) for name, values in lines.items()}
        return MemoryRun(self.cell, self.losses, right.double().mean().item(), means)


def learn_first_symbol(
    kind: CellType,
    *,
    updates: int = 300,
    on_update: Callable[[int, float], None] = lambda update, loss: None,
    **task: Any,
) -> MemoryRun:
    """Trains a cell at the task of `FirstSymbol`, and tests it on fresh sequences.

    `on_update` hears the number of updates done and the loss of the last.
    """
    learner = FirstSymbol(kind, **task)
    for update in range(1, updates + 1):
        on_update(update, learner.update())
    return learner.test()


def _widen(symbols: int, size: int) -> Tensor:
    """One-hot symbols in the first places of a wider input."""
    return torch.eye(symbols, size)
