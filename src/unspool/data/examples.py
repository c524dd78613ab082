"""What readers give: texts with labels, sentences with tags, pairs, and the way back to a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from unspool.data.files import DataError

TEXT, LABEL, SCORE = "text", "label", "score"
SOURCE, TARGET, TAG = "source", "target", "tag"


@dataclass(frozen=True)
class Labelled:
    """A text, its label if it has one, and where it stands."""

    text: str
    label: str | None
    where: str


@dataclass(frozen=True)
class Tagged:
    """The words of a sentence, their tags if they have them, and where it begins."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    where: str


@dataclass(frozen=True)
class Pair:
    """A source, the target it becomes if that is known, a tag such as the language asked for, and
    where it stands."""

    source: str
    target: str | None
    tag: str | None
    where: str


@dataclass(frozen=True)
class Fields:
    """Which columns or keys hold the text and the label, and whether there must be labels."""

    text: str = TEXT
    label: str = LABEL
    needed: bool = True


@dataclass(frozen=True)
class PairFields:
    """Which columns or keys hold source, target and tag, and whether there must be targets."""

    source: str = SOURCE
    target: str = TARGET
    tag: str = TAG
    needed: bool = True


class LabelLayout(Protocol):
    """What a file needs to be written again with other labels."""

    def lines(self, labels: Sequence[str], scores: Sequence[str] | None) -> list[str]: ...


class TagLayout(Protocol):
    """What a file needs to be written again with other tags."""

    def lines(
        self, tags: Sequence[Sequence[str]], scores: Sequence[Sequence[str]] | None
    ) -> list[str]: ...


def labelled(text: str, label: str | None, where: str, needed: bool) -> Labelled:
    """An example of training has a text and a label; one to be labelled may lack either."""
    if needed and not text.strip():
        raise DataError(f"{where}: the text is empty: remove the example")
    if needed and label is None:
        raise DataError(
            f"{where}: the label is missing: add it, or remove the example (one that has none of "
            "several labels is written as [] in jsonl)"
        )
    return Labelled(text, label, where)


def pair(
    source: str, target: str | None, tag: str | None, where: tuple[str, str], needed: bool
) -> Pair | None:
    """An example of training has both sides, and is none where both are blank; one to be
    translated may lack either. `where` names the place of the source and that of the target."""
    target = (target or "").strip() or None
    blank = not source.strip()
    if needed and blank and target is None:
        return None
    if needed and (blank or target is None):
        empty, other = ("source", "target") if blank else ("target", "source")
        place = where[0] if blank else where[1]
        raise DataError(f"{place}: the {empty} is empty and the {other} is not: remove both")
    return Pair(source, target, (tag or "").strip() or None, where[0])


def check_cell(value: str, forbidden: str) -> None:
    """Refuse a value that would not stay one cell of a line."""
    if any(char in value for char in forbidden):
        raise ValueError(f"{value!r} cannot stand in one column of a line: choose jsonl instead")
