"""Plain text, one text a line: a single file, or a folder with one file for each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unspool.data.examples import Fields, Labelled, check_cell, labelled
from unspool.data.files import MAX_LINE, DataError, at, check_not_empty, no_such, place, read_lines

ENDINGS = (".txt.gz", ".txt", ".gz")


@dataclass(frozen=True)
class PlainLayout:
    """Texts as they stood, blank lines included."""

    texts: Sequence[str]

    def lines(self, labels: Sequence[str], scores: Sequence[str] | None) -> list[str]:
        """Each text with its label, and its score if there are any, behind tabs."""
        for value in (*labels, *(scores or ())):
            check_cell(value, "\t\n\r")
        added = iter(zip(labels, scores, strict=True) if scores else zip(labels, strict=True))
        return ["\t".join((text, *next(added))) if text.strip() else text for text in self.texts]


def read_plain(
    path: str | Path, lines: Sequence[str], fields: Fields
) -> tuple[list[Labelled], PlainLayout]:
    """Texts without labels, one a line."""
    if fields.needed:
        raise DataError(
            f"{place(path)}: plain text has no labels: give a tsv, csv or jsonl file, or a folder "
            "with one file for each class (if its ending misleads, name the format)"
        )
    examples = [
        Labelled(line, None, at(path, number))
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    return examples, PlainLayout(lines)


def read_folder(folder: str | Path, max_line: int = MAX_LINE) -> tuple[list[Labelled], PlainLayout]:
    """The lines of each file, labelled with the file's name, in the order of the names."""
    examples, texts = [], []
    for label, path in _classes(Path(folder)).items():
        lines = [line for _, line in read_lines(path, max_line)]
        check_not_empty(path, lines)
        texts += lines
        examples += [
            labelled(line, label, at(path, number), needed=True)
            for number, line in enumerate(lines, 1)
            if line.strip()
        ]
    return examples, PlainLayout(texts)


def _classes(folder: Path) -> dict[str, Path]:
    if not folder.exists():
        raise no_such(folder)
    if not folder.is_dir():
        raise DataError(f"{folder} is a file: format folder expects one file for each class")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        end = next((end for end in ENDINGS if path.name.endswith(end)), "")
        label = path.name.removesuffix(end)
        if not path.is_file() or not end or not label:
            raise DataError(
                f"{path}: each class is one file that ends in .txt or .txt.gz, with one text a "
                "line: move anything else out of the folder"
            )
        if label in found:
            raise DataError(f"{path} and {found[label]} are files of the same class: join them")
        found[label] = path
    if not found:
        raise DataError(f"{folder} is empty: one .txt file for each class is expected in it")
    return found
