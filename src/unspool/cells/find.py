"""Cells by name, from a file, or from the equations themselves."""

import difflib
import sys
from pathlib import Path

from unspool.cells import named
from unspool.cells.cell import CellType, cell
from unspool.equations import limits
from unspool.equations.errors import EquationError


def find_cell(which: str) -> CellType:
    """A cell by name, from a file, from standard input (-), or from the equations themselves."""
    if which in named():
        return named()[which]
    if "=" in which:
        return cell(which)
    if which == "-":
        return cell(sys.stdin.read())
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


def lasting_name(which: str) -> str:
    """What names the same cell on another machine: a built-in name, or the equations."""
    kind = find_cell(which)
    return kind.name if named().get(kind.name) is kind else kind.equations.text


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
        return cell(content.decode("utf-8-sig"), name=path.stem)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text (byte {error.start})") from None
    except EquationError as error:
        raise ValueError(f"{path}, {error}") from None
