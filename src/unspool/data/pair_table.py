"""Pairs in tables: TSV and CSV, with a header or without."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unspool.data.examples import SOURCE, TAG, TARGET, Pair, PairFields, pair
from unspool.data.files import DataError, at
from unspool.data.header import find_column, how, missing, separator
from unspool.data.table import Row, csv_rows, tsv_rows, wrong_width

WHAT = "source and target"
ROWS = {"tsv": tsv_rows, "csv": csv_rows}


@dataclass(frozen=True)
class PairColumns:
    """Places of the columns, from 0; None where there is no such column."""

    source: int
    target: int | None
    tag: int | None
    width: int
    header: bool


def read_pair_table(
    path: str | Path, format: str, lines: Sequence[str], fields: PairFields
) -> list[Pair]:
    """A pair for each row; blank rows count only where no targets are needed."""
    rows = ROWS[format](path, lines)
    first = next((row for row in rows if row.cells), None)
    if first is None:  # all are blank, and no targets are needed
        columns = PairColumns(0, None, None, 1, header=False)
    else:
        columns = find_pair_columns(at(path, first.line), first.cells, fields)
    body = [row for row in rows if not (columns.header and row is first)]
    found = [_pair(row, columns, at(path, row.line), fields.needed) for row in body]
    return [example for example in found if example is not None]


def find_pair_columns(where: str, first: list[str], fields: PairFields) -> PairColumns:
    """A first row with the names is a header; with no header, source, target and perhaps tag.

    By default it is a header only if it names source and target both (the source alone, where no
    targets are needed): one of the two may be a word of the text.
    """
    names = [cell.strip() for cell in first]
    source, target = (find_column(name, names, where) for name in (fields.source, fields.target))
    usual = (fields.source, fields.target) == (SOURCE, TARGET)
    if usual and (source is None or (target is None and fields.needed)):
        return _check(where, names, _unnamed(where, names, fields), fields)
    if source is None:
        raise missing(where, fields.source, names, WHAT)
    if target is None and fields.needed:
        raise missing(where, fields.target, names, WHAT)
    asked = [fields.source, fields.target] + [fields.tag] * (fields.tag != TAG)
    header = any(
        not name.isdecimal() and find_column(name, names, where) is not None for name in asked
    )
    tag = find_column(fields.tag, names, where) if header or fields.tag != TAG else None
    if target is not None and target >= len(names) and not fields.needed:
        target = None
    return _check(where, names, PairColumns(source, target, tag, len(names), header), fields)


def _unnamed(where: str, names: list[str], fields: PairFields) -> PairColumns:
    width = len(names)
    if width not in (2, 3) and (width != 1 or fields.needed):
        raise DataError(
            f"{where}: {width} column{'s' * (width != 1)} found, and none is called '{SOURCE}' or "
            f"'{TARGET}': without a header two are expected, source and then target, or three, "
            f"with a tag; {separator(names) or how(WHAT)}"
        )
    third = 2 if width == 3 else None
    tag = third if fields.tag == TAG else find_column(fields.tag, names, where)
    return PairColumns(0, 1 if width > 1 else None, tag, width, header=False)


def _check(where: str, names: list[str], columns: PairColumns, fields: PairFields) -> PairColumns:
    if columns.tag is None and fields.tag != TAG:
        raise missing(where, fields.tag, names, "source, target and tag")
    places = [p for p in (columns.source, columns.target, columns.tag) if p is not None]
    if len(set(places)) < len(places):
        raise ValueError(
            f"source, target and tag are three columns; got {fields.source!r}, {fields.target!r} "
            f"and {fields.tag!r}"
        )
    if max(places) >= columns.width:
        raise DataError(
            f"{where}: {columns.width} column{'s' * (columns.width != 1)} found, and column "
            f"{max(places) + 1} was asked for; {how(WHAT)}"
        )
    return columns


def _pair(row: Row, columns: PairColumns, where: str, needed: bool) -> Pair | None:
    if not row.cells:
        return pair("", None, None, (where, where), needed)
    count = len(row.cells)
    short = not needed and columns.source < count < columns.width
    if count != columns.width and not short:
        raise wrong_width(where, count, columns.width)
    target, tag = (
        row.cells[place] if place is not None and place < count else None
        for place in (columns.target, columns.tag)
    )
    return pair(row.cells[columns.source], target, tag, (where, where), needed)
