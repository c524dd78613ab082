"""Text out of files, whatever they are wrapped in, or an error that names the place."""

import gzip
import io
import random
import sys
from pathlib import Path

import pytest

from unspool.data.files import DataError, at, ending, read_lines, read_text

LINES = ["Ärger", "", "  two  ", "a\u2028b\x85c\x0bd", "日本\t語", "x"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_wrapping_changes_nothing(
    tmp_path: Path, mark: bytes, end: bytes, last: bool, packed: bool
) -> None:
    data = mark + end.join(line.encode() for line in LINES) + end * last
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(read_lines(path)) == list(enumerate(LINES, 1))
    assert read_text(str(path)) == "\n".join(LINES) + "\n" * last


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in ("a\r\nб\n".encode(), gzip.compress("a\nб".encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert list(read_lines("-")) == [(1, "a"), (2, "б")]
    assert at("-", 3) == "standard input, line 3"
    assert at(Path("names.tsv"), 12) == "names.tsv, line 12"


def test_gzip_in_two_parts_is_one_text(tmp_path: Path) -> None:
    path = tmp_path / "joined.gz"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert read_text(path) == "one\ntwo\n"


def test_gzip_cut_anywhere_gives_nothing(tmp_path: Path) -> None:
    text = "".join(random.Random(0).choices("abcdefgh\n", k=3000))
    data = gzip.compress(text.encode())
    path = tmp_path / "text.gz"
    for cut in range(2, len(data), 37):
        path.write_bytes(data[:cut])
        with pytest.raises(DataError, match=r"text\.gz: the gzip file is cut short"):
            read_lines(path)


def test_damaged_gzip_is_said_to_be_damaged(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(b"some text\n" * 100))
    data[-6] ^= 255  # a byte of the checksum
    (tmp_path / "text.gz").write_bytes(bytes(data))
    with pytest.raises(DataError, match="damaged"):
        read_text(tmp_path / "text.gz")


@pytest.mark.parametrize("line", [1, 2, 77])
def test_the_line_that_is_not_utf8_is_named(tmp_path: Path, line: int) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"good\n" * (line - 1) + "cafés\n".encode("latin1") + b"good\n")
    with pytest.raises(DataError, match=rf"latin\.txt, line {line}: byte 0xe9 is not UTF-8"):
        read_lines(path)


def test_utf16_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n", encoding="utf-16")
    with pytest.raises(DataError, match="this is UTF-16"):
        read_text(tmp_path / "a.txt")


def test_a_missing_file_suggests_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").touch()
    with pytest.raises(DataError, match=r"trian\.tsv: no such file; did you mean .*train\.tsv\?"):
        read_text(tmp_path / "trian.tsv")
    with pytest.raises(DataError, match=r"zzzzzz: no such file$"):
        read_text(tmp_path / "zzzzzz")
    with pytest.raises(DataError, match="no folder"):
        read_text(tmp_path / "nowhere" / "train.tsv")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder"):
        read_lines(tmp_path)


def test_the_ending_looks_through_gzip() -> None:
    names = ["a.tsv", "b.TSV.GZ", "x/y.c.tsv.gz", "-", "a.gz", "tsv"]
    assert [ending(name) for name in names] == [".tsv", ".tsv", ".tsv", "", "", ""]


@pytest.mark.parametrize("zeros", [0, 1, 100, 2**20 - 40, 2**20, 3 * 2**20])
def test_zeros_between_the_parts_of_a_gzip_file_lose_nothing(tmp_path: Path, zeros: int) -> None:
    path = tmp_path / "padded.gz"
    for fill in (zeros, max(0, zeros - len(gzip.compress(b"one\n")))):
        path.write_bytes(gzip.compress(b"one\n") + bytes(fill) + gzip.compress(b"two\n") + bytes(9))
        assert read_text(path) == "one\ntwo\n"


@pytest.mark.parametrize(
    "text", ["PAR1\tgene", "BZh is a mark", "ARROW1", "%PDF", "SQLite format 3"]
)
def test_a_text_may_begin_as_the_name_of_a_format(tmp_path: Path, text: str) -> None:
    (tmp_path / "text").write_text(text)
    assert read_text(tmp_path / "text") == text
