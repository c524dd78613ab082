"""Time and memory over the length of sequences, with and without recomputing.

    python benchmarks/length.py [--cell lstm] [--rows 16] [--hidden 128]

Time is that of a forward and a backward pass, by step; memory is what autograd keeps between them,
parameters and the input left out. Recomputing keeps the state of every sqrt(T) steps, and while it
runs backwards the lines of one such stretch: both are counted.
"""

import argparse
import math
import statistics
import time

import torch

import unspool as us

LENGTHS = (100, 300, 1000, 3000, 10_000)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cell", default="lstm")
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    cell = us.cells.named()[options.cell](options.hidden, options.hidden)
    print(f"{options.cell}, {options.rows} rows, {options.hidden} units, float32")
    print("steps   us/step  MB kept  bytes a step and row | recomputing: us/step  MB kept  saving")
    for T in LENGTHS:
        xs = torch.randn(T, options.rows, options.hidden)
        plain, again = (measure(cell, xs, k, options.rounds) for k in (None, math.isqrt(T)))
        by_row = plain[1] / T / options.rows
        again = again[0], again[1] + plain[1] // T * math.isqrt(T)
        print(
            f"{T:<7} {plain[0] / T * 1e6:8.2f} {plain[1] / 1e6:8.2f}  {by_row:20.0f} |"
            f" {again[0] / T * 1e6:20.2f} {again[1] / 1e6:8.2f} {plain[1] / again[1]:6.1f}x",
            flush=True,
        )


def measure(
    cell: us.Cell, xs: torch.Tensor, recompute: int | None, rounds: int
) -> tuple[float, int]:
    """Seconds of a forward and a backward pass, bytes kept between them."""
    ours = {id(tensor) for tensor in (xs, *cell.parameters())}
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in ours:
            storage = tensor.untyped_storage()
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        us.unfold(cell, xs, recompute=recompute)
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        us.unfold(cell, xs, recompute=recompute)[0].sum().backward()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), sum(kept.values()) - shared(kept, xs)


def shared(kept: dict[int, int], xs: torch.Tensor) -> int:
    """Stretches of the input are views of it: no memory of their own."""
    return kept.get(xs.untyped_storage().data_ptr(), 0)


if __name__ == "__main__":
    main()
