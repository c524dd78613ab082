"""Can a cell remember the first symbol? Trains it, and looks at its lines while it does."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from unspool.cells.cell import Cell, CellType
from unspool.data import first_symbol
from unspool.engine import unfold


@dataclass(frozen=True)
class MemoryRun:
    """The trained cell and what it came to; `lines` has every line's mean by step, (T,)."""

    cell: Cell
    losses: list[float]
    accuracy: float
    lines: dict[str, Tensor]


def learn_first_symbol(
    kind: CellType,
    *,
    steps: int = 20,
    symbols: int = 8,
    hidden_size: int = 32,
    updates: int = 300,
    seed: int = 0,
    on_update: Callable[[int, float], None] = lambda update, loss: None,
) -> MemoryRun:
    """Trains a cell to name the first of `steps` symbols, and tests it on fresh sequences.

    `on_update` hears the number of updates done and the loss of the last.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    cell = kind(symbols, hidden_size)
    readout = nn.Linear(cell.output_size, symbols)
    parameters = [*cell.parameters(), *readout.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=5e-3, weight_decay=0.0)
    losses = []
    for update in range(1, updates + 1):
        xs, targets = first_symbol(64, steps, symbols, generator)
        ys, _ = unfold(cell, xs)
        loss = nn.functional.cross_entropy(readout(ys[-1]), targets)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        losses.append(loss.item())
        on_update(update, losses[-1])
    with torch.no_grad():
        xs, targets = first_symbol(1000, steps, symbols, generator)
        ys, _, lines = unfold(cell, xs, record=cell.equations.recordable)
        right = readout(ys[-1]).argmax(-1) == targets
    means = {name: values.mean((1, 2)) for name, values in lines.items()}
    return MemoryRun(cell, losses, right.double().mean().item(), means)
