"""Which way to cut a recurrence is the fastest here: measured at its first use, then known.

What was found is kept in the private cache, by the kernels' text and the device, so that later runs
begin with it, and compute with the same bits. UNSPOOL_TUNE=0 takes the likeliest way, unmeasured.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from unspool.engine.c_build import CannotBuild, cache_folder

SECONDS = 6.0  # no further way is tried after these
TURNS = 3


def fastest(
    ways: Sequence[Any], build: Callable[[Any], Any], sides: Sequence[Any], measured: bool
) -> tuple[Any, Any]:
    """The kernel of the fastest way, and what it found; one that does not run is passed over."""
    xs = sides[0].stages.call.xs
    measured &= xs.is_cuda and not torch.cuda.is_current_stream_capturing() and is_wanted()
    kernels = [build(way) for way in ways]
    order = list(range(len(kernels)))
    key = key_of([kernel.printed.source for kernel in kernels], xs) if measured else ""
    known = read().get(key)
    if known in order:
        order, measured = [known, *order], False
    start, problem = time.monotonic(), "there is no way to cut it that fits"
    if measured:
        _compile_ahead(kernels, sides)
    found: list[tuple[float, int, Any]] = []
    for index in order:
        if found and (not measured or time.monotonic() - start > SECONDS):
            break
        try:
            made = kernels[index].launch(sides)  # compiles, and shows whether it runs at all
            found.append((seconds(kernels[index], sides) if measured else 0.0, index, made))
        except CannotBuild as error:
            problem = str(error)
        except Exception as error:  # of the compiler or of the driver, which have many kinds
            problem = f"{type(error).__name__}: {str(error)[:500]}"
    if not found:
        raise CannotBuild(f"no kernel of this cell runs on {xs.device}: {problem}")
    _, best, made = min(found, key=lambda one: one[:2])
    if measured:
        write(key, best)
    return kernels[best], made


def _compile_ahead(kernels: Sequence[Any], sides: Sequence[Any]) -> None:
    """All side by side: what takes long at a first use is the compiler."""

    def one(kernel: Any) -> None:
        with contextlib.suppress(Exception):  # its launch will say what is wrong
            kernel.compile(sides)

    with ThreadPoolExecutor(len(kernels)) as pool:
        list(pool.map(one, kernels))


def seconds(kernel: Any, sides: Sequence[Any]) -> float:
    """The shortest of some launches, by the device's own clock."""
    found = []
    for _ in range(TURNS):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
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
    rows = 1 << max(4, (xs.shape[1] - 1).bit_length())
    about = [*sources, str(rows), torch.__version__, device_name(xs.device)]
    return hashlib.sha256("\0".join(about).encode()).hexdigest()[:32]


@lru_cache(maxsize=16)
def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def place() -> Path:
    return cache_folder() / "gpu-ways.json"


def read() -> dict[str, int]:
    """What is known; a file that is damaged or missing says nothing."""
    try:
        found = json.loads(place().read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write(key: str, way: int) -> None:
    """Processes may write side by side: whoever is last wins, and nothing is half written."""
    path = place()
    text = json.dumps({**read(), key: way}, indent=0)
    beside = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):  # then it is measured again next time
        beside.write_text(text)
        os.replace(beside, path)
