"""Sentences with a tag for each word out of a file, and back into it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unspool.data.columns import read_columns
from unspool.data.conllu import looks_like_conllu, read_conllu
from unspool.data.examples import Tagged, TagLayout
from unspool.data.files import (
    MARK,
    MAX_LINE,
    DataError,
    check_lines,
    check_not_empty,
    ending,
    place,
    raw_text,
    split_lines,
)
from unspool.data.jsonl import TAGS, read_tagged_jsonl
from unspool.data.schemes import convert, detect, is_span_tag

__all__ = ["TAGGED_FORMATS", "Tagged", "TaggedFile", "read_tagged"]

TAGGED_FORMATS = ("conllu", "conll", "jsonl")
ENDINGS = {
    ".conllu": "conllu",
    ".conll": "conll",
    ".bio": "conll",
    ".iob": "conll",
    ".tsv": "conll",
    ".txt": "conll",
    ".jsonl": "jsonl",
}
INNER = "IOB2"  # the scheme in which examples carry spans
COLUMN = "upos"
LONGEST_ALONE = 300  # words of a sentence that may be a file's only one


@dataclass(frozen=True)
class TaggedFile:
    """The sentences of a file, how it was read, and what it takes to write it again.

    `scheme` is that of the file's spans, if its tags are spans; the examples are always in IOB2.
    """

    examples: list[Tagged]
    format: str
    scheme: str | None
    layout: TagLayout
    mark: str

    def fill(
        self, tags: Sequence[Sequence[str]], scores: Sequence[Sequence[str]] | None = None
    ) -> Iterator[str]:
        """The lines of the file with these tags instead of its own; nothing else changes.

        Spans come in IOB2 and are written in the file's scheme. Lines have no "\\n", but a "\\r"
        that stood before it stays. Scores go into a last column, the Score of CoNLL-U's MISC, or
        the key "scores".
        """
        self._check("tags", tags)
        if scores is not None:
            self._check("scores", scores)
        if self.scheme and all(is_span_tag(tag) for sentence in tags for tag in sentence):
            tags = [convert(sentence, INNER, self.scheme) for sentence in tags]
        lines = self.layout.lines(tags, scores)
        return iter([self.mark + lines[0], *lines[1:]])

    def _check(self, what: str, given: Sequence[Sequence[str]]) -> None:
        if len(given) != len(self.examples):
            raise ValueError(f"{what} of {len(given)} sentences for {len(self.examples)}")
        for example, sentence in zip(self.examples, given, strict=True):
            if len(sentence) != len(example.words):
                raise ValueError(
                    f"{example.where}: {len(sentence)} {what} for {len(example.words)} words"
                )


def read_tagged(
    path: str | Path,
    *,
    format: str = "auto",
    column: str = COLUMN,
    need_tags: bool = True,
    max_line: int = MAX_LINE,
) -> TaggedFile:
    """Read CoNLL-U, CoNLL columns or JSONL; spans become IOB2, whatever scheme the file has.

    `column` is a name in CoNLL-U, a number from "2" in CoNLL columns (where the last is the
    default) and the key of the tags in JSONL ("tags" by default). Nothing is returned unless
    every line could be read; one of more than `max_line` characters is refused (0: none is).
    """
    if format not in ("auto", *TAGGED_FORMATS):
        raise ValueError(f"format is auto or one of {', '.join(TAGGED_FORMATS)}, not {format!r}")
    text = raw_text(path, max_line)
    mark = MARK if text.startswith(MARK) else ""
    lines = split_lines(text.removeprefix(MARK))
    check_lines(path, lines, max_line)
    check_not_empty(path, lines)
    known = _guess(path, lines) if format == "auto" else format
    if known == "conllu":
        examples, layout = read_conllu(path, lines, column, need_tags)
    elif known == "conll":
        examples, layout = read_columns(path, lines, _unless_default(column), need_tags)
    else:
        key = _unless_default(column) or TAGS
        examples, layout = read_tagged_jsonl(path, lines, key, need_tags)
    if not examples:
        raise DataError(f"{place(path)} holds no words, read as {known}")
    if known == "conll" and need_tags:
        check_blank_lines(path, examples)
    scheme = detect(example.tags for example in examples if example.tags)
    return TaggedFile([_inner(e, scheme) for e in examples], known, scheme, layout, mark)


def check_blank_lines(path: str | Path, examples: Sequence[Tagged]) -> None:
    """Refuses one sentence of very many words: the blank lines after sentences are missing."""
    if len(examples) == 1 and len(examples[0].words) > LONGEST_ALONE:
        raise DataError(
            f"{examples[0].where}: 1 sentence of {len(examples[0].words):,} words found in all of "
            f"{place(path)}: put a blank line after each sentence"
        )


def _unless_default(column: str) -> str | None:
    return None if column == COLUMN else column


def _inner(example: Tagged, scheme: str | None) -> Tagged:
    if scheme is None or example.tags is None:
        return example
    return replace(example, tags=convert(example.tags, scheme, INNER))


def _guess(path: str | Path, lines: Sequence[str]) -> str:
    if ending(path) in ENDINGS:
        return ENDINGS[ending(path)]
    first = next(line for line in lines if line.strip())
    if first.lstrip().startswith("{"):
        return "jsonl"
    return "conllu" if looks_like_conllu(lines) else "conll"
