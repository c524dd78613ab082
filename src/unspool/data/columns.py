"""CoNLL columns: one word a line with its tag, and a blank line after each sentence."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from unspool.data.examples import Tagged
from unspool.data.files import DataError, at
from unspool.data.token_lines import TokenLayout

DOCUMENT = "-DOCSTART-"

_tabs = re.compile(r"( *\t *)")
_spaces = re.compile(r"([ \t]+)")


def read_columns(
    path: str | Path, lines: Sequence[str], column: str | None, need_tags: bool
) -> tuple[list[Tagged], TokenLayout]:
    """The first column is the word; the tag is the last one, or the one with this number.

    The first word's line decides for all whether columns stand between tabs or spaces, and how
    many there are: a word with a space in it must not pass for a word and its tag.
    """
    sentences = _sentences(lines)
    if not sentences:
        raise DataError(f"{at(path, 1)}: there are {DOCUMENT} lines and no words")
    start = sentences[0][0]
    tabs = "\t" in lines[start]
    width = len(_cells(lines[start], tabs))
    place = _place(at(path, start + 1), column, width, need_tags)
    examples = []
    for indices in sentences:
        pairs = [_word(at(path, i + 1), _cells(lines[i], tabs), width, place) for i in indices]
        words, tags = zip(*pairs, strict=True)
        if need_tags and not all(tags):
            line = indices[tags.index("")] + 1
            raise DataError(f"{at(path, line)}: the tag of {words[tags.index('')]!r} is empty")
        examples.append(Tagged(words, tags if all(tags) else None, at(path, indices[0] + 1)))
    forbidden = "\t\n\r" if tabs else " \t\n\r"
    return examples, TokenLayout(lines, sentences, partial(_put, place, tabs), forbidden)


def _sentences(lines: Sequence[str]) -> list[list[int]]:
    """The places of the words of each sentence; blank and document lines stand between them."""
    found: list[list[int]] = [[]]
    for index, line in enumerate(lines):
        if line and not line.isspace() and line.split(maxsplit=1)[0] != DOCUMENT:
            found[-1].append(index)
        elif found[-1]:
            found.append([])
    return found if found[-1] else found[:-1]


def _cells(line: str, tabs: bool) -> list[str]:
    return _pieces(line, tabs)[1:-1:2]


def _pieces(line: str, tabs: bool) -> list[str]:
    """What stands before the first cell, then cells with what separates them, then the rest."""
    edge = " " if tabs else " \t"
    body = line.rstrip(edge + "\r")
    core = body.lstrip(edge)
    inner = (_tabs if tabs else _spaces).split(core)
    return [body[: len(body) - len(core)], *inner, line[len(body) :]]


def _place(where: str, column: str | None, width: int, need_tags: bool) -> int:
    """Where the tag stands, from 0; at `width` it is to be appended."""
    if column is None:
        place = max(width - 1, 1)
    elif column.isdecimal() and int(column) > 1:
        place = int(column) - 1
    else:
        raise ValueError(f"the tag's column is a number from 2 (1 is the word); got {column!r}")
    if place > width or (need_tags and place == width):
        raise DataError(
            f"{where}: {width} column{'s' * (width != 1)} found, and the tag is expected in column "
            f"{place + 1}: the word comes first, and tabs or spaces stand between columns"
        )
    return place


def _word(where: str, cells: list[str], width: int, place: int) -> tuple[str, str]:
    if len(cells) != width:
        hint = "" if cells[0][:1] != "#" else "; if this is CoNLL-U, name the format: conllu"
        raise DataError(
            f"{where}: {len(cells)} column{'s' * (len(cells) != 1)} found, {width} expected as in "
            f"the first line{hint}"
        )
    if not cells[0]:
        raise DataError(f"{where}: the word is empty")
    return cells[0], cells[place] if place < width else ""


def _put(place: int, tabs: bool, line: str, tag: str, score: str | None) -> str:
    pieces, gap = _pieces(line, tabs), "\t" if tabs else " "
    if 2 * place + 1 < len(pieces) - 1:
        pieces[2 * place + 1] = tag
    else:
        pieces.insert(-1, gap + tag)
    if score is not None:
        pieces.insert(-1, gap + score)
    return "".join(pieces)
