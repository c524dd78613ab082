"""`python -m tests.ptx NAME ...`: checks of `tests.gpu`, with kernels as they are compiled.

Kernels are compiled for a Hopper GPU and executed here, instruction by instruction. A process of
its own, since Triton decides when it loads whether it compiles or interprets. With `--shape TxBxH`
one cell is run at a size of its own instead, cut as it would be on an H200, and what a program did
is counted: `--shape 2x16x768 --cell lstm --dtype bf16`.
"""

import argparse
import json
import os
import traceback
from collections.abc import Callable
from typing import Any

os.environ["TRITON_INTERPRET"] = "0"

from torch import Tensor

import unspool as us
from tests.engine.compile_sm90 import compiled
from tests.gpu import checks
from tests.ptx.machine import Tally, run
from unspool.engine import cpu, cuda, launch, tiles, triton_build, triton_source

load = triton_build.load
LAUNCHES: list[tuple[int, Tally]] = []


class Executed:
    """A kernel whose launches are executed here."""

    def __init__(self, source: str):
        self.function = load(source)

    def __getitem__(self, grid: tuple[int]) -> Callable[..., None]:
        def launched(*arguments: Any, num_warps: int, **_: Any) -> None:
            try:
                self.execute(arguments, grid[0], num_warps)
            except BaseException:  # which the choice among ways would pass over
                traceback.print_exc()
                os._exit(1)

        return launched

    def execute(self, arguments: tuple[Any, ...], grid: int, warps: int) -> None:
        made = compiled(self.function, list(arguments), warps)
        given = [
            value
            for name, value in zip(self.function.arg_names, arguments, strict=True)
            if isinstance(value, Tensor) or value != 1 or name in triton_source.COUNTS
        ]
        shared = made.metadata.shared
        tally = run(made.asm["ptx"], given, shared=shared, grid=grid, warps=warps)
        LAUNCHES.append((grid, tally))


def at_shape(options: argparse.Namespace) -> None:
    """A cell at a shape, and what its launches did."""
    T, B, H = map(int, options.shape.split("x"))
    kind = us.cells.named()[options.cell]
    sizes = dict.fromkeys(kind.equations.named_sizes, H)
    cell, truth = checks.made(kind, sizes, options.seed)
    given, weights = checks.drawn(cell, T, B), []
    expected = checks.outcome(truth, given, weights, backend="reference")
    dtype, allowed = checks.DTYPES[options.dtype]
    found = checks.outcome(cell.to(dtype), given, weights, backend="cuda")
    checks.close(found, expected, allowed)
    for grid, tally in LAUNCHES:
        print(json.dumps({"programs": grid, **tally.of_each(grid)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of checks, as `make test-gpu` prints them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shape", help="T x B x H")
    parser.add_argument("--cell", default="lstm")
    parser.add_argument("--dtype", default="bf16", choices=checks.DTYPES)
    options = parser.parse_args()
    known = dict(checks.checks("cpu", options.seed))
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no check {unknown[0]!r}; one is {next(iter(known))!r}")
    if not options.names and not options.shape:
        parser.error("name a check, or give a --shape")
    cuda.serves = lambda device: True
    cpu.takes = lambda call: False
    launch.chip = lambda device: tiles.Chip(132, warps_wait=True)  # type: ignore[assignment]
    triton_build.load = Executed  # type: ignore[assignment]
    if options.shape:
        at_shape(options)
    for name in options.names:
        known[name]()
        print(json.dumps({"passed": name, "launches": len(LAUNCHES)}), flush=True)
        LAUNCHES.clear()


if __name__ == "__main__":
    main()
