"""How fast a cell runs here: candidates take turns, and are compared within each round.

Machines are never quiet for long: a ratio of two times of the same round says more than either.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from unspool.cells.cell import Cell, CellType
from unspool.engine import unfold

MODES = ("forward", "forward+backward")
TORCH = {"lstm": torch.nn.LSTM, "gru_after": torch.nn.GRU, "elman": torch.nn.RNN}
Layer = Callable[[torch.Tensor], torch.Tensor]


def build(kind: CellType, size: int) -> Cell:
    """A cell with all sizes alike."""
    return Cell(kind, dict.fromkeys(kind.equations.named_sizes, size))


def layers(kind: CellType, size: int, backends: list[str]) -> dict[str, Layer]:
    """The cell on several backends, and torch.nn's layer of its kind if there is one."""
    cell = build(kind, size)

    def ours(backend: str) -> Layer:
        return lambda xs: unfold(cell, xs, backend=backend)[0]

    found = {backend: ours(backend) for backend in backends}
    if kind.name in TORCH:
        peer = TORCH[kind.name](size, size)
        found["torch.nn"] = lambda xs: peer(xs)[0]
    return found


def measure(
    candidates: Mapping[str, Layer], T: int, B: int, size: int, mode: str, rounds: int
) -> dict[str, list[float]]:
    """Seconds a call, by candidate and round."""
    xs = torch.randn(T, B, size, requires_grad=mode != "forward")
    return interleaved({name: _call(layer, xs, mode) for name, layer in candidates.items()}, rounds)


def _call(layer: Layer, xs: torch.Tensor, mode: str) -> Callable[[], Any]:
    if mode == "forward":
        return torch.no_grad()(lambda: layer(xs))
    return lambda: layer(xs).sum().backward()


def interleaved(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Each round times every candidate for a while."""
    repeats = {}
    for name, call in calls.items():
        for _ in range(2):  # compiles, allocates
            call()
        start = time.perf_counter()
        call()
        repeats[name] = max(1, min(50, int(0.05 / (time.perf_counter() - start))))
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            seconds[name].append((time.perf_counter() - start) / repeats[name])
    return seconds


def ratios(seconds: Mapping[str, list[float]], ours: str, theirs: str) -> list[float]:
    """Their time over ours, round by round: above 1 we are faster."""
    return [b / a for a, b in zip(seconds[ours], seconds[theirs], strict=True)]


def median(values: list[float]) -> float:
    return statistics.median(values)
