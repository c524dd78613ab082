"""What a user should know once, and not at every call."""

import sys
import warnings
from pathlib import Path
from threading import Lock

import torch

from unspool.equations.program import Equations


class SlowWarning(UserWarning):
    """Something runs on a slower path than usual, or is compiled anew; the text says why."""


_said: set[object] = set()
_lock = Lock()  # kernels are built in several threads
INSIDE = (str(Path(__file__).parents[1]), str(Path(torch.__file__).parent))


RUNS = "this cell runs in a slower loop, without compiled kernels"


def say_once(problem: str, cell: Equations | None = None, what: str = RUNS) -> None:
    """Warns that a cell, or any cell on this machine, runs without compiled kernels.

    The first line of `problem` says why; for one cell the same reason is said once. `what` says
    what it is that runs slowly.
    """
    reason = problem.partition("\n")[0]
    if not _is_new((reason, None if cell is None else cell.text)):
        return
    if cell is None:
        _warn(f"cells run in a slower loop, without compiled kernels: {problem}")
    else:
        lines = [line.strip() for line in cell.text.splitlines() if "=" in line]
        _warn(f"{what}: {problem}\n    {lines[0]}{' ...' * (len(lines) > 1)}")


def say_once_not_kept(reason: str) -> None:
    """Warns that compiled kernels do not outlast the process."""
    problem = "compiled kernels cannot be kept, so every process compiles them anew"
    if _is_new(problem):
        _warn(f"{problem}: {reason}. XDG_CACHE_HOME can name another folder")


def _warn(text: str) -> None:
    """Points at the line outside of this package, and of torch, that led here."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, SlowWarning, stacklevel=level)


def _is_new(problem: object) -> bool:
    with _lock:
        new = problem not in _said
        _said.add(problem)
        return new
