"""Which way is the fastest: measured once, remembered, and never a reason to fail."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from unspool.engine import tune
from unspool.engine.c_build import CannotBuild


@dataclass
class Made:
    """A kernel that takes as long as it says."""

    seconds: float
    works: bool = True
    launched: list[float] = field(default_factory=list)

    @property
    def printed(self) -> Any:
        return SimpleNamespace(source=f"takes {self.seconds}")

    def compile(self, sides: Any) -> None:
        if not self.works:
            raise RuntimeError("out of resource: shared memory")

    def launch(self, sides: Any) -> str:
        if not self.works:
            raise RuntimeError("out of resource: shared memory")
        self.launched.append(self.seconds)
        return f"what takes {self.seconds} found"


class OnAGpu(torch.Tensor):
    is_cuda = True  # type: ignore[assignment]


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> list[Any]:
    """What kernels are tried with, as if it were on a GPU."""
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(tune, "seconds", lambda kernel, sides: kernel.seconds)
    monkeypatch.setattr(tune, "place", lambda: tmp_path / "ways.json")
    monkeypatch.setattr(tune, "_known", {})
    xs = torch.zeros(20, 4, 3).as_subclass(OnAGpu)
    return [SimpleNamespace(stages=SimpleNamespace(call=SimpleNamespace(xs=xs)))]


def find(kernels: list[Made], sides: list[Any], measured: bool = True) -> tuple[Any, Any]:
    return tune.fastest(kernels, lambda kernel: kernel, sides, measured)


def test_the_fastest_is_found_and_remembered(sides: list[Any]) -> None:
    kernels = [Made(3.0), Made(1.0), Made(2.0)]
    best, found = find(kernels, sides)
    assert (best.seconds, found) == (1.0, "what takes 1.0 found")
    again = [Made(3.0), Made(1.0), Made(2.0)]
    assert find(again, sides)[0].seconds == 1.0
    assert [len(kernel.launched) for kernel in again] == [0, 1, 0], "nothing is measured again"


def test_what_does_not_run_is_passed_over(sides: list[Any]) -> None:
    assert find([Made(1.0, works=False), Made(2.0)], sides)[0].seconds == 2.0
    with pytest.raises(CannotBuild, match="out of resource"):
        find([Made(1.0, works=False)], sides)


def test_what_a_compiler_prints_where_it_fails_is_dropped(
    sides: list[Any],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
) -> None:
    class Loud(Made):
        def compile(self, sides: Any) -> None:
            os.write(2, b"a whole kernel")
            super().compile(sides)

    monkeypatch.setattr(tune, "cache_folder", lambda: tmp_path)
    assert find([Loud(1.0, works=False), Made(2.0)], sides)[0].seconds == 2.0
    assert not capfd.readouterr().err
    assert (tmp_path / "compiler.txt").read_bytes() == b"a whole kernel"
    assert find([Loud(1.0), Made(3.0)], sides)[0].seconds == 1.0
    assert capfd.readouterr().err == "a whole kernel", "what is no failure's is shown"


def test_threads_put_back_what_they_write_to(sides: list[Any]) -> None:
    place = os.fstat(2)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: find([Made(1.0, works=False), Made(2.0)], sides), range(20)))
    assert (os.fstat(2).st_dev, os.fstat(2).st_ino) == (place.st_dev, place.st_ino)


def test_a_process_may_have_no_place_for_errors(
    sides: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert find([Made(1.0), Made(2.0)], sides)[0].seconds == 1.0

    def closed(place: int) -> int:
        raise OSError("Bad file descriptor")

    monkeypatch.setattr(os, "dup", closed)
    assert find([Made(3.0), Made(2.5)], sides)[0].seconds == 2.5


def test_what_was_remembered_may_no_longer_run(sides: list[Any]) -> None:
    find([Made(1.0), Made(2.0)], sides)
    assert find([Made(1.0, works=False), Made(2.0)], sides)[0].seconds == 2.0


def test_a_few_steps_are_not_measured(sides: list[Any]) -> None:
    assert find([Made(3.0), Made(1.0)], sides, measured=False)[0].seconds == 3.0
    assert find([Made(3.0), Made(1.0)], sides)[0].seconds == 1.0, "and nothing is remembered"


def test_measuring_can_be_turned_off(sides: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSPOOL_TUNE", "0")
    assert find([Made(3.0), Made(1.0)], sides)[0].seconds == 3.0


@pytest.mark.parametrize("damage", ["", "{", "[1]", '{"a": "b"}'])
def test_a_damaged_memory_is_no_memory(sides: list[Any], damage: str) -> None:
    tune.place().write_text(damage)
    assert find([Made(3.0), Made(1.0)], sides)[0].seconds == 1.0
    assert find([Made(3.0), Made(1.0)], sides)[0].seconds == 1.0


def test_no_time_is_spent_beyond_the_limit(
    sides: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 5))
    monkeypatch.setattr(tune.time, "monotonic", lambda: next(clock))
    kernels = [Made(3.0), Made(2.0), Made(1.0)]
    assert find(kernels, sides)[0].seconds == 2.0
    assert not kernels[2].launched
    monkeypatch.setattr(tune.time, "monotonic", lambda: 0)
    assert find(kernels, sides)[0].seconds == 1.0, "what was not measured whole is not kept"


def test_a_want_of_memory_is_not_the_kernels(sides: list[Any]) -> None:
    kernel = Made(1.0)

    def launch(sides: Any) -> str:
        raise torch.OutOfMemoryError("CUDA out of memory")

    kernel.launch = launch
    with pytest.raises(torch.OutOfMemoryError):
        find([kernel, Made(2.0)], sides)


def test_what_a_process_has_found_it_stays_with(sides: list[Any]) -> None:
    find([Made(1.0), Made(2.0)], sides)
    tune.place().write_text("{}")
    again = [Made(1.0), Made(2.0)]
    find(again, sides)
    assert not again[1].launched
