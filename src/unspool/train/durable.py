"""Files that are there in full or not at all, whenever the power goes."""

import os
import secrets
from pathlib import Path

from unspool.train.plain_file import FLAGS

UNFINISHED = ".unfinished"


def write_durably(path: Path, data: bytes) -> None:
    """Writes under a new random name, flushes it to the disk, renames it, flushes the folder.

    The new name is made exclusively and never through a link, so nothing that waits in the folder
    can lead the data elsewhere; the rename replaces a link at `path`, not what it points to.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}{UNFINISHED}")
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        raise OSError(f"cannot write {path}: {reason}; what was there before is intact") from error
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """A rename is lost with the power unless its folder is flushed. Windows has no such call."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_unfinished(folder: Path) -> None:
    """Removes what a kill left half-written; of a link the link, never what it points to."""
    for path in folder.glob(f".*{UNFINISHED}"):
        if path.is_symlink() or path.is_file():
            path.unlink(missing_ok=True)
