"""What a question brings, checked: it comes from a page, and may be anything."""

from collections.abc import Mapping
from typing import Any

from unspool.cells import named
from unspool.cells.cell import CellType
from unspool.equations.roles import equations

Params = Mapping[str, Any]
LONGEST = 200_000  # characters of a text
EQUATIONS = 20_000  # characters of a cell
CELLS = ["elman", "lstm", "gru"]  # what others are compared with


class UnknownQuestion(ValueError):
    """There is no such question."""


def text(params: Params, name: str, default: str = "", limit: int = LONGEST) -> str:
    value = params.get(name, default)
    if not isinstance(value, str):
        raise ValueError(f"{name} is a text, not {short(value)}")
    if len(value) > limit:
        raise ValueError(f"{name} has {len(value):,} characters; at most {limit:,} are taken")
    # Half of a surrogate pair is no character: no vocabulary has it and no file could hold it.
    return value.encode("utf-8", "replace").decode("utf-8")


def whole(params: Params, name: str, default: int, low: int, high: int) -> int:
    value = params.get(name, default)
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if not numeric or (isinstance(value, float) and not value.is_integer()):
        raise ValueError(f"{name} is a whole number, not {short(value)}")
    if not low <= value <= high:
        raise ValueError(f"{name} lies between {low:,} and {high:,}; got {short(value)}")
    return int(value)


def number(params: Params, name: str, default: float, low: float, high: float) -> float:
    value = params.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is a number, not {short(value)}")
    if not low <= value <= high:
        raise ValueError(f"{name} lies between {low:g} and {high:g}; got {short(value)}")
    return float(value)


def several(params: Params, name: str, default: list[str], most: int) -> list[str]:
    value = params.get(name, default)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{name} is a list of texts, not {short(value)}")
    if len(value) > most:
        raise ValueError(f"{name} are at most {most}; got {len(value)}")
    return [text({name: item}, name, limit=EQUATIONS) for item in value]


def short(value: Any) -> str:
    """A value that was given, for a message: it may be megabytes."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def kind_of_cell(which: str, name: str = "your own") -> CellType:
    """A cell by its name or its equations; never a file, which the page has no business with."""
    if which in named():
        return named()[which]
    if "=" not in which:
        raise ValueError(
            f"{which[:80]!r} is no cell: give a built-in name ({', '.join(named())}) or equations "
            "such as h' = tanh(W @ x + U @ h + b)"
        )
    return CellType(equations(which), name)
