"""Where compiled kernels are kept: a private folder of the user's, or else one of this process.

Libraries in the folder are loaded and run, so only this user may write there. A home may be
missing, read-only or mounted noexec; then a temporary folder takes its place, which is removed when
the process ends.
"""

import atexit
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path


def cache_folder() -> Path:
    """The folder that small files can be kept in; an OSError where there is none."""
    try:
        folder = user_folder()
        check_usable(folder)
    except OSError:
        return temporary_folder()
    return folder


def user_folder() -> Path:
    """The user's cache folder, made if it is missing; an OSError says why there is none."""
    folder = cache_root() / "unspool"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except ValueError as error:  # a name with a NUL in it
        raise OSError(f"{str(folder)!r} cannot be made: {error}") from None
    if not _is_private(folder):
        raise OSError(f"{folder} belongs to another user, or others may write there")
    return folder


def cache_root() -> Path:
    """XDG_CACHE_HOME, or .cache in the home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):  # its specification has a relative one ignored
        return Path(given)
    try:
        return Path.home() / ".cache"
    except RuntimeError:
        raise OSError("HOME is not set, and the system does not know this user") from None


def _is_private(folder: Path) -> bool:
    """Whether the folder belongs to this user, and only this user may write there."""
    if os.name == "nt":  # a home is private there, and has no such bits
        return True
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def check_usable(folder: Path) -> None:
    """Raises an OSError if no file can be written in a folder, or programs in it cannot be run."""
    with tempfile.TemporaryFile(dir=folder):
        pass
    if hasattr(os, "statvfs") and os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
        raise OSError(f"{folder} is on a file system that is mounted noexec")


@lru_cache(maxsize=1)
def temporary_folder() -> Path:
    """A folder of this process, removed when it ends."""
    folder = Path(tempfile.mkdtemp(prefix="unspool-"))
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child still uses its parent's
        shutil.rmtree(folder, ignore_errors=True)
