"""Files that are there in full or not at all, whenever the power goes."""

import os
from pathlib import Path

UNFINISHED = ".unfinished"


def write_durably(path: Path, data: bytes) -> None:
    """Under another name, flushed to the disk, renamed, and the folder flushed too."""
    unfinished = path.with_name(f".{path.name}{UNFINISHED}")
    try:
        with open(unfinished, "wb") as file:
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
    """What a kill left half-written."""
    for path in folder.glob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)
