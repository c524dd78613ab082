"""How fast cells are, against torch.nn, our own slower loops and others.

    python benchmarks/cells.py [--cells lstm,gru_after | all] [--shapes 50x1x64,...] [--json FILE]
                               [--backends cpu,planned,reference,bf16]
                               [--peers compile,torchrecurrent,jax] [--budget] [--step]

Every candidate of a row runs in turn, several rounds, on the same sizes; a ratio is taken within
each round, and the table shows the median ratio with its spread. Above 1 is faster than torch.nn.
With --budget each cell is compared with our own LSTM, by the share of its multiplications. With
--step a single step of one row is timed, against torch.nn's cells.

With --device cuda it is cells_cuda.py that runs, with options of its own (--device cuda --help).

torchrecurrent and jax come from PyPI, if they are asked for.
"""

import argparse
import json
import math
import statistics
from pathlib import Path
from typing import Any

import peers
import torch

import unspool as us
from unspool.engine.planning import make_plan
from unspool.equations.expr import products
from unspool.lab import speed

SHAPES = "50x1x64,200x1x512,1000x4x32,50x16x128,100x32x256,35x20x650,50x64x512"  # T x B x H


def main() -> None:
    where = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    where.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    chosen, rest = where.parse_known_args()
    if chosen.device == "cuda":
        import cells_cuda  # which imports this file

        cells_cuda.main([*rest, "--device", "cuda"])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter, parents=[where]
    )
    parser.add_argument("--cells", default="lstm,gru_after,elman", help="names, or 'all'")
    parser.add_argument("--shapes", default=SHAPES, help="T x B x H, comma between; input = H")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backends", default="cpu", help="of cpu, planned, reference, bf16")
    parser.add_argument("--peers", default="", help="of compile, torchrecurrent, jax")
    parser.add_argument("--budget", action="store_true", help="against our own LSTM")
    parser.add_argument("--step", action="store_true", help="one step of one row")
    parser.add_argument("--json", type=Path, help="write every round's seconds here")
    options = parser.parse_args()
    names = list(us.cells.named()) if options.cells == "all" else options.cells.split(",")
    rows: list[dict[str, Any]] = []
    if options.step:
        if options.json:
            parser.error("--json goes with sequences, not with --step")
        step()
        return
    for name in names:
        for shape in options.shapes.split(","):
            T, B, H = map(int, shape.split("x"))
            rows += measure(name, T, B, H, options)
    summary(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def measure(name: str, T: int, B: int, H: int, options: Any) -> list[dict[str, Any]]:
    kind = us.cells.named()[name]
    candidates = speed.layers(kind, H, options.backends.split(","))
    if options.budget:
        candidates["our lstm"] = speed.layers(us.cells.LSTM, H, ["cpu"])["cpu"]
        if not recurrent_phases(kind):
            candidates["memory"] = memory(kind, H)
    for peer in filter(None, options.peers.split(",")):
        candidates |= peers.PEERS[peer](name, T, B, H)
    found = []
    for mode in speed.MODES:
        here = {k: layer for k, layer in candidates.items() if k != "memory" or mode == "forward"}
        seconds = speed.measure(here, (T, B, H), mode, options.rounds)
        row = {"cell": name, "shape": [T, B, H], "mode": mode, "seconds": seconds}
        found.append(row)
        print(describe(row), flush=True)
    return found


def multiplications(kind: us.CellType) -> int:
    """Of all products of a step, in units of size x size."""
    return sum(1 for line in kind.equations.lines for _ in products(line.expr))


def recurrent_phases(kind: us.CellType) -> int:
    """How many levels of a step wait for a product or a reduction."""
    levels = make_plan(kind.equations).forward.levels
    return sum(any(item.waits for item in level) for level in levels)


def memory(kind: us.CellType, H: int) -> speed.Layer:
    """What a cell without recurrent products cannot do without: its products, its traffic."""
    weights = torch.randn(multiplications(kind) * H, H)

    def run(xs: torch.Tensor) -> torch.Tensor:
        product = torch.nn.functional.linear(xs, weights)
        return product.clone()[..., :H].clone()  # read once, written once; the output written

    return run


def budget(row: dict[str, Any]) -> float:
    """Our time over the LSTM's, scaled by the share of its multiplications."""
    kind = us.cells.named()[row["cell"]]
    share = max(multiplications(kind) / multiplications(us.cells.LSTM), 0.35)
    return speed.median(speed.ratios(row["seconds"], "our lstm", "cpu")) / share


def describe(row: dict[str, Any]) -> str:
    seconds = row["seconds"]
    times = "  ".join(f"{name} {speed.median(found) * 1e3:.3f}" for name, found in seconds.items())
    line = f"{row['cell']:<16} {'x'.join(map(str, row['shape'])):<11} {row['mode']:<17} ms: {times}"
    if {"cpu", "torch.nn"} <= set(seconds):
        r = speed.ratios(seconds, "cpu", "torch.nn")
        line += f"  ratio {speed.median(r):.2f} ({min(r):.2f} to {max(r):.2f})"
    if "our lstm" in seconds:
        phases = recurrent_phases(us.cells.named()[row["cell"]])
        line += f"  budget {budget(row):.2f} of {1.6 if phases > 1 else 1.25}, {phases} phases"
    return line


def summary(rows: list[dict[str, Any]]) -> None:
    pairs = {(name, "cpu", other) for row in rows for name in [row["cell"]]
             for other in row["seconds"] if other not in ("cpu", "our lstm")}  # fmt: skip
    for name, ours, theirs in sorted(pairs):
        for mode in speed.MODES:
            found = [
                speed.median(speed.ratios(row["seconds"], ours, theirs))
                for row in rows
                if row["cell"] == name and row["mode"] == mode
                if {ours, theirs} <= set(row["seconds"])
            ]
            if found:
                about = f"geometric mean {mean(found):.2f}, least {min(found):.2f}"
                print(f"{name:<16} {mode:<17} {theirs} / {ours}: {about}")
    for mode in speed.MODES:
        found = [r for r in rows if r["mode"] == mode and {"cpu", "planned"} <= set(r["seconds"])]
        few = [row for row in found if row["shape"][1] <= 16]
        small = [speed.median(speed.ratios(row["seconds"], "cpu", "planned")) for row in few]
        if small:
            print(f"all, B <= 16     {mode:<17} planned / cpu: geometric mean {mean(small):.2f}")


def mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def step(where: speed.Where = speed.CPU, rows: int = 1) -> None:
    """One step of some rows, without gradients."""
    cells = {"lstm": torch.nn.LSTMCell, "gru_after": torch.nn.GRUCell, "elman": torch.nn.RNNCell}
    for name, peer in cells.items():
        for H in (64, 128, 256, 512, 1024):
            cell, theirs = where.put(us.cells.named()[name](H, H)), where.put(peer(H, H))
            stepper = us.Stepper(cell)
            x = torch.randn(rows, H, device=where.device, dtype=where.dtype)
            _, state = stepper(x)
            given = tuple(state) if len(state) > 1 else state[0]
            with torch.no_grad():
                seconds = speed.interleaved(
                    {
                        "ours": lambda s=stepper, x=x, state=state: s(x, state),
                        "torch.nn": lambda p=theirs, x=x, given=given: p(x, given),
                    },
                    9,
                    where,
                )
            r = speed.ratios(seconds, "ours", "torch.nn")
            times = "  ".join(f"{k} {speed.median(v) * 1e6:.1f} us" for k, v in seconds.items())
            print(f"{name:<10} {H:<5} {times}  ratio {speed.median(r):.2f}", flush=True)


if __name__ == "__main__":
    main()
