"""Word vectors that others have trained, as rows for our own vocabulary."""

import gzip
import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NoReturn

import torch
from torch import Tensor

from unspool.text.vocabulary import PAD, SPECIALS, Vocabulary

SPREAD = 0.1  # standard deviation of the rows of words that the file does not have


def read_vectors(
    path: str | Path, vocabulary: Vocabulary, size: int | None = None
) -> tuple[Tensor, int]:
    """Rows for the vocabulary, of shape (symbols, size), and how many of its words were found.

    Reads the text formats of word2vec (a first line `count size`) and GloVe (without one), plain
    or gzipped. A word is looked up as it is, then in lower case; the first of several entries
    counts. Words that are not there start from small random numbers, the same every time;
    padding is zero.
    """
    if size is not None and size < 1:
        raise ValueError(f"the size of vectors is at least 1, not {size}")
    file = _open(path, size)
    random = torch.Generator().manual_seed(0)
    table = torch.randn(len(vocabulary), file.size, generator=random) * SPREAD
    table[PAD] = 0
    exact, lower = _wanted(vocabulary)
    firsts = {word.split(b" ")[0] for word in [*exact, *lower]}
    found: dict[int, bool] = {}  # id -> whether it was found as it is spelled
    for number, line in file.entries():
        # Most lines are not wanted, so only the first part of the word is taken off at first.
        if line.split(b" ", 1)[0] not in firsts:
            continue
        word, *values = line.rsplit(b" ", file.size)
        here = {row: False for row in lower.get(word, ()) if row not in found}
        if word in exact and not found.get(exact[word]):
            here[exact[word]] = True
        if here:
            table[list(here)] = torch.tensor(file.numbers(number, values), dtype=table.dtype)
        found |= here
    return table, len(found)


def _wanted(vocabulary: Vocabulary) -> tuple[dict[bytes, int], dict[bytes, list[int]]]:
    """The words as bytes, since such files have broken UTF-8, and lower-case forms that differ."""
    exact: dict[bytes, int] = {}
    lower: dict[bytes, list[int]] = {}
    for row, symbol in enumerate(vocabulary.to_json(), len(SPECIALS)):
        exact[symbol.encode("utf-8", "surrogatepass")] = row
        if symbol.lower() != symbol:
            form = symbol.lower().encode("utf-8", "surrogatepass")
            lower.setdefault(form, []).append(row)
    return exact, lower


@dataclass
class _File:
    path: str | Path
    size: int
    lines: Iterator[tuple[int, bytes]]
    promised: int | None  # the count of the first line, where there is one

    def entries(self) -> Iterator[tuple[int, bytes]]:
        """The numbered lines that hold a word and its vector."""
        count = 0
        for number, line in self.lines:
            count += 1
            if line.count(b" ") < self.size:
                _wrong(self.path, number, self.size, line)
            yield number, line
        if self.promised is not None and count < self.promised:
            raise ValueError(
                f"{self.path}, line 1 promises {self.promised} vectors, but {count} are there: "
                "the file is cut short; fetch it again"
            )

    def numbers(self, number: int, values: list[bytes]) -> list[float]:
        parsed = [_number(value) for value in values]
        finite = [value for value in parsed if value is not None]
        if len(finite) < len(parsed):
            _wrong(self.path, number, self.size, values[parsed.index(None)])
        return finite


def _open(path: str | Path, size: int | None) -> _File:
    """The file after its first lines have told what it is."""
    lines = _read(path)
    first = next(lines, None)
    promised = own = None
    if first is not None and (header := re.fullmatch(rb"(\d+) (\d+)", first[1])):
        promised, own = int(header[1]), int(header[2])
        if size is not None and size != own:
            raise ValueError(f"{path} has vectors of size {own}, not {size}: leave size out")
        first = next(lines, None)
    if first is None:
        raise ValueError(f"{path} has no vectors: expected a word and its numbers on each line")
    file = _File(path, _size(path, first, own or size), chain([first], lines), promised)
    file.numbers(first[0], first[1].split(b" ")[-file.size :])
    return file


def _size(path: str | Path, first: tuple[int, bytes], said: int | None) -> int:
    """How many numbers the first vector has, `said` where its word has spaces in it.

    Later lines are cut from their end, so a size that is too small must be found here.
    """
    number, line = first
    fields = line.split(b" ")[1:]
    plain = bool(fields) and all(_number(field) is not None for field in fields)
    if plain and said not in (None, len(fields)):
        raise ValueError(f"{path}, line {number}: expected {said} numbers, but got {len(fields)}")
    if not plain and said is None:
        _wrong(path, number, max(len(fields), 1), line)
    return said or len(fields)


def _wrong(path: str | Path, number: int, size: int, given: bytes) -> NoReturn:
    shown = given[:40].decode("utf-8", "replace") + "..." * (len(given) > 40)
    raise ValueError(
        f"{path}, line {number}: expected a word and {size} numbers with single spaces between "
        f"them, the text format of word2vec or GloVe, but got {shown!r}; where a word has spaces "
        "of its own on the first line, give the size"
    )


def _read(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines without their ends, blank ones left out."""
    try:
        with open(path, "rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            for number, line in enumerate(gzip.GzipFile(fileobj=raw) if zipped else raw, 1):
                line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if stripped := line.rstrip(b" \t\r\n"):
                    yield number, stripped
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is cut short or damaged: {error}; fetch it again") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


def _number(field: bytes) -> float | None:
    """The finite number that is written here, if it is one."""
    try:
        value = float(field)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
