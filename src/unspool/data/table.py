"""Labelled texts in tables: TSV and CSV, with a header or without."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from unspool.data.examples import SCORE, Fields, Labelled, check_cell, labelled
from unspool.data.files import DataError, at, place
from unspool.data.header import Columns, find_columns

LONGEST_CELL = 2**31 - 1  # csv's own limit, 131,072 characters, is shorter than many documents


@dataclass(frozen=True)
class Row:
    """The cells of a row, none for a blank line; its first line; the row as it stood."""

    cells: list[str]
    line: int
    raw: str


def read_tsv(
    path: str | Path, lines: Sequence[str], fields: Fields
) -> tuple[list[Labelled], "TableLayout"]:
    """Cells between tabs; quotes are ordinary characters."""
    return _read(path, tsv_rows(path, lines), fields, _tsv_line)


def read_csv(
    path: str | Path, lines: Sequence[str], fields: Fields
) -> tuple[list[Labelled], "TableLayout"]:
    """Cells between commas, quoted where they hold commas, quotes or line ends."""
    return _read(path, csv_rows(path, lines), fields, _csv_line)


@dataclass(frozen=True)
class TableLayout:
    """The rows, where the label belongs, and how cells become a line."""

    rows: Sequence[Row]
    columns: Columns
    label_name: str
    join: Callable[[list[str]], str]

    def lines(self, labels: Sequence[str], scores: Sequence[str] | None) -> list[str]:
        """The rows with the labels in their column, or behind the last one."""
        given = iter(zip(labels, scores or [None] * len(labels), strict=True))
        out, header = [], self.columns.header
        for row in self.rows:
            if not row.cells:
                out.append(row.raw)
            elif header:
                out.append(self._header(row.cells, scores is not None))
                header = False
            else:
                out.append(self.join(self._put(row.cells, *next(given))))
        return out

    def _header(self, cells: list[str], scored: bool) -> str:
        label = self.columns.label
        name = cells[label] if label < len(cells) else self.label_name
        return self.join(self._put(cells, name, SCORE if scored else None))

    def _put(self, cells: list[str], label: str, score: str | None) -> list[str]:
        size = max(len(cells), self.columns.label + 1)
        if score is not None:
            size = max(size, self.columns.score + 1)
        full = cells + [""] * (size - len(cells))
        full[self.columns.label] = label
        if score is not None:
            full[self.columns.score] = score
        return full


def _read(
    path: str | Path, rows: Sequence[Row], fields: Fields, join: Callable[[list[str]], str]
) -> tuple[list[Labelled], TableLayout]:
    filled = [row for row in rows if row.cells]
    columns = find_columns(at(path, filled[0].line), filled[0].cells, fields)
    examples = [
        _example(row, columns, at(path, row.line), fields.needed)
        for row in filled[columns.header :]
    ]
    if not examples:
        raise DataError(f"{place(path)} has a header and no rows below it")
    name = "label" if fields.label.isdecimal() else fields.label
    return examples, TableLayout(rows, columns, name, join)


def _example(row: Row, columns: Columns, where: str, needed: bool) -> Labelled:
    count, last = len(row.cells), columns.width - 1
    unlabelled = not needed and columns.label == last and count == last
    if count != columns.width and not unlabelled:
        raise wrong_width(where, count, columns.width)
    label = row.cells[columns.label].strip() if columns.label < count else ""
    return labelled(row.cells[columns.text], label or None, where, needed)


def wrong_width(where: str, count: int, expected: int) -> DataError:
    """The error for a row with too few or too many cells."""
    mend = "a text with tabs or commas in it needs csv with quotes, or jsonl"
    if count < expected:
        mend = "what stands between two columns, a tab or a comma, is missing"
    return DataError(
        f"{where}: {count} column{'s' * (count != 1)} found, {expected} expected: {mend}"
    )


def tsv_rows(path: str | Path, lines: Sequence[str]) -> list[Row]:
    """A row for each line."""
    return [
        Row(line.split("\t") if line.strip() else [], number, line)
        for number, line in enumerate(lines, 1)
    ]


def csv_rows(path: str | Path, lines: Sequence[str]) -> list[Row]:
    """A row for each record, which may go over several lines."""
    reader = csv.reader((line + "\n" for line in lines), strict=True)
    rows, start = [], 0
    with _long_cells():
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return rows
            except csv.Error as error:
                unclosed = "unexpected end" in str(error)
                what = "a quote is opened and never closed" if unclosed else str(error)
                raise DataError(
                    f"{at(path, start + 1)}: the row that begins here is not CSV: {what} (quotes "
                    'inside quotes are doubled: "")'
                ) from None
            blank = len(cells) <= 1 and not "".join(cells).strip()
            raw = "\n".join(lines[start : reader.line_num])
            rows.append(Row([] if blank else cells, start + 1, raw))
            start = reader.line_num


@contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _tsv_line(cells: list[str]) -> str:
    for cell in cells:
        check_cell(cell, "\t\n")
    return "\t".join(cells)


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    # What is in the line's end is what gets quoted: without one, a cell's own "\n" would not.
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().removesuffix("\r\n")
