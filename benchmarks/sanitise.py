"""Every cell's kernels under AddressSanitizer and UBSan, on odd shapes: silence is a pass.

    python benchmarks/sanitise.py [CELL ...]

The kernels are compiled with the sanitizers and run in a process that preloads their runtime;
one access past an array, or one undefined shift, ends it with a report and a non-zero status.
"""

import os
import subprocess
import sys
import tempfile
from typing import Any

import torch

import unspool as us
from unspool.engine import layout

FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"


def main() -> None:
    runtime = subprocess.check_output(["cc", "-print-file-name=libasan.so"], text=True).strip()
    with tempfile.TemporaryDirectory() as cache:
        env = {
            **os.environ,
            "UNSPOOL_CFLAGS": FLAGS,
            "XDG_CACHE_HOME": cache,
            "LD_PRELOAD": runtime,
            "ASAN_OPTIONS": "detect_leaks=0",  # Python's own
        }
        command = [sys.executable, __file__, "inside", *sys.argv[1:]]
        sys.exit(subprocess.run(command, env=env, check=False).returncode)


def inside() -> None:
    layout.SMALL = 0  # several workers even here
    torch.set_num_threads(2)
    for name in sys.argv[2:] or us.cells.named():
        kind = us.cells.named()[name]
        for dtype, rows, size, steps in (
            (torch.float32, 1, 1, 3),
            (torch.float32, 7, 17, 4),
            (torch.float64, 5, 33, 3),
            (torch.float32, 13, 50, 2),
        ):
            sizes = dict.fromkeys(kind.equations.named_sizes, size)
            if "proj" in sizes or "output" in sizes:
                sizes |= {"proj": max(1, size - 1)} if "proj" in sizes else {"output": size + 3}
            cell = us.Cell(kind, sizes).to(dtype)
            xs = torch.randn(steps, rows, size, dtype=dtype, requires_grad=True)
            masks = us.draw_masks(cell, xs, zoneout=0.2, recurrent=0.2)
            lengths = torch.randint(0, steps + 1, (rows,))
            plain: dict[str, Any] = {}
            ways: tuple[dict[str, Any], ...] = (
                plain,
                {"masks": masks},
                {"lengths": lengths},
                {"reverse": True},
            )
            for how in ways:
                record = tuple(cell.state_sizes)
                ys, _, lines = us.unfold(cell, xs, backend="cpu", record=record, **how)
                (ys.sum() + sum(line.sum() for line in lines.values())).backward()
                with torch.no_grad():
                    us.unfold(cell, xs, backend="cpu", **how)
        print(f"{name}: clean", flush=True)


if __name__ == "__main__":
    inside() if sys.argv[1:2] == ["inside"] else main()
