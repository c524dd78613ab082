"""Kernels as they are compiled for a GPU, executed without one; and that which executes them."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("triton")
from tests.ptx.machine import run
from tests.ptx.memory import Fault
from tests.ptx.program import parse
from tests.ptx.warp import ldmatrix, mma, narrowed, pair, stmatrix, widened
from unspool.engine import triton_wait

ROOT = Path(__file__).parent.parent.parent


def lines(*arguments: str) -> list[dict[str, Any]]:
    """What `python -m tests.ptx` says."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.ptx", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    "name",
    [
        "lstm bf16 x17 plain",
        "gru fp32 x17 plain",  # three products of TF32
        "lstm fp16 x1 everything",  # one program alone
        "indrnn bf16 x17 everything",  # nobody waits
        "elman auto",
        "janet step by step",
    ],
)
def test_a_check_for_a_gpu_passes(name: str) -> None:
    (said,) = lines(name)
    assert said["passed"] == name
    assert said["launches"] >= 2, "it ran in kernels"


@pytest.mark.xfail(
    tuple(map(int, version("triton").split(".")[:2])) >= (3, 7),
    reason="Triton 3.7 puts the groups of a product between its rows and columns in shared memory",
)
def test_no_two_lanes_meet_in_a_bank() -> None:
    forwards, backwards = lines("--shape", "2x16x256")
    for found in (forwards, backwards):
        assert found["programs"] == 32
        assert found["rounds"] == found["rounds_needed"] > 0
    assert backwards["read"] > forwards["read"]


# --- the machine -----------------------------------------------------------------------------


def test_products_of_a_warp() -> None:
    """Fragments as "Matrix Fragments for mma" has them: a matrix in, the product out."""
    draw = np.random.default_rng(0)
    g, t = np.arange(32) >> 2, np.arange(32) & 3
    left, right = (draw.normal(size=s).astype(np.float32) for s in ((16, 16), (16, 8)))
    bits = narrowed(left, "bf16"), narrowed(right, "bf16")
    a = [
        pair(bits[0][g + row, 2 * t + k], bits[0][g + row, 2 * t + 1 + k])
        for k in (0, 8)
        for row in (0, 8)
    ]
    b = [pair(bits[1][2 * t + k, g], bits[1][2 * t + 1 + k, g]) for k in (0, 8)]
    found = mma("m16n8k16", "bf16", a, b, [np.zeros(32, np.uint32)] * 4)
    wide = [widened(one, "bf16") for one in bits]
    expected = wide[0] @ wide[1]
    for k, word in enumerate(found):
        place = expected[g + 8 * (k // 2), 2 * t + k % 2]
        np.testing.assert_allclose(word.view(np.float32), place, rtol=1e-5, atol=1e-5)


def test_a_matrix_is_handed_to_lanes() -> None:
    """A lane gets two neighbours, of the row that is a quarter of its number."""
    rows = np.arange(64, dtype=np.uint16).reshape(8, 8)
    lanes = np.arange(32)
    row, column = lanes // 4, 2 * (lanes % 4)
    (word,) = ldmatrix(rows, False)
    assert (word == pair(rows[row, column], rows[row, column + 1])).all()
    (word,) = ldmatrix(rows, True)
    assert (word == pair(rows[column, row], rows[column + 1, row])).all()


@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_come_back(transposed: bool) -> None:
    rows = np.arange(256, dtype=np.uint16).reshape(32, 8)
    assert (stmatrix(ldmatrix(rows, transposed), transposed) == rows).all()


def test_half_precision_rounds_to_the_nearest() -> None:
    values = torch.randn(1000)
    for kind, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
        expected = values.to(dtype).view(torch.int16).numpy().view(np.uint16)
        assert (narrowed(values.numpy(), kind) == expected).all()


HEAD = """.visible .entry run(
    .param .u64 .ptr .global .align 1 run_param_0
)
{
    ld.param.b64 %rd1, [run_param_0];
    mov.u32 %r1, %tid.x;
"""


def execute(body: str, tensor: torch.Tensor, warps: int = 2) -> None:
    run(f"{HEAD}{body}\n    ret;\n$L__func_end0:\n}}", [tensor], shared=512, grid=1, warps=warps)


COPY = """    mad.wide.s32 %rd2, %r1, 4, %rd1;
    shl.b32 %r2, %r1, 2;
    ld.global.b32 %r3, [%rd2];
    st.shared.b32 [%r2], %r3;
    BARRIER
    xor.b32 %r4, %r2, 252;
    ld.shared.b32 %r5, [%r4];
    st.global.b32 [%rd2], %r5;"""


def test_warps_exchange_at_a_barrier() -> None:
    values = torch.arange(64, dtype=torch.int32)
    execute(COPY.replace("BARRIER", "bar.sync 0;"), values)
    assert values.tolist() == list(range(63, -1, -1))
    values = torch.arange(64, dtype=torch.int32)
    execute(COPY.replace("BARRIER", ""), values)
    assert values.tolist() != list(range(63, -1, -1)), "without one it is noticed"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("mad.wide.s32 %rd2, %r1, 8, %rd1;\n ld.global.b32 %r2, [%rd2];", "past the end"),
        ("add.s64 %rd2, %rd1, 2;\n ld.global.b32 %r2, [%rd2];", "not aligned"),
        ("shl.b32 %r2, %r1, 2;\n st.shared.b32 [%r2+600], %r1;", "past the end"),
        ("setp.lt.u32 %p1, %r1, 5;\n @%p1 bra $L1;\n$L1:", "lanes part"),
        ("add.s32 %r3, %r2, 1;", "before it is written"),
        ("setp.lt.u32 %p1, %r1, 32;\n @%p1 bra $L1;\n bar.sync 0;\n$L1:", "ended where others"),
    ],
)
def test_what_a_gpu_would_not_forgive(body: str, problem: str) -> None:
    with pytest.raises(Fault, match=problem):
        execute(body, torch.zeros(64, dtype=torch.int32))


def test_what_nobody_writes_is_waited_for_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.ptx.machine.TURNS", 1000)
    body = "$L1:\n ld.volatile.global.b32 %r2, [%rd1];\n setp.eq.b32 %p1, %r2, 0;\n @%p1 bra $L1;"
    with pytest.raises(Fault, match="in vain"):
        execute(body, torch.zeros(64, dtype=torch.int32))


def waiting(tensor: torch.Tensor, own: list[int]) -> None:
    """Two warps wait for the tensor's first 256 words of 16 bits; lanes begin with a row of `own`.

    What they have then goes to the next 256 words. Trouble is told in the last two.
    """
    names = [*(f"%r{10 + k}" for k in range(4)), *(f"%r{10 + k}" for k in range(4))]
    names += [*(f"%r{20 + k}" for k in range(8)), *["%rd1"] * 8, *["%rd2"] * 8]
    text = triton_wait.assembly(2, 8, [0]).replace("${:uid}", "1").replace("$$", "$_")
    text = re.sub(r"\$(\d+)", lambda found: names[int(found[1])], text).replace("$_", "$")
    words = [f"mov.u32 %r{10 + k}, {word};" for k, word in enumerate(own)]
    body = [
        "and.b32 %r1, %r1, 31;",
        *(f"shl.b32 %r2, %r1, 3;\n add.u32 %r{20 + k}, %r2, {k};" for k in range(8)),
        *words,
        "add.s64 %rd2, %rd1, 1024;",
        text,
        "mad.wide.s32 %rd3, %r20, 2, %rd1;",
        "st.global.v4.b32 [%rd3+512], {%r10, %r11, %r12, %r13};",
    ]
    execute("\n".join(body), tensor)


MARK = 0xFFFFFFFF


def test_a_warp_reads_again_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_wait, "PATIENCE", 2048)
    given = torch.arange(258 + 256, dtype=torch.int16)
    for half in (MARK - 0xFFFF, 0xFFFF):  # of a word is enough
        given[256:512] = 0
        waiting(given, [1, 2, half, 3])
        assert given[256:512].equal(torch.arange(256, dtype=torch.int16))
    waiting(given, [1, 2, 3, 4])
    rows = given[256:512].view(torch.int32).view(32, 4)
    assert rows.equal(torch.tensor([1, 2, 3, 4], dtype=torch.int32).expand(32, 4))
    assert given[512] != 1, "nobody waited in vain"


@pytest.mark.parametrize("place", [12, 13])
def test_a_warp_that_waits_in_vain_says_so(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_wait, "PATIENCE", 2048)
    given = torch.zeros(258 + 256, dtype=torch.int16)
    given[place] = -1
    waiting(given, [MARK] * 4)
    assert given[512:].view(torch.int32).item() == 1
    assert given[256 + place] == -1, "and others see that something is missing"


def test_instructions_are_read() -> None:
    line = "@!%p3 ld.global.v2.b32 { %r1, %r2 }, [ %rd1 + 16 ];"
    program = parse(f"{HEAD}{line}\n$L__func_end0:\n}}")
    one = program.instructions[-1]
    assert (one.guard, one.unless) == ("%p3", True)
    assert one.parts == ("ld", "global", "v2", "b32")
    assert one.operands == ("{ %r1, %r2 }", "[ %rd1 + 16 ]")
    assert program.parameters == ["run_param_0"]
