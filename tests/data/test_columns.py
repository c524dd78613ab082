"""CoNLL columns: what is read, and that nothing else changes when it is written."""

import random
from pathlib import Path

import pytest

from unspool.data.files import DataError
from unspool.data.tagged import TaggedFile, read_tagged


def read(folder: Path, content: str, **options: object) -> TaggedFile:
    (folder / "a.conll").write_text(content, encoding="utf-8", newline="")
    return read_tagged(folder / "a.conll", **options)  # type: ignore[arg-type]


def random_file(draw: random.Random, columns: int, tabs: bool) -> tuple[list[str], list[list[str]]]:
    """Lines with all the freedom the format has, and the cells of each word's line."""
    lines, words = [], []
    for _ in range(20):
        kind = draw.random()
        if kind < 0.2:
            lines.append(draw.choice(["", "\t", "  ", " \t "]))
        elif kind < 0.3:
            lines.append("-DOCSTART- -X- O")
        else:
            cells = [draw.choice(["a", "#", "é\u00a0x", "-", "O"]) for _ in range(columns)]
            if tabs and draw.random() < 0.5:
                cells[0] = "New York"
            gaps = [draw.choice(["\t", " \t"]) if tabs else " " * draw.randint(1, 3) for _ in cells]
            gaps[-1] = draw.choice(["", " ", ""])
            lines.append("".join(cell + gap for cell, gap in zip(cells, gaps, strict=True)))
            words.append(cells)
    return lines, words


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("columns", [2, 4])
@pytest.mark.parametrize("tabs", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_filling_random_files_changes_the_tags_and_nothing_else(
    tmp_path: Path, seed: int, columns: int, tabs: bool, end: str
) -> None:
    draw = random.Random(seed)
    lines, words = random_file(draw, columns, tabs)
    text = "".join(line + end for line in lines)
    place = draw.choice([None, *range(2, columns + 1)])
    file = read(tmp_path, text, **({} if place is None else {"column": str(place)}))
    tag = (place or columns) - 1
    assert sum((e.words for e in file.examples), ()) == tuple(cells[0] for cells in words)
    assert sum((e.tags or () for e in file.examples), ()) == tuple(cells[tag] for cells in words)
    assert "".join(line + "\n" for line in file.fill([e.tags or () for e in file.examples])) == text
    marked = [["\u2603"] * len(e.words) for e in file.examples]
    rest = iter(words)
    for old, new in zip(text.split("\n"), file.fill(marked), strict=False):
        if "\u2603" in new:
            assert new.count("\u2603") == 1
            assert new.replace("\u2603", next(rest)[tag]) == old
        else:
            assert new == old
    assert next(rest, None) is None


def test_blank_lines_and_documents_stand_between_sentences(tmp_path: Path) -> None:
    file = read(tmp_path, "-DOCSTART-\tO\n\na\tX\nb\tY\n\t\nc\tX\n-DOCSTART-\tO\nd\tY")
    assert [e.words for e in file.examples] == [("a", "b"), ("c",), ("d",)]
    assert [e.where.split()[-1] for e in file.examples] == ["3", "6", "8"]


def test_one_column_is_enough_where_tags_are_not_needed(tmp_path: Path) -> None:
    file = read(tmp_path, "a\nb \n\n\nc\r\n", need_tags=False)
    filled = list(file.fill([["X", "Y"], ["Z"]], [["1", "2"], ["3"]]))
    assert filled == ["a X 1", "b Y 2 ", "", "", "c Z 3\r"]
    with pytest.raises(DataError, match="line 1: 1 column found, and the tag is expected"):
        read(tmp_path, "a\nb\n")


def test_a_tag_that_is_missing_is_no_tag(tmp_path: Path) -> None:
    text = "a\t\nb\tX\n\nc\tY\n"
    with pytest.raises(DataError, match=r"a\.conll, line 1: the tag of 'a' is empty"):
        read(tmp_path, text)
    file = read(tmp_path, text, need_tags=False)
    assert [e.tags for e in file.examples] == [None, ("Y",)]
    assert list(file.fill([["P", "Q"], ["R"]])) == ["a\tP", "b\tQ", "", "c\tR"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tX\nNew York\n", "line 2: 1 column found, 2 expected"),
        ("a X\nNew York Y\n", "line 2: 3 columns found, 2 expected"),
        ("a\tX\n\tX\n", "line 2: the word is empty"),
        ("a\tX\n\n# text = b\nb\tY\n", "line 3: 1 column found.*name the format: conllu"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    for need_tags in (True, False):
        with pytest.raises(DataError, match=rf"a\.conll, {message}"):
            read(tmp_path, text, need_tags=need_tags)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("1", "a number from 2"), ("0", "a number from 2"), ("xpos", "a number from 2"),
        ("3", "2 columns found, and the tag is expected in column 3"),
    ],
)  # fmt: skip
def test_columns_that_cannot_hold_the_tag_are_refused(
    tmp_path: Path, column: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "a X\n", column=column)
