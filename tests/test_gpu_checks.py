"""The checks for a CUDA machine, tried here with interpreted kernels: they must not rot."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
from tests.engine.side_by_side import programs
from tests.gpu import checks

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in places unread
TRIED = [
    "lstm fp32 x1 everything",
    "gru bf16 x17 plain",
    "everything fp64 x1 everything",
    "coupled dawdling",
    "random cell 3",
    "peephole step by step",
    "odd places",
]


@pytest.mark.parametrize("name", TRIED)
def test_a_check_passes(name: str) -> None:
    run = dict(checks.checks("cpu", 0))[name]
    with programs(at_once=6):
        run()


def test_a_check_fails_where_numbers_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    run = dict(checks.checks("cpu", 0))["lstm fp32 x1 everything"]
    monkeypatch.setitem(checks.DTYPES, "fp32", (checks.torch.float32, 1e-12))
    with programs(), pytest.raises(AssertionError, match="is off by"):
        run()


def test_names_are_unique() -> None:
    names = [name for name, _ in checks.checks("cpu", 0)]
    assert len(set(names)) == len(names) > 600


@pytest.mark.skipif(checks.torch.cuda.is_available(), reason="there is a GPU: make test-gpu")
def test_without_a_gpu_it_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.gpu"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, "torch sees no GPU" in done.stdout) == (2, True)
