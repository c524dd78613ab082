"""Errors in data, which name the file and the line."""

import difflib
from pathlib import Path

PREFIX = "builtin:"  # before the name of built-in data


class DataError(ValueError):
    """Data that cannot be read as asked; the message names the file, and the line to blame."""


def place(path: str | Path) -> str:
    """How a file is named in messages; "-" is standard input."""
    return "standard input" if str(path) == "-" else str(path)


def at(path: str | Path, line: int) -> str:
    """How a line is named in messages: "names.tsv, line 12"."""
    return f"{place(path)}, line {line}"


def no_such(path: str | Path) -> DataError:
    """The error for a path that is not there, with the nearest name that is."""
    before, colon, name = str(path).partition(":")
    if colon and difflib.get_close_matches(before.strip().lower(), [PREFIX[:-1]], cutoff=0.75):
        return DataError(f"{path}: no such file; did you mean {PREFIX}{name.strip()}?")
    path = Path(path)
    if not path.parent.is_dir():
        return DataError(f"{path}: no such file, and no folder {path.parent} either")
    names = sorted(other.name for other in path.parent.iterdir())
    near = difflib.get_close_matches(path.name, names, n=1)
    hint = f"; did you mean {path.parent / near[0]}?" if near else ""
    return DataError(f"{path}: no such file{hint}")
