"""Texts with labels out of a file, for classification and regression, and back into it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from unspool.data.examples import LABEL, TEXT, Fields, LabelLayout, Labelled
from unspool.data.files import MAX_LINE, check_not_empty, ending, read_lines
from unspool.data.folder import read_folder, read_plain
from unspool.data.jsonl import read_labelled_jsonl
from unspool.data.table import read_csv, read_tsv

__all__ = ["LABELLED_FORMATS", "Labelled", "LabelledFile", "read_labelled"]

LABELLED_FORMATS = ("tsv", "csv", "jsonl", "folder", "lines")
ENDINGS = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "lines",
}
READERS = {"tsv": read_tsv, "csv": read_csv, "jsonl": read_labelled_jsonl, "lines": read_plain}


@dataclass(frozen=True)
class LabelledFile:
    """The examples of a file, the format it was read in, and what it takes to write it again."""

    examples: list[Labelled]
    format: str
    layout: LabelLayout

    def fill(self, labels: Sequence[str], scores: Sequence[str] | None = None) -> Iterator[str]:
        """The lines of the file, without line ends, with these labels instead of its own.

        Blank lines stay. Where there was no label it is appended; so are the scores. Plain lines
        and folders become "text<TAB>label".
        """
        for what, given in (("labels", labels), ("scores", scores)):
            if given is not None and len(given) != len(self.examples):
                raise ValueError(f"{len(given)} {what} for {len(self.examples)} examples")
        return iter(self.layout.lines(labels, scores))


def read_labelled(
    path: str | Path,
    *,
    format: str = "auto",
    text: str = TEXT,
    label: str = LABEL,
    need_labels: bool = True,
    max_line: int = MAX_LINE,
) -> LabelledFile:
    """Read a tsv, csv or jsonl file, a folder with one file for each class, or plain lines.

    `text` and `label` name columns or keys; columns may also be numbered from "1". Labels stay
    text: numbers as they are written, a JSONL list as "a|b". Nothing is returned unless every
    line could be read; one of more than `max_line` characters is refused (0: none is).
    """
    if format not in ("auto", *LABELLED_FORMATS):
        raise ValueError(f"format is auto or one of {', '.join(LABELLED_FORMATS)}, not {format!r}")
    if format == "folder" or (format == "auto" and Path(path).is_dir()):
        examples, layout = read_folder(path, max_line)
        return LabelledFile(examples, "folder", layout)
    lines = [line for _, line in read_lines(path, max_line)]
    check_not_empty(path, lines)
    known = _guess(path, lines) if format == "auto" else format
    examples, layout = READERS[known](path, lines, Fields(text, label, need_labels))
    return LabelledFile(examples, known, layout)


def _guess(path: str | Path, lines: Sequence[str]) -> str:
    if ending(path) in ENDINGS:
        return ENDINGS[ending(path)]
    first = next(line for line in lines if line.strip())
    if first.lstrip().startswith("{"):
        return "jsonl"
    return "tsv" if "\t" in first else "lines"
