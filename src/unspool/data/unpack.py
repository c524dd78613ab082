"""The bytes of a text file or of standard input, unpacked if they are gzip, and within limits.

A small file can unpack to more than the memory of the machine, a device never ends, and a picture
or a workbook is no text: all are refused while they are read, before much of them is held.
"""

import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from unspool.data.errors import DataError, at, no_such, place
from unspool.machine import memory

CHUNK = 1 << 20
GZIP = b"\x1f\x8b"
# Text shrinks to a tenth, tables of numbers to a fiftieth at the most.
RATIO, SMALL = 200, 64 << 20  # small files may shrink to anything
# Memory while a file is read: its bytes, its text, its lines and its examples, which cost more than
# their characters.
COPIES, LINE = 4, 500
UTF16 = (b"\xff\xfe", b"\xfe\xff")
CSV = "save the table as CSV (UTF-8)"
# How files begin that are no text; each mark is one that no text begins with.
KINDS = {
    b"PK\x03\x04": f"a zip archive; Excel and LibreOffice write tables so (.xlsx, .ods): {CSV}",
    b"\xd0\xcf\x11\xe0": f"a file of an old Excel or Word (.xls, .doc): {CSV}",
    b"%PDF-": "a PDF: save its text as a plain text file",
    b"{\\rtf1": "a document in RTF: save it as a plain text file (UTF-8)",
    b"PAR1\x15": "a Parquet file: write it as JSONL or CSV",
    b"ARROW1\0": "an Arrow file: write it as JSONL or CSV",
    b"SQLite format 3\0": "an SQLite database: write the table as CSV",
    b"BZh91AY&SY": "packed with bzip2: unpack it (bunzip2)",
    b"\xfd7zXZ": "packed with xz: unpack it (unxz)",
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it (unzstd)",
    b"7z\xbc\xaf": "packed with 7-Zip: unpack it",
    b"version https://git-lfs": "a pointer of Git LFS to a file elsewhere: git lfs pull",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    GZIP: "a gzip file inside a gzip file: unpack it once (gunzip)",
}


def read_bytes(path: str | Path, max_line: int = 0) -> bytearray:
    """The unpacked bytes; `max_line` characters a line are allowed, any number if it is 0.

    Lines are checked here only so far that a file without line ends is not held in memory.
    """
    kept, limit = bytearray(), memory()
    line, length = 1, 0  # how long the line is that goes on
    for chunk in _chunks(path):
        if not kept:
            _check_kind(path, chunk)
        if 0 in chunk and not kept.startswith(UTF16) and not chunk.startswith(UTF16):
            number = line + chunk.count(b"\n", 0, chunk.index(0))
            raise DataError(
                f"{at(path, number)}: byte 0x00, which no text has: save the file as plain text "
                "(UTF-8)"
            )
        first = chunk.find(b"\n")
        length += len(chunk) if first < 0 else first
        if max_line and length > 4 * max_line + CHUNK:  # a character has at most four bytes
            raise too_long(path, line, max_line)
        if first >= 0:
            line += chunk.count(b"\n")
            length = len(chunk) - chunk.rindex(b"\n") - 1
        kept += chunk
        lines = line if max_line else 0  # a text that is not read by lines has no list of them
        if COPIES * len(kept) + LINE * lines > limit:
            raise DataError(
                f"{place(path)} holds over {len(kept) / 1e9:.1f} GB of text in {line:,} lines, too "
                f"much for the {limit / 1e9:.1f} GB of memory here: cut it into parts"
            )
    return kept


def too_long(path: str | Path, line: int, max_line: int) -> DataError:
    """The error for a line of more than `max_line` characters."""
    return DataError(
        f"{at(path, line)}: the line has more than {max_line:,} characters: is a line end missing? "
        "--max-line (max_line=) sets another limit, 0 none"
    )


def _check_kind(path: str | Path, start: bytes) -> None:
    """Refuses a file whose first bytes are those of another format than text."""
    for mark, kind in KINDS.items():
        if start.startswith(mark):
            raise DataError(f"{place(path)} is no text but {kind}")


def _chunks(path: str | Path) -> Iterator[bytes]:
    """Pieces of the file, unpacked."""
    with _opened(path) as file:
        first = file.read(CHUNK)
        packed = first.startswith(GZIP)
        yield from _unpacked(path, file, first) if packed else _pieces(file, first)


def _pieces(file: IO[bytes], first: bytes) -> Iterator[bytes]:
    while first:
        yield first
        first = file.read(CHUNK)


def _unpacked(path: str | Path, file: IO[bytes], packed: bytes) -> Iterator[bytes]:
    """The members of a gzip file one after the other, which are one text together."""
    member, taken, given = zlib.decompressobj(31), len(packed), 0
    try:
        while True:
            piece = member.decompress(packed, CHUNK)
            given += len(piece)
            if given > SMALL and given > RATIO * taken:
                raise DataError(
                    f"{place(path)} unpacks to over {RATIO} times its size, as no text does: if "
                    "it is meant to, unpack it first (gunzip)"
                )
            if piece:
                yield piece
            packed = member.unconsumed_tail
            if member.eof:
                packed = member.unused_data.lstrip(b"\0")  # zeros may stand between members
                while not packed:
                    more = file.read(CHUNK)
                    if not more:
                        return
                    taken += len(more)
                    packed = more.lstrip(b"\0")
                if not packed.startswith(GZIP[: len(packed)]):
                    raise DataError(
                        f"{place(path)}: the gzip file is damaged: something else follows its end"
                    )
                member = zlib.decompressobj(31)
            elif not packed and len(piece) < CHUNK:
                packed = file.read(CHUNK)
                taken += len(packed)
                if not packed:
                    raise DataError(f"{place(path)}: the gzip file is cut short: copy it again")
    except zlib.error as error:
        raise DataError(f"{place(path)}: the gzip file is damaged ({error})") from None


@contextmanager
def _opened(path: str | Path) -> Iterator[IO[bytes]]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    if Path(path).is_dir():
        raise DataError(f"{path} is a folder: give a file in it")
    try:
        with Path(path).open("rb") as file:
            yield file
    except FileNotFoundError:
        raise no_such(path) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
