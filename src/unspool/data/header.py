"""Which columns of a table hold the text, the label and the score."""

from dataclasses import dataclass

from unspool.data.examples import LABEL, SCORE, TEXT, Fields
from unspool.data.files import DataError

WHAT = "text and label"


@dataclass(frozen=True)
class Columns:
    """Places of the columns, from 0; a label or score at `width` or beyond is to be appended."""

    text: int
    label: int
    score: int
    width: int
    header: bool


def find_columns(where: str, first: list[str], fields: Fields) -> Columns:
    """A first row with the names is a header; with no header, the text and then the label."""
    names = [cell.strip() for cell in first]
    text, label = (find_column(name, names, where) for name in (fields.text, fields.label))
    found = [
        not name.isdecimal() and index is not None
        for name, index in ((fields.text, text), (fields.label, label))
    ]
    if not any(found) and (fields.text, fields.label) == (TEXT, LABEL):
        _check_two(where, names, fields.needed)
        return Columns(0, 1, 2, 2, header=False)
    if text is None:
        raise missing(where, fields.text, names, WHAT)
    if label is None:
        if fields.needed:
            raise missing(where, fields.label, names, WHAT)
        label = len(names)
    _check_places(where, text, label, len(names), fields)
    after = max(len(names), label + 1)
    score = names.index(SCORE) if any(found) and SCORE in names else after
    return Columns(text, label, after if score == label else score, len(names), any(found))


def find_column(name: str, names: list[str], where: str) -> int | None:
    """The place of a column, from 0, by its name or by its number from "1"; small and capital
    letters count as the same where no name fits as it stands. A name must stand there once."""
    if name.isdecimal():
        if int(name) == 0:
            raise ValueError("columns are counted from 1: there is no column 0")
        return int(name) - 1
    if name not in names:
        name, names = name.casefold(), [other.casefold() for other in names]
    if names.count(name) > 1:
        raise DataError(
            f"{where}: {names.count(name)} columns are called {name!r}: give each a name of its "
            "own, or number the columns from 1"
        )
    return names.index(name) if name in names else None


def _check_two(where: str, names: list[str], needed: bool) -> None:
    if len(names) == 2 or (len(names) == 1 and not needed):
        return
    count = f"{len(names)} column{'s' * (len(names) != 1)}"
    raise DataError(
        f"{where}: {count} found, and none is called '{TEXT}' or '{LABEL}': without a header two "
        f"are expected, text and then label; {separator(names) or how(WHAT)}"
    )


def separator(names: list[str]) -> str:
    """A hint for a first row that is one column, where something else seems to stand between."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars"), ("   ", "spaces")):
        if len(names) == 1 and mark in names[0]:
            return (
                f"do {name} stand between the columns? Save it with tabs between them (.tsv), or "
                "with commas (.csv)"
            )
    return ""


def missing(where: str, name: str, names: list[str], what: str) -> DataError:
    """The error for a column that the first row does not name; `what` are all the columns."""
    return DataError(
        f"{where}: no column is called {name!r} in the first row, which holds "
        f"{', '.join(map(repr, names))}; {how(what)} (numbers alone where there is no header)"
    )


def how(what: str) -> str:
    """How columns are named."""
    return f"name the columns with {what}, by their names in the first row or by numbers from 1"


def _check_places(where: str, text: int, label: int, width: int, fields: Fields) -> None:
    if text == label:
        raise ValueError(f"text and label are both column {text + 1}: they must differ")
    if text >= width or label > width or (label == width and fields.needed):
        raise DataError(
            f"{where}: {width} column{'s' * (width != 1)} found, and column "
            f"{max(text, label) + 1} was asked for; {how(WHAT)}"
        )
