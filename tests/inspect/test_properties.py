"""Properties: marked by hand on examples, and against slow readers, on hostile text too."""

import colorsys
import heapq
import inspect
import io
import opcode
import quopri
import shlex
import textwrap
import token
import tokenize
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.data.files import DataError
from unspool.data.python_source import python_source
from unspool.inspect.properties import (
    PROPERTIES,
    bracket_depth,
    in_comment,
    in_if,
    in_quotes,
    indent_depth,
    kind_of,
    labels_of,
    over_symbols,
    position_in_line,
    read_labels,
)

HOSTILE = st.text(alphabet="\"'\\#()[]{}:= \t\nifxr", max_size=60)


def marks(values: np.ndarray) -> str:
    return "".join(" 123456789"[int(value)] for value in values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = \"x\" + 'y'", "    11    11 "),
        (r'"a\"b" c', "11111   "),
        (r"'\\' c", "111   "),
        ("rb'x' f'y'", "  11   11 "),
        ("don't 'tis", "      1111"),  # an apostrophe, and a quote that its line ends
        ("'open\nnext", "11111     "),
        ("'a\\\nb' c", "11111   "),
        ('"" \'\' ""', "1  1  1 "),
        ('"""a\n"b" """ c', "11111111111   "),
        ("'''a", "1111"),
        ('"""a\\', "11111"),
        ('# "no"\n"yes"', "       1111 "),
        ('"# in" # out', "11111       "),
    ],
)
def test_quotes(text: str, expected: str) -> None:
    assert marks(in_quotes(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a # b\nc", "  111  "),
        ("'#' #'\n#", "    11 1"),
        ("'''\n# no\n'''#", " " * 12 + "1"),
    ],
)
def test_comments(text: str, expected: str) -> None:
    assert marks(in_comment(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a: b", "  11   "),
        ("  elif a[1:2]: b", "      1" + "1" * 6 + "   "),
        ("if (a\n  or b):", "  " + "1" * 11 + " "),
        ("if x := 1:", "  1111111 "),
        ("x if y: z", " " * 9),
        ("iffy: x", " " * 7),
        ("if ':': x", "  1111   "),
        ("if a\nb: c", "  11     "),
        ("if a) and b: c", "  " + "1" * 9 + "   "),
        ("if (\nif a: b", "  " + "1" * 10),
        ("# if a:\n'if b:'", " " * 15),
    ],
)
def test_conditions(text: str, expected: str) -> None:
    assert marks(in_if(text)) == expected


def test_depths_and_positions() -> None:
    assert marks(bracket_depth("f(a[1], {2})) x")) == " 1122111221    "
    assert marks(bracket_depth("('(' # (\n)")) == "111111111 "
    assert position_in_line("ab\n\nc").tolist() == [0, 1, 2, 0, 0]
    text = "a\n  b\n\n   \n\tc\n"
    assert indent_depth(text).tolist() == [0] * 2 + [2] * 4 + [2] * 1 + [2] * 4 + [8] * 3


def python_marks(text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slowly: quotes, comments and depth as Python's own tokenizer has them."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    quotes, comments, depths = (np.zeros(len(text)) for _ in range(3))
    opened: list[int] = []  # f-strings, which newer Pythons take apart
    for one in tokenize.generate_tokens(io.StringIO(text).readline):
        start = starts[one.start[0] - 1] + one.start[1]
        end = starts[one.end[0] - 1] + one.end[1]
        prefix = len(one.string) - len(one.string.lstrip("rbfuRBFU"))
        kind = token.tok_name[one.type]
        if kind == "FSTRING_START":
            opened.append(start + prefix)
        elif kind == "FSTRING_END":
            quotes[opened.pop() : end - 1] = 1
        elif kind == "STRING" and not opened:
            quotes[start + prefix : end - 1] = 1
        elif kind == "COMMENT":
            comments[start:end] = 1
        elif kind == "OP" and one.string in "([{)]}" and not opened:
            depths[start:] += 1 if one.string in "([{" else -1
    return quotes, comments, depths


@pytest.mark.parametrize("module", [colorsys, heapq, opcode, quopri, shlex, textwrap])
def test_real_source_is_read_as_python_reads_it(module: ModuleType) -> None:
    """On whole modules: the marks of the small lexer are those of Python's own tokenizer."""
    text = inspect.getsource(module)
    quotes, comments, depths = python_marks(text)
    assert 0.02 < quotes.mean() < 0.98
    assert np.array_equal(in_quotes(text), quotes)
    assert np.array_equal(in_comment(text), comments)
    assert np.array_equal(bracket_depth(text), depths)


@given(HOSTILE)
def test_any_text_has_labels(text: str) -> None:
    found = labels_of(text)
    assert list(found) == list(PROPERTIES)
    for name, values in found.items():
        assert values.shape == (len(text),)
        assert (values >= 0).all()
        if PROPERTIES[name].kind == "yes/no":
            assert np.isin(values, (0, 1)).all()
    assert not (found["in_quotes"] * found["in_comment"]).any()
    assert not (found["in_comment"][[c == "\n" for c in text]]).any()
    columns = [len(text[:k]) - (text[:k].rfind("\n") + 1) for k in range(len(text))]
    assert found["position_in_line"].tolist() == columns


@given(HOSTILE, st.integers(0, 60))
def test_what_was_read_stays_as_it_was(text: str, cut: int) -> None:
    """Nothing that comes later changes what is a comment, or a place in a line."""
    for label in (in_comment, position_in_line):
        assert np.array_equal(label(text)[:cut], label(text[:cut]))


@pytest.mark.parametrize(
    "text", ['"""' * 30_001, "if (\n" * 40_000, "'\\" * 50_000, "([{" * 50_000]
)
def test_hostile_texts_take_no_longer(text: str) -> None:
    """A search that goes over the rest of the text at each place would not end here."""
    assert all(len(values) == len(text) for values in labels_of(text).values())


def test_symbols_have_the_label_of_their_first_character() -> None:
    text = "say 'a b' now"
    spans = [(0, 3), (4, 6), (7, 9), (10, 13)]
    assert over_symbols(in_quotes(text), spans).tolist() == [0, 1, 1, 0]
    assert labels_of(text, spans)["position_in_line"].tolist() == [0, 4, 7, 10]
    assert over_symbols([1.0, 2.0], []).tolist() == []
    with pytest.raises(ValueError, match="3 labels and a symbol that begins at character 4"):
        over_symbols([0, 1, 0], [(4, 5)])


def test_real_text_has_every_property() -> None:
    for name, values in labels_of(python_source(20_000)).items():
        assert kind_of(values) == PROPERTIES[name].kind or name == "bracket_depth"
        assert len(set(values.tolist())) > 1, name


def test_labels_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("0\n1\n 2.5 \n-1e3\n")
    assert read_labels(path).tolist() == [0, 1, 2.5, -1000]
    assert read_labels(path, expected=4).tolist() == [0, 1, 2.5, -1000]
    with pytest.raises(DataError, match=r"has 4 labels, and 5 are needed"):
        read_labels(path, expected=5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\nyes\n", r"labels.txt, line 2: 'yes' is no number"),
        ("1\n\n2\n", r"labels.txt, line 2: '' is no number"),
        ("1\nnan\n", r"labels.txt, line 2: 'nan' is no number"),
        ("1e999\n", r"labels.txt, line 1: '1e999' is no number"),
        ("", r"labels.txt is empty"),
    ],
)
def test_labels_that_are_none_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "labels.txt").write_text(content)
    with pytest.raises(DataError, match=message):
        read_labels(tmp_path / "labels.txt")


def test_kinds_follow_from_the_labels() -> None:
    assert kind_of(np.array([0.0, 1.0, 1.0])) == "yes/no"
    assert kind_of(np.array([0.0, 2.0])) == "number"
