"""How fast cells are, against torch.nn and against our own slower backends.

    python benchmarks/cells.py [--cells lstm,gru_after] [--shapes 50x1x64,...] [--json FILE]

Every candidate of a row runs in turn, several rounds, on the same data; a ratio is taken within
each round, and the table shows the median ratio with its spread. Above 1 is faster than torch.nn.
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import unspool as us

SHAPES = "50x1x64,200x1x512,1000x4x32,50x16x128,100x32x256,35x20x650,50x64x512"  # T x B x H
PEERS = {"lstm": torch.nn.LSTM, "gru_after": torch.nn.GRU, "elman": torch.nn.RNN}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cells", default=",".join(PEERS), help="names, or 'all'")
    parser.add_argument("--shapes", default=SHAPES, help="T x B x H, comma between; input = H")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backends", default="cpu", help="of cpu, planned, reference")
    parser.add_argument("--json", type=Path, help="write every round's seconds here")
    options = parser.parse_args()
    names = list(us.cells.named()) if options.cells == "all" else options.cells.split(",")
    rows = []
    for name in names:
        for shape in options.shapes.split(","):
            T, B, H = map(int, shape.split("x"))
            rows += measure(name, T, B, H, options.backends.split(","), options.rounds)
    summary(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def measure(name: str, T: int, B: int, H: int, backends: list[str], rounds: int) -> list[dict]:
    kind = us.cells.named()[name]
    extra = {size: H for size in kind.equations.named_sizes if size not in ("input", "hidden")}
    cell = kind(H, H, **extra)
    xs = torch.randn(T, B, H, requires_grad=True)
    layers: dict[str, Callable[[], Any]] = {
        backend: lambda backend=backend: us.unfold(cell, xs, backend=backend)[0]
        for backend in backends
    }
    if name in PEERS:
        peer = PEERS[name](H, H)
        layers["torch.nn"] = lambda: peer(xs)[0]
    found = []
    for mode in ("forward", "forward+backward"):
        calls = {
            k: without_grad(f) if mode == "forward" else with_grad(f) for k, f in layers.items()
        }
        seconds = interleaved(calls, rounds)
        row = {"cell": name, "shape": [T, B, H], "mode": mode, "seconds": seconds}
        found.append(row)
        print(describe(row), flush=True)
    return found


def with_grad(layer: Callable[[], Any]) -> Callable[[], None]:
    return lambda: layer().sum().backward()


def without_grad(layer: Callable[[], Any]) -> Callable[[], None]:
    def run() -> None:
        with torch.no_grad():
            layer()

    return run


def interleaved(calls: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Seconds a call, by round; each round times every candidate for a while."""
    repeats = {}
    for name, call in calls.items():
        call()  # compiles, allocates
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


def ratios(row: dict) -> list[float]:
    """torch.nn's time over ours, round by round."""
    seconds = row["seconds"]
    return [b / a for a, b in zip(seconds["cpu"], seconds["torch.nn"], strict=True)]


def describe(row: dict) -> str:
    times = "  ".join(
        f"{name} {statistics.median(seconds) * 1e3:9.3f} ms"
        for name, seconds in row["seconds"].items()
    )
    line = f"{row['cell']:<16} {'x'.join(map(str, row['shape'])):<12} {row['mode']:<17} {times}"
    if {"cpu", "torch.nn"} <= set(row["seconds"]):
        r = ratios(row)
        line += f"  ratio {statistics.median(r):5.2f} ({min(r):.2f} to {max(r):.2f})"
    return line


def summary(rows: list[dict]) -> None:
    for name in PEERS:
        for mode in ("forward", "forward+backward"):
            found = [
                statistics.median(ratios(row))
                for row in rows
                if row["cell"] == name and row["mode"] == mode and "cpu" in row["seconds"]
            ]
            if found:
                mean = math.exp(statistics.fmean(map(math.log, found)))
                print(f"{name:<16} {mode:<17} geometric mean {mean:.2f}, least {min(found):.2f}")


if __name__ == "__main__":
    main()
