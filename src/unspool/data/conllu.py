"""CoNLL-U, the format of Universal Dependencies: ten columns, comments, ranges, empty nodes."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from unspool.data.examples import Tagged
from unspool.data.files import DataError, at
from unspool.data.token_lines import TokenLayout

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FORM, LEMMA, MISC = COLUMNS.index("form"), COLUMNS.index("lemma"), COLUMNS.index("misc")
EMPTY = "_"
SCORE = "Score="

_id = re.compile(r"\d+([-.]\d+)?")


def looks_like_conllu(lines: Sequence[str]) -> bool:
    """Whether the first line that is no comment has ten columns, the first a number or range."""
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    cells = first.split("\t")
    return len(cells) == len(COLUMNS) and _id.fullmatch(cells[0]) is not None


def read_conllu(
    path: str | Path, lines: Sequence[str], column: str, need_tags: bool
) -> tuple[list[Tagged], TokenLayout]:
    """Words and the values of one column; ranges, empty nodes and comments are not tagged."""
    if column not in COLUMNS:
        raise ValueError(f"the columns of CoNLL-U are {', '.join(COLUMNS)}; got {column!r}")
    place = COLUMNS.index(column)
    examples, sentences = [], []
    tokens: list[list[str]] = []
    indices: list[int] = []
    for index, line in enumerate((*lines, "")):
        if not line or line.isspace():
            if tokens:
                examples.append(_sentence(path, tokens, indices, place, need_tags))
                sentences.append(indices)
            tokens, indices = [], []
        elif not line.startswith("#"):
            cells = line.removesuffix("\r").split("\t")
            if len(cells) != len(COLUMNS) or not _id.fullmatch(cells[0]):
                raise _broken(at(path, index + 1), cells)
            if cells[0].isdecimal():
                if cells[0].lstrip("0") != str(len(tokens) + 1):
                    raise DataError(
                        f"{at(path, index + 1)}: word {cells[0][:20]} stands where word "
                        f"{len(tokens) + 1} is expected (a blank line ends each sentence)"
                    )
                tokens.append(cells)
                indices.append(index)
    return examples, TokenLayout(lines, sentences, partial(_put, place), "\t\n\r")


def _sentence(
    path: str | Path, tokens: list[list[str]], indices: list[int], place: int, need_tags: bool
) -> Tagged:
    words = tuple(cells[FORM] for cells in tokens)
    if not all(map(str.strip, words)):
        line = indices[next(k for k, word in enumerate(words) if not word.strip())] + 1
        raise DataError(f"{at(path, line)}: the word is empty (one that is not known is {EMPTY})")
    tags: tuple[str, ...] | None = tuple(cells[place] for cells in tokens)
    missing = [number for number, cells in enumerate(tokens) if _lacks(cells, place)]
    if missing and need_tags:
        name = COLUMNS[place]
        raise DataError(
            f"{at(path, indices[missing[0]] + 1)}: the word {words[missing[0]]!r} has no {name}: "
            f"annotate it, or choose another column than {name}"
        )
    return Tagged(words, None if missing else tags, at(path, indices[0] + 1))


def _lacks(cells: list[str], place: int) -> bool:
    if not cells[place]:
        return True
    # No features and nothing in MISC are values too; so is the lemma of the word "_".
    if cells[place] != EMPTY or COLUMNS[place] in ("form", "feats", "misc"):
        return False
    return not (place == LEMMA and cells[FORM] == EMPTY)


def _broken(where: str, cells: list[str]) -> DataError:
    if len(cells) != len(COLUMNS):
        return DataError(
            f"{where}: {len(cells)} column{'s' * (len(cells) != 1)} found: a line of CoNLL-U has "
            "10, with tabs between them"
        )
    return DataError(
        f"{where}: a line of CoNLL-U begins with a number, a range such as 3-4 or an empty node "
        f"such as 5.1; got {cells[0][:40]!r}"
    )


def _put(place: int, line: str, tag: str, score: str | None) -> str:
    body = line.removesuffix("\r")
    cells = body.split("\t")
    cells[place] = tag
    if score is not None:  # an eleventh column would not be CoNLL-U
        kept = [part for part in cells[MISC].split("|") if not part.startswith(SCORE)]
        cells[MISC] = "|".join([part for part in kept if part != EMPTY] + [SCORE + score])
    return "\t".join(cells) + line[len(body) :]
