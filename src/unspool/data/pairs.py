"""Pairs of texts out of files, for translation and whatever else turns one text into another."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unspool.data.examples import SOURCE, TAG, TARGET, Pair, PairFields, pair
from unspool.data.files import MAX_LINE, DataError, at, check_not_empty, ending, place, read_lines
from unspool.data.jsonl import read_pairs_jsonl
from unspool.data.pair_table import read_pair_table

__all__ = ["PAIR_FORMATS", "Pair", "PairFile", "read_pairs"]

PARALLEL = "parallel"
PAIR_FORMATS = ("tsv", "csv", "jsonl", PARALLEL, "lines")
# .txt tells nothing: tables of sentences often end so, and so do files of sentences alone.
ENDINGS = {".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".json": "jsonl", ".ndjson": "jsonl"}


@dataclass(frozen=True)
class PairFile:
    """The pairs of a file, or of two, and the format they were read in."""

    examples: list[Pair]
    format: str


def read_pairs(
    path: str | Path,
    *,
    target_path: str | Path = "",
    format: str = "auto",
    source: str = SOURCE,
    target: str = TARGET,
    tag: str = TAG,
    need_targets: bool = True,
    max_line: int = MAX_LINE,
) -> PairFile:
    """Read a tsv, csv or jsonl file, two parallel files, or plain lines of sources alone.

    `source`, `target` and `tag` name columns or keys; columns may also be numbered from "1". The
    default tag may be missing, any other may not. Targets lose the spaces at their ends. Pairs
    that are blank on both sides are left out. Without `need_targets` every line is an example,
    blank ones too, so that there is an answer for each. Nothing is returned unless every line
    could be read; one of more than `max_line` characters is refused (0: none is).
    """
    if format not in ("auto", *PAIR_FORMATS):
        raise ValueError(f"format is auto or one of {', '.join(PAIR_FORMATS)}, not {format!r}")
    _check_two(path, target_path, format)
    lines = _lines(path, need_targets, max_line)
    if not lines and not need_targets:
        return PairFile([], "lines")
    fields = PairFields(source, target, tag, need_targets)
    known = _guess(path, lines) if format == "auto" else format
    if str(target_path):
        known = PARALLEL
    if known == PARALLEL:
        examples = _parallel(path, target_path, lines, need_targets, max_line)
    elif known == "lines":
        examples = _plain(path, lines, need_targets)
    elif known == "jsonl":
        examples = read_pairs_jsonl(path, lines, fields)
    else:
        examples = read_pair_table(path, known, lines, fields)
    if not examples:
        raise DataError(f"{place(path)} holds no pairs, read as {known}")
    return PairFile(examples, known)


def _check_two(path: str | Path, target_path: str | Path, format: str) -> None:
    alone, two = format in ("tsv", "csv", "jsonl"), bool(str(target_path))
    if (two and alone) or (format == PARALLEL and not two):
        raise ValueError(
            f"{PARALLEL} files are two, a source and a target path, and a table or jsonl file is "
            f"one; got {format} and the target path {str(target_path)!r}"
        )
    if target_path and ending(path) in ENDINGS:
        raise ValueError(
            f"{place(path)} is a table with targets of its own: drop {target_path}, or give a file "
            "of sources alone"
        )
    if str(path) == str(target_path) == "-":
        raise ValueError("standard input can be read once: give a file for one of the two sides")


def _lines(path: str | Path, need_targets: bool, max_line: int) -> list[str]:
    lines = [line for _, line in read_lines(path, max_line)]
    if need_targets:
        check_not_empty(path, lines)
    return lines


def _parallel(
    path: str | Path,
    target_path: str | Path,
    sources: Sequence[str],
    needed: bool,
    max_line: int,
) -> list[Pair]:
    """Line k of one file with line k of the other."""
    targets = _lines(target_path, needed, max_line)
    if len(sources) != len(targets):
        raise DataError(
            f"{place(path)} has {len(sources):,} lines and {place(target_path)} has "
            f"{len(targets):,}: line k of one belongs to line k of the other"
        )
    found = [
        pair(source, target, None, (at(path, number), at(target_path, number)), needed)
        for number, (source, target) in enumerate(zip(sources, targets, strict=True), 1)
    ]
    return [example for example in found if example is not None]


def _plain(path: str | Path, lines: Sequence[str], needed: bool) -> list[Pair]:
    if needed:
        raise DataError(
            f"{place(path)}: plain text has no targets: give a tsv, csv or jsonl file, or the "
            "path of a second file with the target of each line"
        )
    return [Pair(line, None, None, at(path, number)) for number, line in enumerate(lines, 1)]


def _guess(path: str | Path, lines: Sequence[str]) -> str:
    if ending(path) in ENDINGS:
        return ENDINGS[ending(path)]
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        return "jsonl"
    return "tsv" if "\t" in first else "lines"
