"""Text out of files: a path or standard input, and errors that name the place."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from unspool.data.errors import DataError, at, no_such, place
from unspool.data.unpack import UTF16, read_bytes, too_long

__all__ = [
    "MARK", "MAX_LINE", "DataError", "at", "check_lines", "check_not_empty", "ending", "no_such",
    "place", "raw_text", "read_lines", "read_text", "split_lines",
]  # fmt: skip

MARK = "\ufeff"  # the byte order mark that some editors put before UTF-8
MAX_LINE = 10_000_000  # characters: longer than books


def ending(path: str | Path) -> str:
    """The ending that tells a format, in small letters: ".tsv" of names.TSV and names.tsv.gz."""
    name = Path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix


def raw_text(path: str | Path, max_line: int = 0) -> str:
    """The whole text as it stands, with its byte order mark and its line ends."""
    data = read_bytes(path, max_line)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if data.startswith(UTF16):
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


def read_lines(path: str | Path, max_line: int = MAX_LINE) -> Iterator[tuple[int, str]]:
    """Numbers from 1 and lines without their ends; the whole file is read and checked first.

    A line of more than `max_line` characters is refused, unless it is 0.
    """
    lines = split_lines(raw_text(path, max_line).removeprefix(MARK))
    check_lines(path, lines, max_line)
    return ((number, line.removesuffix("\r")) for number, line in enumerate(lines, 1))


def check_lines(path: str | Path, lines: Sequence[str], max_line: int) -> None:
    """Refuses a file with a line of more than `max_line` characters, unless it is 0, and one
    whose lines end in a way that is not read."""
    if len(lines) == 1 and "\r" in lines[0].rstrip("\r"):
        raise DataError(
            f"{place(path)}: its lines end in CR alone, as on old Macs: save it with LF or CR LF "
            "(tr '\\r' '\\n')"
        )
    if max_line and max(map(len, lines), default=0) > max_line:
        number = next(k for k, line in enumerate(lines, 1) if len(line) > max_line)
        raise too_long(path, number, max_line)


def check_not_empty(path: str | Path, lines: Sequence[str]) -> None:
    """Refuse a file in which there is nothing to read."""
    if not any(line.strip() for line in lines):
        what = "has blank lines only" if lines else "is empty"
        raise DataError(f"{place(path)} {what}: there is nothing to read")
