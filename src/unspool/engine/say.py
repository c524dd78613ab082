"""What a user should know once, and not at every call."""

import warnings
from threading import Lock

_said: set[str] = set()
_lock = Lock()  # kernels are built in several threads


def say_once(problem: str) -> None:
    """Warns that cells run without compiled kernels.

    The first line of `problem` says why; another problem with the same first line is not said.
    """
    if _is_new(problem.partition("\n")[0]):
        text = f"cells run in a slower loop, without compiled kernels: {problem}"
        warnings.warn(text, stacklevel=4)


def say_once_not_kept(reason: str) -> None:
    """Warns that compiled kernels do not outlast the process."""
    problem = "compiled kernels cannot be kept, so every process compiles them anew"
    if _is_new(problem):
        text = f"{problem}: {reason}. XDG_CACHE_HOME can name another folder"
        warnings.warn(text, stacklevel=2)


def _is_new(problem: str) -> bool:
    with _lock:
        new = problem not in _said
        _said.add(problem)
        return new
