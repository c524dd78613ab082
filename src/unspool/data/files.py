"""Text out of files: plain or gzip, a path or standard input, and errors that name the place."""

import difflib
import gzip
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

GZIP = b"\x1f\x8b"
MARK = "\ufeff"  # the byte order mark that some editors put before UTF-8


class DataError(ValueError):
    """Data that cannot be read as asked; the message names the file, and the line to blame."""


def place(path: str | Path) -> str:
    """How a file is named in messages; "-" is standard input."""
    return "standard input" if str(path) == "-" else str(path)


def at(path: str | Path, line: int) -> str:
    """How a line is named in messages: "names.tsv, line 12"."""
    return f"{place(path)}, line {line}"


def ending(path: str | Path) -> str:
    """The ending that tells a format, in small letters: ".tsv" of names.TSV and names.tsv.gz."""
    name = Path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix


def raw_text(path: str | Path) -> str:
    """The whole text as it stands, with its byte order mark and its line ends."""
    data = _unpacked(path, _bytes(path))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError(f"{at(path, 1)}: this is UTF-16: save the file as UTF-8") from None
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{at(path, line)}: byte 0x{data[error.start]:02x} is not UTF-8: save the file as "
            "UTF-8, for instance with iconv -f latin1 -t utf-8"
        ) from None


def split_lines(text: str) -> list[str]:
    """Lines without their "\\n", and nothing else removed.

    Other characters that str.splitlines() breaks at, such as U+2028, occur inside real texts.
    """
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def read_text(path: str | Path) -> str:
    """The whole text, without a byte order mark and with "\\n" at the ends of lines."""
    return raw_text(path).removeprefix(MARK).replace("\r\n", "\n")


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Numbers from 1 and lines without their ends; the whole file is read and checked first."""
    lines = split_lines(raw_text(path).removeprefix(MARK))
    return ((number, line.removesuffix("\r")) for number, line in enumerate(lines, 1))


def check_not_empty(path: str | Path, lines: Sequence[str]) -> None:
    """Refuse a file in which there is nothing to read."""
    if not any(line.strip() for line in lines):
        what = "has blank lines only" if lines else "is empty"
        raise DataError(f"{place(path)} {what}: there is nothing to read")


def no_such(path: str | Path) -> DataError:
    """The error for a path that is not there, with the nearest name that is."""
    path = Path(path)
    if not path.parent.is_dir():
        return DataError(f"{path}: no such file, and no folder {path.parent} either")
    names = sorted(other.name for other in path.parent.iterdir())
    near = difflib.get_close_matches(path.name, names, n=1)
    hint = f"; did you mean {path.parent / near[0]}?" if near else ""
    return DataError(f"{path}: no such file{hint}")


def _bytes(path: str | Path) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read()
    if Path(path).is_dir():
        raise DataError(f"{path} is a folder: give a file in it")
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise no_such(path) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def _unpacked(path: str | Path, data: bytes) -> bytes:
    if not data.startswith(GZIP):
        return data
    try:
        return gzip.decompress(data)
    except EOFError:
        raise DataError(f"{place(path)}: the gzip file is cut short: copy it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{place(path)}: the gzip file is damaged ({error})") from error
