"""What a question brings, checked: it comes from a page, and may be anything."""

from collections.abc import Mapping
from typing import Any

from unspool.cells import named
from unspool.cells.cell import CellType, cell

Params = Mapping[str, Any]
LONGEST = 200_000  # characters of a text


class UnknownQuestion(ValueError):
    """There is no such question."""


def text(params: Params, name: str, default: str = "", limit: int = LONGEST) -> str:
    value = params.get(name, default)
    if not isinstance(value, str):
        raise ValueError(f"{name} is a text, not {value!r}")
    if len(value) > limit:
        raise ValueError(f"{name} has {len(value):,} characters; at most {limit:,} are taken")
    # Half of a surrogate pair is no character: no vocabulary has it and no file could hold it.
    return value.encode("utf-8", "replace").decode("utf-8")


def whole(params: Params, name: str, default: int, low: int, high: int) -> int:
    value = params.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise ValueError(f"{name} is a whole number, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} lies between {low:,} and {high:,}; got {value:,}")
    return int(value)


def number(params: Params, name: str, default: float, low: float, high: float) -> float:
    value = params.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is a number, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} lies between {low:g} and {high:g}; got {value:g}")
    return float(value)


def several(params: Params, name: str, default: list[str], most: int) -> list[str]:
    value = params.get(name, default)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{name} is a list of texts, not {value!r}")
    if len(value) > most:
        raise ValueError(f"{name} are at most {most}; got {len(value)}")
    return value


def kind_of_cell(which: str, name: str = "your own") -> CellType:
    """A cell by its name or its equations; never a file, which the page has no business with."""
    if which in named():
        return named()[which]
    if "=" not in which:
        raise ValueError(
            f"{which[:80]!r} is no cell: give a built-in name ({', '.join(named())}) or equations "
            "such as h' = tanh(W @ x + U @ h + b)"
        )
    return cell(which, name=name)
