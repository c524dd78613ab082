"""Kernels for a GPU, compiled by Triton and its assembler for one that need not be there."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")
SCRIPT = Path(__file__).with_name("compile_sm90.py")

CASES = [
    ("lstm", "bfloat16", 16, 256, 1),
    ("lstm", "bfloat16", 20, 150, 2),  # rows are not whole sectors, both directions, lengths
    ("gru", "float16", 16, 128, 1),
    ("layer_norm_lstm", "float32", 4, 64, 1),
    ("peephole", "float64", 4, 96, 1),
    ("lstm", "bfloat16", 4, 32, 1),  # one program alone
    ("mingru", "bfloat16", 4, 64, 1),  # no product in the loop
    ("janet", "float32", 40, 96, 0),  # one step
    ("gru_after", "bfloat16", 3, 650, 0),
    ("layer_norm_lstm", "bfloat16", 5, 1100, 0),  # which reads whole vectors
]


def test_kernels_compile_for_hopper() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), json.dumps(CASES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(kernel["cubin"] > 1000 for kernel in found)
    assert Counter(kernel["sides"] for kernel in found)[2] == 2, "both directions in one launch"
    fit = [kernel for kernel in found if kernel["shared"] <= 232448]
    for name, *_, directions in CASES:
        wanted = 2 if directions else 1
        assert sum(kernel["cell"] == name for kernel in fit) >= wanted, f"{name}: both passes"
    for kernel in found:
        assert kernel["reads past the first cache"] == kernel["waits"]
        if kernel["foreseen"] is not None:
            assert kernel["shared"] <= kernel["foreseen"], kernel
        halves = kernel["dtype"] in ("bfloat16", "float16")
        if halves and kernel["products"]:
            assert kernel["products on tensor cores"], kernel
