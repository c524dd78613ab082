"""How fast cells are on a GPU, against cuDNN.

    PYTHONPATH=src:. python benchmarks/cells_cuda.py [--cells lstm,own | all] [--dtypes bf16,fp16]
        [--shapes 512x32x512,...] [--forms dense,ragged,bidirectional] [--peers] [--fast-path]
        [--step ROWS]
        [--seconds N] [--json FILE] [--markdown FILE]

Every candidate of a case runs in turn, several rounds, between CUDA events; a ratio is taken
within each round, and a line shows the median ratio with its least and greatest. Above 1 is
faster than cuDNN. A cell that cuDNN has (lstm, gru_after, elman) is compared with cuDNN's; any
other with cuDNN's LSTM, of whose time it is allowed the share of the LSTM's multiplications that
it does itself, but at least half: "cuDNN LSTM x 0.75". Its milliseconds are printed as measured,
and the ratio has the share in it.

"own" is a cell that is in no library, written here as a user would. --peers adds slower ways:
the loop in torch, the same loop as a CUDA graph, JAX's scan of an LSTM; or some: --peers loop,jax.
--fast-path compares our LSTM in bf16 and in fp16 with cuDNN's in fp16, which has kernels that
cuDNN's other dtypes have not. --step times single steps, as decoding takes them, instead. With
--device cpu it runs here, against torch.nn, to try it out.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cells
import cuda_peers
import cuda_tables
import torch
from cuda_peers import Candidate, Case
from cuda_tables import Row

import unspool as us
from unspool.lab import speed

CELLS = "lstm,peephole,coupled,gru_after,gru,elman,own"
SHAPES = "1024x16x768,512x32x512,512x16x256,128x64x1024,128x256x512,35x20x650"  # T x B x H
WHILE = 0.02  # seconds that a candidate runs in a round
SLOW_ROUNDS = 2


def main(arguments: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parse(given)
    torch.manual_seed(0)
    start = time.monotonic()
    rows: list[Row] = []
    failed: list[str] = []
    left: list[str] = []
    about = cuda_tables.about(options.device, given)
    print("  ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    if options.step is not None:
        for dtype in options.dtypes:
            print(f"one step of {options.step} rows, {dtype}")
            cells.step(speed.Where(options.device, cuda_peers.DTYPES[dtype]), options.step)
        return
    for case in all_cases(options):
        if time.monotonic() - start > options.seconds:
            left.append(str(case).rstrip())
        else:
            rows += measure(case, options, failed)
        if options.json:  # at once: who sets a limit of time may not wait for the end
            found = {"about": about, "rows": list(map(asdict, rows))}
            found |= {"failed": failed, "left out": left}
            options.json.write_text(json.dumps(found, indent=1))
    for line in left:
        print(f"left out for want of time: {line}")
    print("\n".join(cuda_tables.summary(rows)), flush=True)
    if options.markdown:
        options.markdown.write_text(cuda_tables.markdown(about, rows))


def parse(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cells", default=CELLS, help="names, 'own', or 'all' of the library's")
    parser.add_argument("--shapes", default=SHAPES, help="T x B x H, comma between; input = H")
    parser.add_argument("--dtypes", help="of bf16, fp16, fp32; bf16 if not given, fp32 on the CPU")
    parser.add_argument("--forms", default="dense", help=f"of {', '.join(cuda_peers.FORMS)}")
    parser.add_argument("--modes", default=",".join(speed.MODES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backend", default="auto", help="ours: 'cuda' never falls back")
    every = ",".join(cuda_peers.PEERS)
    parser.add_argument("--peers", nargs="?", const=every, default="", help=f"of {every}")
    parser.add_argument("--fast-path", action="store_true", help="against cuDNN's fp16 LSTM")
    parser.add_argument(
        "--step",
        type=int,
        nargs="?",
        const=1,
        metavar="ROWS",
        help="one step, against torch's cells",
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="no new case after these")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--json", type=Path, help="write everything measured here")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    options = parser.parse_args(given)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("torch sees no GPU; try it out with --device cpu --shapes 20x4x16")
    own = (options.cells, options.shapes, options.peers) != (CELLS, SHAPES, "")
    if options.step is not None and (own or options.json or options.markdown or options.fast_path):
        parser.error("--step has cells and sizes of its own, and prints: --dtypes goes with it")
    if options.step is not None and options.step < 1:
        parser.error("--step takes at least one row")
    try:
        take_apart(options)
    except ValueError as error:
        parser.error(str(error))
    return options


def take_apart(options: argparse.Namespace) -> None:
    """Lists out of the options that are given with commas, their words checked."""
    options.dtypes = options.dtypes or {"cuda": "bf16", "cpu": "fp32"}[options.device]
    if "all" in options.cells.split(","):
        options.cells = options.cells.replace("all", ",".join(us.cells.named()))
    known = {"cells": cuda_peers.kinds(), "dtypes": cuda_peers.DTYPES, "modes": speed.MODES}
    known |= {"forms": cuda_peers.FORMS, "peers": cuda_peers.PEERS}
    for name, allowed in known.items():
        words = [word for word in getattr(options, name).split(",") if word]
        for word in words:
            if word not in allowed:
                raise ValueError(f"--{name} are of {', '.join(allowed)}; not {word!r}")
        setattr(options, name, words)
    shapes = [tuple(map(int, shape.split("x"))) for shape in options.shapes.split(",")]
    if any(len(shape) != 3 for shape in shapes):
        raise ValueError(f"a shape is T x B x H, as in 512x32x512; got {options.shapes}")
    options.shapes = shapes


def all_cases(options: argparse.Namespace) -> list[Case]:
    found = [
        Case(name, dtype, form, shape, mode)
        for form in options.forms
        for dtype in options.dtypes
        for name in options.cells
        for shape in options.shapes
        for mode in options.modes
    ]
    if options.fast_path:
        found += [
            Case("lstm", dtype, "dense", shape, mode, theirs="fp16")
            for dtype in ("bf16", "fp16")
            for shape in options.shapes[:4]
            for mode in options.modes
        ]
    return found


def measure(case: Case, options: argparse.Namespace, failed: list[str]) -> list[Row]:
    """One row for each peer that ran, printed as they are found."""
    device = options.device
    builders: dict[str, Callable[[], Candidate]] = {
        "ours": partial(cuda_peers.ours, case, device, options.backend),
        "cuDNN": partial(cuda_peers.torch_nn, case, device),
    }
    for name in cuda_peers.peers_of(case, options.peers):
        builders[name] = partial(cuda_peers.PEERS[name], case, device)
    ready: dict[str, Warm] = {}
    for name, build in builders.items():
        if found := attempt(case, name, lambda build=build: warm(build(), device), failed):
            ready[name] = found
    seconds = interleaved(case, ready, options, failed)
    if "ours" not in seconds:
        return []
    first, own = ready["ours"].first, seconds.pop("ours")
    rows = [row(case, name, theirs, own, first, device) for name, theirs in seconds.items()]
    rows = rows or [Row(case, "", "", 1.0, first, own, [])]
    for found in rows:
        print(found, flush=True)
    return rows


def row(
    case: Case, name: str, theirs: list[float], own: list[float], first: float, device: str
) -> Row:
    if name != "cuDNN":
        return Row(case, name, name, 1.0, first, own, theirs)
    against = f"cuDNN {case.theirs}".strip()
    peer, share = cuda_peers.torch_name(case, device), cuda_peers.share(case)
    return Row(case, against, peer, share, first, own, theirs)


def attempt(case: Case, name: str, work: Callable[[], Any], failed: list[str]) -> Any:
    """What `work` finds; None if it raises, which is said in one line, and the run goes on."""
    try:
        return work()
    except Exception as error:
        failed.append(f"{case} {name} failed: {cuda_peers.one_line(error)}")
        print(failed[-1], flush=True)
        return None


@dataclass(frozen=True)
class Warm:
    """A candidate that has run: the seconds of its first call, its calls in a round."""

    candidate: Candidate
    first: float
    repeats: int


def warm(candidate: Candidate, device: str) -> Warm:
    """Compiles and allocates; then a few calls tell how many are enough for a round."""
    start = time.perf_counter()
    elapsed(candidate, 1, device)
    first = time.perf_counter() - start
    if candidate.slow:
        return Warm(candidate, first, 1)
    elapsed(candidate, 2, device)
    needed = math.ceil(WHILE / elapsed(candidate, 3, device))
    return Warm(candidate, first, max(1, min(200, needed)))


def interleaved(
    case: Case, ready: dict[str, Warm], options: argparse.Namespace, failed: list[str]
) -> dict[str, list[float]]:
    """Seconds a call by candidate and round; slow ones take part in the first rounds only."""
    seconds: dict[str, list[float]] = {name: [] for name in ready}
    for index in range(options.rounds):
        for name, found in ready.items():
            if name not in seconds or (found.candidate.slow and index >= SLOW_ROUNDS):
                continue
            work = partial(elapsed, found.candidate, found.repeats, options.device)
            once = attempt(case, name, work, failed)
            if once is None:
                del seconds[name]
            else:
                seconds[name].append(once)
    return seconds


def elapsed(candidate: Candidate, repeats: int, device: str) -> float:
    """Seconds a call; the host waits before and after, never between."""
    if device == "cuda":
        torch.cuda.synchronize()
    if device == "cuda" and candidate.wait is None:
        return between_events(candidate, repeats)
    start, last = time.perf_counter(), None
    for _ in range(repeats):
        last = candidate.call()
    if candidate.wait is not None:
        candidate.wait(last)
    return (time.perf_counter() - start) / repeats


def between_events(candidate: Candidate, repeats: int) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        candidate.call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3 / repeats


if __name__ == "__main__":
    main()
