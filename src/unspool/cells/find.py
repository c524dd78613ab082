"""Cells by name, from a file, or from the equations themselves."""

import difflib
import re
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

from unspool.cells import named
from unspool.cells.cell import Cell, CellType
from unspool.equations import limits
from unspool.equations.errors import EquationError
from unspool.equations.roles import equations
from unspool.equations.slips import slips

NAMED = re.compile(r"^\s*#\s*cell:\s*([^\W\d]\w*)\s*$", re.MULTILINE)


def find_cell(which: str) -> CellType:
    """A cell by name, from a file, from standard input (-), or from the equations themselves.

    It says nothing of slips: settings ask for the same cell again and again.
    """
    if which in named():
        return named()[which]
    if "=" in which:
        return from_text(which)
    if which == "-":
        return from_text(sys.stdin.read())
    path = Path(which)
    if len(which) < 256 and path.is_file():
        return read_cell(path)
    plain = {name.replace("_", ""): name for name in named()}
    close = difflib.get_close_matches(which.lower().replace("_", ""), plain, 1)
    meant = f"did you mean {plain[close[0]]}? The" if close else "the"
    raise ValueError(
        f"{which[:80]!r} is neither a cell nor a file; {meant} cells are {', '.join(named())}; "
        'equations can be given as text too: unspool explain "h\' = tanh(W @ x + U @ h)"'
    )


def warn_of_slips(kinds: Iterable[CellType]) -> None:
    """Warns of what looks like a slip in the equations of these cells."""
    for slip in (slip for kind in dict.fromkeys(kinds) for slip in slips(kind.equations)):
        warnings.warn(slip, stacklevel=3)


def from_text(text: str, name: str = "cell") -> CellType:
    """The cell of these equations; a comment `# cell: NAME` names it."""
    found = NAMED.search(text)
    return CellType(equations(text), found[1] if found else name)


def lasting_name(which: object) -> str:
    """What names the same cell on another machine: a built-in name, or the equations.

    Refuses cells that are more than their equations: a run folder has no place for the rest.
    """
    kind = which if isinstance(which, CellType) else find_cell(_text(which))
    if named().get(kind.name) is kind:
        return kind.name
    if kind.init:
        raise ValueError(
            f"{kind.name} has an initialisation of its own, which a run folder cannot hold: its "
            "equations alone would be another cell. Train it without init, or with us.train.fit"
        )
    text = kind.equations.text
    plain = kind.name == "cell" or NAMED.search(text)
    # below the equations, so that these stay on the lines where messages find them
    return text if plain else f"{text.rstrip()}\n# cell: {kind.name}"


def _text(which: object) -> str:
    if isinstance(which, str):
        return which
    if isinstance(which, Cell):
        raise ValueError(
            f"cell is a cell type, and this {which.kind.name} is a cell with sizes and weights, "
            "which a training builds itself: frozen parameters, parametrizations and weights of "
            "its own cannot be kept in a run folder. Train it with us.train.fit"
        )
    raise ValueError(
        "cell is a name, equations or a cell type; a Python class "
        f"({getattr(which, '__name__', type(which).__name__)}) cannot be kept in a run folder"
    )


def check_lasting(which: object) -> None:
    """Refuses anything but a built-in name or equations: settings that come from elsewhere must
    not make us read a file."""
    if not isinstance(which, str) or (which not in named() and "=" not in which):
        raise ValueError(f"model.cell is a built-in name or equations, not {str(which)[:80]!r}")


def read_cell(path: Path) -> CellType:
    """The cell whose equations stand in a file."""
    with path.open("rb") as file:  # a file that is too long need not be read to its end
        content = file.read(4 * limits.TEXT + 4)
    try:
        if len(content) > 4 * limits.TEXT:
            raise ValueError(
                f"{path} is no cell: equations have at most {limits.TEXT:,} characters"
            )
        return from_text(content.decode("utf-8-sig"), path.stem)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text (byte {error.start})") from None
    except EquationError as error:
        raise ValueError(f"{path}, {error}") from None
