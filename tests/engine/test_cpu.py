"""The compiled kernels: workers, precision, odd sizes, the cache, life without a compiler."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import unspool as us
from tests.conformance.table import IDS, TABLE, build, inputs, resized
from tests.engine.test_backends import results, same
from unspool.engine import c_build, layout, say
from unspool.engine.planning import make_plan
from unspool.engine.programs import forward_program

every_cell = pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)


@pytest.fixture
def three_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Also where one would do: three for two vectors of units, so that one is often idle."""
    monkeypatch.setattr(layout, "SMALL", 0)
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(1)


@every_cell
@pytest.mark.usefixtures("three_workers")
def test_several_workers_give_the_same(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, resized(sizes, itertools.count(19, 4)))
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.mul_(0.3)
    xs, state = inputs(cell, T=20, B=7)
    weights: list[torch.Tensor] = []
    lengths = [20, 3, 0, 7, 19, 20, 11]
    expected = results(cell, xs, state, weights, backend="reference", lengths=lengths)
    for _ in range(3):
        found = results(cell, xs, state, weights, backend="cpu", lengths=lengths)
        same(found, expected, 1e-9)


@every_cell
def test_single_precision_is_as_good_as_torchs(kind: us.CellType, sizes: dict[str, int]) -> None:
    """Against float64, at most three times as far off as the reference in float32, normwise.

    Over four draws: in a single one the reference may be lucky where a cell is ill-conditioned.
    """
    errors = torch.zeros(2, 0)
    for seed in range(4):
        torch.manual_seed(seed)
        cell = us.Cell(kind, resized(sizes, itertools.repeat(37))).double()
        xs, state = inputs(cell, T=12, B=5)
        weights: list[torch.Tensor] = []
        exact = results(cell, xs, state, weights, backend="reference")
        cell.float()
        given = [value.detach().float().requires_grad_() for value in (xs, *state)]
        weights = [weight.float() for weight in weights]
        found = [
            results(cell, given[0], given[1:], weights, backend=backend)
            for backend in ("cpu", "reference")
        ]
        distances = torch.tensor(
            [
                [((a - b).norm() / b.norm().clamp(min=1e-30)).item() ** 2 for a, b in pairs]
                for pairs in (zip(one, exact, strict=True) for one in found)
            ]
        )
        errors = distances if not errors.numel() else errors + distances
    ours, theirs = (errors / 4).sqrt()
    assert (ours <= 3 * theirs.clamp(min=1e-7)).all()


@pytest.mark.parametrize("size", [1, 2, 7, 15, 16, 17, 31, 33, 64, 67])
@pytest.mark.parametrize("rows", [1, 2, 5, 6, 13])
def test_any_size(size: int, rows: int) -> None:
    for kind in (us.cells.LSTM, us.cells.GRU):
        cell = kind(3, size).double()
        xs, state = inputs(cell, T=3, B=rows)
        weights: list[torch.Tensor] = []
        expected = results(cell, xs, state, weights, backend="reference")
        same(results(cell, xs, state, weights, backend="cpu"), expected)


SHARED = [  # matrices that stand twice: in one sum, with other operands, in overlapping pieces
    "a = tanh(W @ h + b)\nd = sigmoid(W @ h + V @ a)\nh' = a * d + x",
    "c = tanh(W @ h + e)\na = tanh(W @ x)\nd = tanh(A @ h + f)\nh' = a * c * d + c",
    "h' = tanh(W @ concat(x, h) + W @ concat(h, x) + b)",
    "h' = tanh(W @ concat(x, h) + W @ concat(x, tanh(h)) + b)",
    # an old state that is read whole after the first level
    "c' = a * c + g * h + x\nh' = tanh(U @ c + V @ c' + b)",
]


@pytest.mark.parametrize("text", SHARED)
@pytest.mark.parametrize("rows", [3, 9])
@pytest.mark.usefixtures("three_workers")
def test_what_workers_share(text: str, rows: int) -> None:
    cell = us.cell(text)(41, 41).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.mul_(0.3)
    xs, state = inputs(cell, T=40, B=rows)
    weights: list[torch.Tensor] = []
    expected = results(cell, xs, state, weights, backend="reference")
    for _ in range(5):
        same(results(cell, xs, state, weights, backend="cpu"), expected, 1e-9)
        with torch.no_grad():
            ys, last = us.unfold(cell, xs, state, backend="cpu")
        same([ys, *last], expected[: 1 + len(last)], 1e-9)


def test_sizes_by_name_and_not_by_order() -> None:
    kind = us.cell(
        "c: mem\ny: proj\nc' = tanh(A @ x + B @ c)\nh' = tanh(C @ c' + D @ h)\ny = E @ h'"
    )
    xs = torch.randn(3, 2, 3)
    for sizes in ({"proj": 30, "mem": 4}, {"mem": 30, "proj": 4}):
        cell = kind(3, 5, **sizes)
        ys, state = us.unfold(cell, xs, backend="cpu")
        assert ys.shape[2] == sizes["proj"]
        assert state.c.shape[1] == sizes["mem"]


def test_functions_in_single_precision() -> None:
    """Each function over its range, and at its edges, against torch in float64."""
    xs = torch.cat((torch.linspace(-110, 110, 4001), torch.linspace(-1e-3, 1e-3, 101)))
    xs = torch.cat((xs, torch.tensor([0.0, -0.0, 1e-30, 1e30, -1e30, float("inf"), -float("inf")])))
    functions = ("sigmoid", "tanh", "exp", "softplus", "relu", "abs", "sin", "cos")
    for name in functions:
        cell = us.cell(f"h' = {name}(x + 0 * h)")(1, 1)
        with torch.no_grad():
            ours, _ = us.unfold(cell, xs.view(1, -1, 1), backend="cpu")
        wide = xs.double().view(1, -1, 1)
        theirs, _ = us.unfold(cell.double(), wide, backend="reference")
        torch.testing.assert_close(ours, theirs.float(), rtol=2e-6, atol=1e-7, equal_nan=True)
    cell = us.cell("h' = tanh(x) + 0 * h")(1, 1)
    nan, _ = us.unfold(cell, torch.full((1, 17, 1), float("nan")), backend="cpu")
    assert nan.isnan().all()


def test_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = forward_program(make_plan(us.cells.Elman.equations), True, False).kernel.source
    c_build._load.cache_clear()
    c_build.load(source, "float")
    (library,) = (tmp_path / "unspool").glob("*.so")
    assert (tmp_path / "unspool").stat().st_mode & 0o777 == 0o700
    first = library.stat().st_mtime_ns
    c_build._load.cache_clear()
    c_build.load(source, "float")
    assert library.stat().st_mtime_ns == first  # used again
    whole = library.read_bytes()
    library.unlink()
    library.write_bytes(whole[: len(whole) // 2])  # damaged: a crash, if it were loaded
    c_build._load.cache_clear()
    assert c_build.load(source, "float").run
    assert library.read_bytes() == whole
    assert not list((tmp_path / "unspool").glob("tmp*"))


def test_processes_may_build_side_by_side(tmp_path: Path) -> None:
    code = "import torch, unspool as us\nus.unfold(us.cells.JANET(3, 4), torch.zeros(2, 1, 3))"
    env = {"XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin:/usr/local/bin"}
    running = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]


def test_fewer_threads_than_asked_for(tmp_path: Path) -> None:
    """OpenMP may grant less; whoever is there does all the work, and nobody waits for the rest."""
    code = """
import torch, unspool as us
from unspool.engine import layout
layout.SMALL = 0
torch.set_num_threads(4)
cell, xs = us.cells.GRU(3, 40), torch.randn(9, 2, 3)
ours, theirs = (us.unfold(cell, xs, backend=backend)[0] for backend in ("cpu", "reference"))
torch.testing.assert_close(ours, theirs)
"""
    env = {"XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin:/usr/local/bin"}
    for limit in ("1", "2"):
        given = {**env, "OMP_THREAD_LIMIT": limit}
        subprocess.run([sys.executable, "-c", code], env=given, check=True, timeout=120)


def test_without_a_compiler_the_plan_runs_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> tuple[str, str]:
        raise c_build.CannotBuild(
            "no C compiler was found (cc, gcc or clang): install one, or set CC"
        )

    monkeypatch.setattr(c_build, "compiler", none)
    c_build._load.cache_clear()
    forward_program.cache_clear()
    say._said.clear()
    cell, xs = us.cells.GRU(3, 4), torch.randn(5, 2, 3)
    with pytest.warns(UserWarning, match="install one, or set CC") as caught:
        ys, _ = us.unfold(cell, xs)
    assert caught[0].filename == __file__
    us.unfold(cell, xs)  # silent now: a warning would be an error here
    torch.testing.assert_close(ys, us.unfold(cell, xs, backend="reference")[0])
    with pytest.raises(ValueError, match="the cpu backend cannot run this cell: no C compiler"):
        us.unfold(cell, xs, backend="cpu")
    forward_program.cache_clear()
    c_build._load.cache_clear()  # refusals are remembered too
