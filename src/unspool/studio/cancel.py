"""Cancellation: a long computation asks between its parts whether its answer is still wanted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_unwanted: ContextVar[Callable[[], bool]] = ContextVar("unwanted", default=lambda: False)


class Cancelled(Exception):
    """The answer is no longer wanted: its client has gone."""


def check() -> None:
    """Raises `Cancelled` if the answer is no longer wanted."""
    if _unwanted.get()():
        raise Cancelled


@contextmanager
def cancelled_if(unwanted: Callable[[], bool]) -> Iterator[None]:
    """Within the block, `check` asks this function. Each thread has its own."""
    before = _unwanted.set(unwanted)
    try:
        yield
    finally:
        _unwanted.reset(before)
