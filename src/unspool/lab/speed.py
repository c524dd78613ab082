"""How fast a cell runs here: candidates take turns, and are compared within each round.

Machines are never quiet for long: a ratio of two times of the same round says more than either.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from unspool.cells.cell import Cell, CellType
from unspool.engine import unfold
from unspool.engine.kernels import some_sizes

MODES = ("forward", "forward+backward")
TORCH = {"lstm": torch.nn.LSTM, "gru_after": torch.nn.GRU, "elman": torch.nn.RNN}
Layer = Callable[[torch.Tensor], torch.Tensor]


def build(kind: CellType, size: int) -> Cell:
    """A cell with all sizes alike, as far as its equations allow."""
    return Cell(kind, some_sizes(kind.equations, size))


def why_slow(kind: CellType, size: int, where: "Where") -> str | None:
    """Why the cell has no compiled kernels here; None if it has."""
    cell = where.put(build(kind, size))
    xs = torch.zeros(1, 1, cell.input_size, device=where.device, dtype=where.dtype)
    try:
        unfold(cell, xs.requires_grad_(), backend=torch.device(where.device).type)
    except ValueError as error:
        return str(error)
    return None


@dataclass(frozen=True)
class Where:
    """What is measured on, and in which dtype."""

    device: str = "cpu"
    dtype: torch.dtype = torch.float32

    def put(self, layer: Any) -> Any:
        return layer.to(self.device, self.dtype)

    def wait(self) -> None:
        """Until the device has done what it was asked for."""
        if self.device.startswith("cuda"):
            torch.cuda.synchronize(self.device)

    def __str__(self) -> str:
        if self.device.startswith("cuda"):
            return torch.cuda.get_device_name(self.device)
        return f"{torch.get_num_threads()} threads"


CPU = Where()


def layers(kind: CellType, size: int, backends: list[str], where: Where = CPU) -> dict[str, Layer]:
    """The cell on several backends, and torch.nn's layer of its kind if there is one."""
    cell = where.put(build(kind, size))

    def ours(backend: str) -> Layer:
        return lambda xs: unfold(cell, xs, backend=backend)[0]

    found = {backend: ours(backend) for backend in backends}
    if kind.name in TORCH:
        peer = where.put(TORCH[kind.name](size, size))
        found["torch.nn"] = lambda xs: peer(xs)[0]
    return found


def measure(
    candidates: Mapping[str, Layer],
    shape: tuple[int, int, int],
    mode: str,
    rounds: int,
    where: Where = CPU,
) -> dict[str, list[float]]:
    """Seconds a call, by candidate and round, at T x B x H."""
    xs = torch.randn(shape, device=where.device, dtype=where.dtype)
    xs.requires_grad_(mode != "forward")
    calls = {name: _call(layer, xs, mode) for name, layer in candidates.items()}
    return interleaved(calls, rounds, where)


def _call(layer: Layer, xs: torch.Tensor, mode: str) -> Callable[[], Any]:
    if mode == "forward":
        return torch.no_grad()(lambda: layer(xs))
    return lambda: layer(xs).sum().backward()


def interleaved(
    calls: Mapping[str, Callable[[], Any]], rounds: int, where: Where = CPU
) -> dict[str, list[float]]:
    """Each round times every candidate for a while."""
    repeats = {}
    for name, call in calls.items():
        elapsed(call, 2, where)  # compiles, allocates
        repeats[name] = max(1, min(50, int(0.05 / elapsed(call, 1, where))))
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            seconds[name].append(elapsed(call, repeats[name], where))
    return seconds


def elapsed(call: Callable[[], Any], repeats: int, where: Where) -> float:
    """Seconds a call; the host waits before and after, never between."""
    where.wait()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    where.wait()
    return (time.perf_counter() - start) / repeats


def ratios(seconds: Mapping[str, list[float]], ours: str, theirs: str) -> list[float]:
    """Their time over ours, round by round: above 1 we are faster."""
    return [b / a for a, b in zip(seconds[ours], seconds[theirs], strict=True)]


def median(values: list[float]) -> float:
    return statistics.median(values)
