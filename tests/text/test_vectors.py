"""Word vectors from files."""

import gzip
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unspool.text import PAD, Vocabulary, read_vectors

GLOVE = "the 1 2 3\nApple -1e-2 5 6\napple 7 8 9\n. . . 4 4 4\n"
VOCABULARY = Vocabulary(["the", "Apple", "The", "APPLE", "pear", ". . ."])
FOUND = {"the": [1, 2, 3], "Apple": [-0.01, 5, 6], "The": [1, 2, 3], "APPLE": [7, 8, 9]}
FOUND[". . ."] = [4, 4, 4]


def row(table: torch.Tensor, vocabulary: Vocabulary, word: str) -> torch.Tensor:
    return table[vocabulary.id(word)]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("header", ["", "4 3\n"])
@pytest.mark.parametrize("ends", ["\n", " \n", "\r\n"])
@pytest.mark.parametrize("size", [None, 3])
def test_both_formats_plain_or_zipped(
    zipped: bool, header: str, ends: str, size: int | None, tmp_path: Path
) -> None:
    content = (header + GLOVE).replace("\n", ends).encode()
    path = tmp_path / "vectors"
    path.write_bytes(gzip.compress(content) if zipped else b"\xef\xbb\xbf" + content)
    table, found = read_vectors(path, VOCABULARY, size)
    assert table.shape == (len(VOCABULARY), 3)
    assert found == 5
    for word, values in FOUND.items():
        torch.testing.assert_close(row(table, VOCABULARY, word), torch.tensor(values).float())
    assert table[PAD].eq(0).all()


words = st.text("aAbBé", min_size=1, max_size=2)


@given(st.lists(st.tuples(words, st.integers(-9, 9)), min_size=1), st.lists(words, unique=True))
def test_the_spelling_itself_comes_before_lower_case_and_the_first_entry_counts(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, int]], wanted: list[str]
) -> None:
    path = tmp_path_factory.mktemp("vectors") / "glove.txt"
    path.write_text("".join(f"{word} {n} 0.5\n" for word, n in entries), encoding="utf-8")
    vocabulary = Vocabulary(wanted)
    table, found = read_vectors(path, vocabulary)
    first = dict(reversed(entries))
    expected = {w: first.get(w, first.get(w.lower())) for w in wanted}
    got = {w: row(table, vocabulary, w) for w in wanted}
    assert found == sum(n is not None for n in expected.values())
    for word, n in expected.items():
        if n is not None:
            assert got[word].tolist() == [n, 0.5]
        else:
            assert 0 < got[word].abs().max() < 1


def test_words_not_found_are_random_and_the_same_every_time(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(GLOVE)
    table, _ = read_vectors(path, VOCABULARY)
    torch.manual_seed(1)
    again, _ = read_vectors(path, VOCABULARY)
    assert table.equal(again)
    assert len({tuple(values) for values in table[1:5].tolist()}) == 4
    path.write_text("pear 0 0 0\n")
    fewer, found = read_vectors(path, VOCABULARY)
    assert found == 1
    assert fewer[:4].equal(table[:4])  # whatever else is found


def test_odd_bytes_in_words_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(b"\xff\xfe 1 2\n\xc2\x85 3 4\nx\xe2\x80\xa8y 5 6\n 7 8\nthe 9 9\n")
    table, found = read_vectors(path, Vocabulary(["\x85", "x\u2028y", "the"]))
    assert found == 3
    assert table[4:].tolist() == [[3, 4], [5, 6], [9, 9]]


@pytest.mark.parametrize(
    ("content", "size", "message"),
    [
        ("the 1 2\napple 3\n", None, r"v\.txt, line 2: expected a word and 2 numbers.*'apple 3'"),
        ("a 1 2\n\nthe 3 x\n", None, r"v\.txt, line 3: expected a word and 2 numbers.* got 'x'"),
        ("a 1 2\nthe 3 nan\n", None, r"line 2: expected a word and 2 numbers.* got 'nan'"),
        ("a 1 x\nthe 3 4\n", None, r"line 1: expected a word and 2 numbers.* got 'a 1 x'"),
        ("a 1 x\nthe 3 4\n", 2, r"line 1: expected a word and 2 numbers.* got 'x'"),
        ("the\n", None, r"line 1: expected a word and 1 numbers.* got 'the'"),
        ("the\n", 5, r"line 1: expected a word and 5 numbers.* got 'the'"),
        ("the 1 2 3\n", 2, "line 1: expected 2 numbers, but got 3"),
        ("1 2\nthe 1 2 3\n", None, "line 2: expected 2 numbers, but got 3"),
        ("1 3\nthe 1 2 3\n", 2, "vectors of size 3, not 2: leave size out"),
        ("2 3\nthe 1 2 3\n", None, "promises 2 vectors, but 1 are there"),
        ("", None, "has no vectors"),
        ("the 1\n", 0, "at least 1, not 0"),
    ],
)
def test_bad_files_are_told(content: str, size: int | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_vectors(path, VOCABULARY, size)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.txt cannot be read: No such file"):
        read_vectors(tmp_path / "none.txt", VOCABULARY)
    with pytest.raises(ValueError, match="cannot be read: Is a directory"):
        read_vectors(tmp_path, VOCABULARY)
    path = tmp_path / "v.gz"
    path.write_bytes(gzip.compress(GLOVE.encode())[:-12])
    with pytest.raises(ValueError, match=r"v\.gz is cut short or damaged"):
        read_vectors(path, VOCABULARY)
