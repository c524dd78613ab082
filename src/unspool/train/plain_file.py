"""Opening the files of a run, which may come from somebody else.

In a run folder that was mailed any name may be a link to a secret, a FIFO that never answers, a
device without an end, or a file of a terabyte that takes no room on the disk. A file of a run is
a plain one, reached without a link below the run's folder, and of a size that is expected.
"""

import os
import stat
from pathlib import Path
from typing import IO

KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
# Windows knows neither; there lstat alone tells a link apart.
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | NO_FOLLOW
NO_WAIT = getattr(os, "O_NONBLOCK", 0)


SPARSE = 64 << 20  # bytes of a file that may be sparse


class NotPlain(ValueError):
    """A name that stands for something other than a plain file or a real folder."""


def open_plain(path: Path, *, append: bool = False) -> IO[bytes]:
    """Opens a plain file to read, or to read and append to; a missing one is an OSError."""
    _check(path, os.lstat(path).st_mode)
    mode = os.O_RDWR | os.O_APPEND if append else os.O_RDONLY
    handle = os.open(path, mode | FLAGS | NO_WAIT)
    try:
        _check(path, os.fstat(handle).st_mode)  # it may have changed since
        return os.fdopen(handle, "a+b" if append else "rb")
    except BaseException:
        os.close(handle)
        raise


def is_plain(path: Path) -> bool:
    """Whether a plain file stands there; anything else than nothing at all is an error."""
    try:
        _check(path, os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def read_plain(path: Path, limit: int) -> bytes:
    """The bytes of a plain file that has at most `limit` of them."""
    with open_plain(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size > limit:
            raise ValueError(
                f"{path} has {status.st_size:,} bytes; at most {limit:,} are expected there"
            )
        check_not_sparse(path, status)
        return file.read()


def size_of(path: Path) -> int:
    """The bytes of a plain file; 0 where there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def check_not_sparse(path: Path, status: os.stat_result) -> None:
    """Refuses a large file that takes no room on the disk: mail and archives can hold one."""
    blocks = getattr(status, "st_blocks", None)  # of 512 bytes; Windows does not say
    if blocks is not None and status.st_size > SPARSE and blocks * 512 * 10 < status.st_size:
        raise ValueError(
            f"{path} has {status.st_size:,} bytes, and {blocks * 512:,} on the disk: it was not "
            "copied in full"
        )


def real_folder(path: Path, *, make: bool = False) -> bool:
    """Whether a folder of the run is there, and no link to another; made if asked for."""
    if make and not os.path.lexists(path):
        path.mkdir(parents=True, exist_ok=True)
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISDIR(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "a file")
        raise NotPlain(f"{path} is {kind}, where a run has a folder of its own: remove {kind}")
    return True


def _check(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "something else")
        raise NotPlain(
            f"{path} is {kind}; the files of a run are plain files inside its folder: remove {kind}"
        )
