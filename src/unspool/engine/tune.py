"""Which way to cut a recurrence is the fastest here: measured at its first use, then known.

What was found is kept in the private cache, by the kernels' text and the device, so that later runs
begin with it, and compute with the same bits. UNSPOOL_TUNE=0 takes the likeliest way, unmeasured.
"""

import contextlib
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import torch

from unspool.engine.c_build import CannotBuild
from unspool.engine.cache import cache_folder
from unspool.engine.tiles import power_of_two

SECONDS = 6.0  # no further way is tried after these
TURNS = 3
HOST = 3_000_000  # cycles of the device, longer than the host takes for a launch
_one_at_a_time = Lock()  # what a process writes to is one place


def fastest(
    ways: Sequence[Any], build: Callable[[Any], Any], sides: Sequence[Any], measured: bool
) -> tuple[Any, Any]:
    """The kernel of the fastest way, and what it found; one that does not run is passed over."""
    xs = sides[0].stages.call.xs
    kernels = [build(way) for way in ways]
    order, key, known = list(range(len(kernels))), "", None
    if measured and xs.is_cuda and is_wanted():
        key = key_of([kernel.printed.source for kernel in kernels], xs)
        known = read().get(key)
    measured = bool(key) and known not in order and not torch.cuda.is_current_stream_capturing()
    if known in order:
        order.insert(0, known)
    failed = _compile_ahead(kernels, sides) if measured else {}
    start, whole = time.monotonic(), True
    problem = next(iter(failed.values()), "there is no way to cut it that fits")
    best: tuple[float, int, Any] | None = None
    for index in order:
        if index in failed:
            continue
        if best is not None and not measured:
            break
        if best is not None and time.monotonic() - start > SECONDS:
            whole = False  # another time there may be more of it
            break
        try:
            made = kernels[index].launch(sides)  # shows whether it runs at all
            taken = seconds(kernels[index], sides) if measured else 0.0
        except torch.OutOfMemoryError:
            raise  # nothing is wrong with the kernel
        except Exception as error:  # of the compiler or of the driver, which have many kinds
            problem = _said(error)
        else:
            if best is None or taken < best[0]:
                best = taken, index, made
            del made  # memory for the next one
    if best is None:
        raise CannotBuild(f"no kernel of this cell runs on {xs.device}: {problem}")
    if measured and whole:
        write(key, best[1])
    return kernels[best[1]], best[2]


def _said(error: Exception) -> str:
    return (
        str(error) if isinstance(error, CannotBuild) else f"{type(error).__name__}: {error}"[:500]
    )


def _compile_ahead(kernels: Sequence[Any], sides: Sequence[Any]) -> dict[int, str]:
    """All side by side, since the compiler takes long; what it fails at, and why."""

    def one(kernel: Any) -> str | None:
        try:
            kernel.compile(sides)
        except torch.OutOfMemoryError:
            return None  # nothing is wrong with the kernel
        except Exception as error:
            return _said(error)
        return None

    with _aside() as drop, ThreadPoolExecutor(len(kernels)) as pool:
        found = dict(enumerate(pool.map(one, kernels)))
        failed = {index: said for index, said in found.items() if said is not None}
        if failed:
            drop()
    return failed


@contextlib.contextmanager
def _aside() -> Iterator[Callable[[], None]]:
    """What is written past Python comes at the end, or not at all.

    The compiler prints a whole kernel where it fails, thousands of lines that nobody asked for:
    there are other ways, and if there are none its error says so. They go to a file in the cache.
    """
    dropped: list[bool] = []
    with _one_at_a_time, contextlib.ExitStack() as stack:
        try:
            kept = os.dup(2)
        except OSError:  # a service may have no such place
            yield lambda: None
            return
        stack.callback(os.close, kept)
        if sys.stderr is not None:
            sys.stderr.flush()
        file = stack.enter_context(tempfile.TemporaryFile())
        os.dup2(file.fileno(), 2)
        try:
            yield lambda: dropped.append(True)
        finally:
            os.dup2(kept, 2)
            file.seek(0)
            said = file.read()
            if not dropped:
                os.write(2, said)
            else:
                with contextlib.suppress(OSError):
                    (cache_folder() / "compiler.txt").write_bytes(said)


def seconds(kernel: Any, sides: Sequence[Any]) -> float:
    """The shortest of some launches, by the device's own clock.

    The device is kept waiting first: else it is the host that is timed where steps are few.
    """
    found = []
    for _ in range(TURNS):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(HOST)
        start.record()
        kernel.launch(sides)
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end) / 1e3)
    return min(found)


def is_wanted() -> bool:
    return os.environ.get("UNSPOOL_TUNE", "1") != "0"


def key_of(sources: Sequence[str], xs: torch.Tensor) -> str:
    """What a measurement depends on: the kernels, how many rows, the device."""
    rows = str(power_of_two(xs.shape[1], 16))
    about = [*sources, rows, torch.__version__, device_name(xs.device)]
    return hashlib.sha256("\0".join(about).encode()).hexdigest()[:32]


@lru_cache(maxsize=16)
def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def place() -> Path:
    return cache_folder() / "gpu-ways.json"


_known: dict[str, int] = {}  # what this process has found: it stays with that


def read() -> dict[str, int]:
    """What is known; a file that is damaged or missing says nothing."""
    try:
        found = json.loads(place().read_text())
    except (OSError, ValueError):
        found = {}
    return {**(found if isinstance(found, dict) else {}), **_known}


def write(key: str, way: int) -> None:
    """Processes may write side by side: whoever is last wins, and nothing is half written."""
    path = place()
    _known[key] = way
    text = json.dumps({**read(), key: way}, indent=0)
    beside = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):  # then it is measured again next time
        beside.write_text(text)
        os.replace(beside, path)
