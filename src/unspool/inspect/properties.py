"""What is true of each character of a text: inside quotes, how deep in brackets, where in its line.

The rules are those of Python's source, read by a small lexer that takes any text: what is left
open ends with its line (a quote) or with the text (three quotes, a bracket), and a bracket that
closes nothing counts for nothing.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unspool.data.files import DataError, at, check_not_empty, read_lines

Labels = NDArray[np.float64]
Kind = Literal["yes/no", "number"]
KINDS = ("yes/no", "number")
TAB = 8  # columns that a tab goes on to, as in Python


@dataclass(frozen=True)
class Property:
    """Something that is true of each character, or that has a number there."""

    name: str
    title: str
    kind: Kind
    label: Callable[[str], Labels]


# A comment; a string in three quotes; one in a single quote, which ends with its line. A backslash
# takes the character after it along, in raw strings too. An apostrophe within a word (isn't) opens
# nothing, but the letters that Python writes before strings (rb'...') may stand there.
TOKEN = re.compile(
    r"""
      \#[^\n]*
    | (?P<long> \"{3} | '{3} ) (?: \\. | \\\Z | (?!(?P=long))[^\\] )*+ (?P<long_end> (?P=long) )?
    | (?P<short> " | (?: (?<!\w) | (?<=\b[rbfu]) | (?<=\b[rbf]{2}) )' )
      (?: \\. | \\\Z | (?!(?P=short))[^\\\n] )*+ (?P<short_end> (?P=short) )?
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def in_quotes(text: str) -> Labels:
    """1 from the quote that opens a string to the last character before the end of that which
    closes it.

    So it changes where a reader learns of it: with the opening quote read the string is open, with
    the closing one read it is over.
    """
    found = np.zeros(len(text))
    for match in TOKEN.finditer(text):
        if match["long"] or match["short"]:
            closed = match["long_end"] or match["short_end"]
            found[match.start() : match.end() - bool(closed)] = 1
    return found


def in_comment(text: str) -> Labels:
    """1 from the # to the last character of the line; the line's end is outside."""
    found = np.zeros(len(text))
    for match in TOKEN.finditer(text):
        if not (match["long"] or match["short"]):
            found[match.start() : match.end()] = 1
    return found


def in_if(text: str) -> Labels:
    """1 inside the condition of an `if` or `elif`: after the word, up to the colon.

    Only statements count, which begin their line. The colon stands outside brackets; a condition
    without one ends with its line.
    """
    bare = _bare(text)
    depth = _depths(bare)
    found, place = np.zeros(len(text)), 0
    for word in re.finditer(r"^[ \t]*(?:if|elif)\b", bare, re.MULTILINE):
        if word.start() < place:
            continue  # within brackets of the condition before
        place = word.end()
        level = depth[place - 1]
        while place < len(bare) and not _ends_condition(bare, place, depth[place] - level):
            found[place] = 1
            place += 1
    return found


def position_in_line(text: str) -> Labels:
    """How many characters of its line come before; the line's end is its last character."""
    return (np.arange(len(text)) - _line_starts(text)).astype(float)


def bracket_depth(text: str) -> Labels:
    """How many of ( [ { are open once the character is read, outside strings and comments."""
    return _depths(_bare(text))


def indent_depth(text: str) -> Labels:
    """The columns that the character's line is indented by; a blank line goes on as the last."""
    found, last = np.zeros(len(text)), 0
    for line in re.finditer(r"[^\n]*\n?", text):
        body = line[0].lstrip(" \t")
        if body.strip():
            last = len(line[0][: len(line[0]) - len(body)].expandtabs(TAB))
        found[line.start() : line.end()] = last
    return found


PROPERTIES = {
    one.name: one
    for one in (
        Property("in_quotes", "inside quotes", "yes/no", in_quotes),
        Property("in_comment", "inside a comment", "yes/no", in_comment),
        Property("in_if", "inside the condition of an if", "yes/no", in_if),
        Property("position_in_line", "position in the line", "number", position_in_line),
        Property("bracket_depth", "depth of brackets", "number", bracket_depth),
        Property("indent_depth", "indentation of the line", "number", indent_depth),
    )
}


def labels_of(text: str, spans: Sequence[tuple[int, int]] | None = None) -> dict[str, Labels]:
    """Every property of a text: of its characters, or of the symbols at `spans`."""
    found = {name: one.label(text) for name, one in PROPERTIES.items()}
    return found if spans is None else {n: over_symbols(v, spans) for n, v in found.items()}


def over_symbols(labels: Sequence[float] | Labels, spans: Sequence[tuple[int, int]]) -> Labels:
    """One label for each symbol: that of its first character.

    `spans` are the symbols' places in the text, as a codec gives them.
    """
    values = np.asarray(labels, dtype=float)
    starts = np.array([start for start, _ in spans], dtype=int)
    if len(starts) and not (starts.min() >= 0 and starts.max() < len(values)):
        raise ValueError(
            f"there are {len(values)} labels and a symbol that begins at character "
            f"{starts.max()}: give one label for each character of the text"
        )
    return values[starts]


def read_labels(path: str | Path, expected: int | None = None) -> Labels:
    """Labels of your own: a file with one number a line, `expected` of them."""
    lines = list(read_lines(path))
    check_not_empty(path, [line for _, line in lines])
    found = np.array([_number(path, number, line) for number, line in lines])
    if expected is not None and len(found) != expected:
        raise DataError(
            f"{path} has {len(found)} labels, and {expected} are needed: one line with one number "
            "for each character, or for each symbol"
        )
    return found


def kind_of(labels: Labels) -> Kind:
    """ "yes/no" where there is nothing but 0 and 1."""
    return "yes/no" if np.isin(labels, (0, 1)).all() else "number"


def _number(path: str | Path, number: int, line: str) -> float:
    try:
        value = float(line)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{at(path, number)}: {line!r} is no number: write one number a line")
    return value


def _ends_condition(bare: str, place: int, depth: float) -> bool:
    """A colon that is not that of := or the line's end, outside the condition's own brackets."""
    here = bare[place]
    colon = here == ":" and bare[place + 1 : place + 2] != "="
    return depth < 0 or (depth == 0 and (colon or here == "\n"))


def _bare(text: str) -> str:
    """The text with blanks in place of strings and comments, as long as before."""
    return TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def _depths(bare: str) -> Labels:
    found, depth = np.zeros(len(bare)), 0
    for place, character in enumerate(bare):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth = max(0, depth - 1)
        found[place] = depth
    return found


def _line_starts(text: str) -> NDArray[np.int64]:
    """For each character the place where its line begins."""
    found = np.zeros(len(text), dtype=np.int64)
    for end in re.finditer(r"\n", text):
        found[end.end() : end.end() + 1] = end.end()
    return np.maximum.accumulate(found)
