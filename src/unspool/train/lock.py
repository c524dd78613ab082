"""One training at a time in a folder."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from unspool.train.plain_file import FLAGS, is_plain

LOCK = ".lock"
TRIES = 100


@contextmanager
def locked(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the folder until the block ends, or refuses if another process holds it.

    The lock is the system's, on a file in the folder: it ends with the process that holds it,
    however that ends, so a kill leaves a file behind and no lock. `say` is told where a file
    system has no locks.
    """
    handle = _acquire(folder, say)
    try:
        yield
    finally:
        if os.name != "nt":  # where an open file cannot be removed; a file left behind is no lock
            (folder / LOCK).unlink(missing_ok=True)
        os.close(handle)


def _acquire(folder: Path, say: Callable[[str], None]) -> int:
    path = folder / LOCK
    for _ in range(TRIES):
        is_plain(path)  # or says what it is
        handle = os.open(path, os.O_RDWR | os.O_CREAT | FLAGS, 0o666)
        try:
            _lock(handle, folder, say)
            if os.name == "nt" or _is_there(path, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its holder has ended and removed it meanwhile: try its successor
    raise ValueError(f"{path} cannot be locked: it is another file each time")


def _is_there(path: Path, handle: int) -> bool:
    """Whether an open file still has its name."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _lock(handle: int, folder: Path, say: Callable[[str], None]) -> None:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise ValueError(
            f"another process is training in {folder}: wait for its end, or choose another folder"
        ) from None
    except OSError as error:
        say(
            f"{folder} cannot be locked ({error.strerror or error}): make sure that no other "
            "process trains in it"
        )
