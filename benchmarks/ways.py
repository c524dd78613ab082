"""Every way to cut a recurrence for a GPU: what a step takes, beside what was guessed.

    PYTHONPATH=src:. python benchmarks/ways.py [--cells lstm] [--dtypes bf16] [--shapes 512x32x512]
        [--most 16] [--json FILE]

`unspool.engine.tiles` guesses which few ways are worth measuring; here more of them are measured,
which is how its constants are found. Launches are timed with the memory that they prepare, not with
the products before and after the loop.
"""

import argparse
import json
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cells_cuda
import cuda_peers
import torch
from cuda_peers import Case

from unspool.engine import launch, tiles, tune


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cells", default="lstm")
    parser.add_argument("--dtypes", default="bf16")
    parser.add_argument("--forms", default="dense")
    parser.add_argument("--shapes", default=cells_cuda.SHAPES)
    parser.add_argument("--most", type=int, default=16, help="ways of each loop, cheapest first")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.modes, options.peers, options.fast_path = "forward+backward", "", False
    cells_cuda.take_apart(options)
    torch.manual_seed(0)
    found = []
    for case in cells_cuda.all_cases(options):
        for loop, sides in loops_of(case):
            found += measured(case, loop, sides, options.most)
            if options.json:
                options.json.write_text(json.dumps(found))


def loops_of(case: Case) -> list[tuple[launch.Loop, Sequence[launch.Side]]]:
    """The loops of one call, forwards and backwards, with what they were launched with."""
    found: list[tuple[launch.Loop, Sequence[launch.Side]]] = []
    started = launch.Loop.launch

    def seen(self: launch.Loop, sides: Sequence[launch.Side]) -> list[launch.Found]:
        found.append((self, sides))
        return started(self, sides)

    launch.Loop.launch = seen
    try:
        cuda_peers.ours(case, "cuda", "cuda").call()
    finally:
        launch.Loop.launch = started
    return found


def measured(
    case: Case, loop: launch.Loop, sides: Sequence[launch.Side], most: int
) -> list[dict[str, Any]]:
    (T, B, _), work = case.shape, tiles.Work.of(loop.rec)
    xs = sides[0].stages.call.xs
    chip, count = launch.chip(xs.device), len(loop.rec.backwards)
    precision = launch.precision_of(xs.dtype)
    ways = tiles.priced(work, tiles.power_of_two(B, 16), xs.element_size(), chip, count, precision)
    which = "back" if loop.rec.backwards[0] else "forth"
    kernels = [loop.built(way) for _, way in ways[:most]]
    with ThreadPoolExecutor(16) as pool:
        problems = list(pool.map(lambda kernel: problem(kernel, sides), kernels))
    found = []
    for (guess, way), kernel, wrong in zip(ways, kernels, problems, strict=False):
        line: dict[str, Any] = {"case": str(case), "loop": which, "guess": guess, **asdict(way)}
        taken = None
        try:
            taken = tune.seconds(kernel, sides) / T * 1e6
        except Exception as error:
            wrong = wrong or cuda_peers.one_line(error)
        is_chosen = way in [kernel.tiles for kernel in loop.kernels.values()]
        found.append(line | {"us": taken, "wrong": wrong, "chosen": is_chosen})
        chosen = "  chosen" if is_chosen else ""
        print(
            f"{case} {which:<5} {taken or math.nan:7.2f} us, guessed {guess:5.2f}: rows {way.rows} "
            f"programs {way.programs} chunk {way.chunk} split {way.split} warps {way.warps} "
            f"batch {way.batch} held {way.held}{chosen} {wrong or ''}",
            flush=True,
        )
    return found


def problem(kernel: launch.Kernel, sides: Sequence[launch.Side]) -> str | None:
    try:
        kernel.compile(sides)
    except Exception as error:
        return cuda_peers.one_line(error)
    return None


if __name__ == "__main__":
    main()
