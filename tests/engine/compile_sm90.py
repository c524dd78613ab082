"""Compiles kernels for a GPU that is not there, and prints what came of each: a line of JSON.

A process of its own, since Triton decides when it loads whether it compiles or interprets.
"""

import json
import os
import sys
from typing import Any

os.environ["TRITON_INTERPRET"] = "0"

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import unspool as us
from unspool.engine import cpu, cuda, launch, step_cuda, tiles, triton_source

TYPES = {
    torch.bfloat16: "*bf16",
    torch.float16: "*fp16",
    torch.float32: "*fp32",
    torch.float64: "*fp64",
    torch.int64: "*i64",
    torch.int32: "*i32",
}


def compiled(function: Any, arguments: list[Any], warps: int) -> Any:
    """As Triton would at a launch with these arguments."""
    signature, fixed, attributes = {}, {}, {}
    for k, (name, value) in enumerate(zip(function.arg_names, arguments, strict=True)):
        if isinstance(value, Tensor):
            signature[name], number = TYPES[value.dtype], value.data_ptr()
        elif value == 1 and name not in triton_source.COUNTS:
            signature[name], fixed[name], number = "constexpr", 1, 1
        else:
            signature[name], number = "i32", 1 if name in triton_source.COUNTS else value
        if number % 16 == 0:
            attributes[(k,)] = [["tt.divisibility", 16]]
    source = ASTSource(function, signature, fixed, attributes)
    options = {"num_warps": warps, "launch_cooperative_grid": True}
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


def start(kernel: launch.Kernel, arguments: list[Any], B: int, device: torch.device) -> None:
    """In the place of a launch."""
    made = compiled(kernel.function, arguments, kernel.tiles.warps)
    ptx = made.asm["ptx"]
    found = {
        "cell": CELL[0],
        "dtype": str(arguments[6].dtype).removeprefix("torch."),
        "products": bool(tiles.Work.of(kernel.rec).products),
        "sides": len(kernel.rec.backwards),
        "waits": kernel.tiles.meets,
        "shared": made.metadata.shared,
        "foreseen": foreseen(kernel, arguments[6].element_size()),
        "products on tensor cores": "mma.sync" in ptx,
        "reads past the first cache": "ld.volatile.global" in ptx,
        "reads 16 bytes": ".v4.b32" in ptx,
        "cubin": len(made.asm["cubin"]),
    }
    print(json.dumps(found), flush=True)
    if made.metadata.shared > 232448:  # what a multiprocessor has
        raise launch.CannotBuild("too much shared memory")


def foreseen(kernel: launch.Kernel, element: int) -> int | None:
    """The shared memory that the rules count with, where they count."""
    tiling = kernel.tiles
    if tiling.local or not tiling.meets:
        return None
    work = tiles.Work.of(kernel.rec)
    weights = min(tiling.held, tiles.weight_bytes(work, tiling, element))
    return weights + tiles.near_bytes(work, tiling, element)


CELL: list[str] = [""]


def main() -> None:
    cuda.serves = lambda device: True
    launch.chip = lambda device: tiles.Chip(132, warps_wait=True)  # type: ignore[assignment]
    launch.Kernel.start = start  # type: ignore[method-assign]
    cpu.takes = lambda call: False
    step_cuda.error = lambda ours, theirs: 0.0  # nothing was computed
    for case in json.loads(sys.argv[1]):
        name, dtype, B, H, directions = case
        CELL[0] = name
        if not directions:
            cell = us.cells.named()[name](H, H).to(getattr(torch, dtype))
            us.Stepper(cell)(torch.randn(B, H, dtype=getattr(torch, dtype)))
            continue
        layer = us.Recurrent(us.cells.named()[name], H, H, bidirectional=directions == 2)
        layer.to(getattr(torch, dtype))
        xs = torch.randn(2, B, H, dtype=getattr(torch, dtype), requires_grad=True)
        lengths = torch.tensor([2] * B) if directions == 2 else None
        layer(xs, lengths=lengths, backend="cuda")[0].sum().backward()


if __name__ == "__main__":
    main()
