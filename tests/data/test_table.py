"""Labelled texts in TSV and CSV."""

import csv
import io
import random
from pathlib import Path

import pytest

from unspool.data.files import DataError
from unspool.data.labelled import LabelledFile, read_labelled


def read(folder: Path, name: str, content: str, **options: object) -> LabelledFile:
    (folder / name).write_text(content, encoding="utf-8", newline="")
    return read_labelled(folder / name, **options)  # type: ignore[arg-type]


def pairs(file: LabelledFile) -> list[tuple[str, str | None]]:
    return [(example.text, example.label) for example in file.examples]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_random_csv_is_read_and_written_as_the_csv_module_does(
    tmp_path: Path, seed: int, header: bool, end: str
) -> None:
    draw = random.Random(seed)
    rows = [
        ["t" + "".join(draw.choices('ab ,"\n\té', k=draw.randrange(9))), draw.choice("xyz")]
        for _ in range(12)
    ]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows([["text", "label"]] * header + rows)
    file = read(tmp_path, "a.csv", text.getvalue())
    assert file.format == "csv"
    assert pairs(file) == [tuple(row) for row in rows]
    labels = [draw.choice(["p", "q,r", 's"']) for _ in rows]
    again = read(tmp_path, "b.csv", "\n".join(file.fill(labels)))
    assert pairs(again) == [(row[0], label) for row, label in zip(rows, labels, strict=True)]


def test_the_line_of_a_csv_record_is_its_first(tmp_path: Path) -> None:
    file = read(tmp_path, "a.csv", 'text,label\n"one\n\ntwo",x\n\n"three\n",y\nfour,z\n')
    assert [e.where.split(", ")[1] for e in file.examples] == ["line 2", "line 6", "line 8"]
    assert [e.text for e in file.examples] == ["one\n\ntwo", "three\n", "four"]


@pytest.mark.parametrize(("row", "what"), [('"a,x', "never closed"), ('"a"b,x', "expected after")])
def test_broken_quotes_name_the_line(tmp_path: Path, row: str, what: str) -> None:
    with pytest.raises(DataError, match=rf"a\.csv, line 2: .*{what}"):
        read(tmp_path, "a.csv", f"good,x\n{row}\ngood,y\n")


def test_long_documents_fit_and_the_limit_of_csv_is_put_back(tmp_path: Path) -> None:
    before = csv.field_size_limit(1000)
    try:
        assert len(read(tmp_path, "a.csv", "a" * 200_000 + ",x").examples[0].text) == 200_000
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(before)


def test_filling_a_tsv_with_its_own_labels_changes_nothing(tmp_path: Path) -> None:
    for text in ('a "b\tx\n\n  \nc,d\ty', "id\ttext\tlabel\tmore\n1\ta\tx\t\n\n2\tb\ty\tz"):
        file = read(tmp_path, "a.tsv", text)
        labels = [example.label or "" for example in file.examples]
        assert list(file.fill(labels)) == text.split("\n")


def test_names_and_numbers_choose_the_same_columns(tmp_path: Path) -> None:
    body = "1\tfine film\t+\n2\tbad film\t-\n"
    named = read(tmp_path, "a.tsv", "id\treview\tstars\n" + body, text="review", label="stars")
    numbered = read(tmp_path, "b.tsv", body, text="2", label="3")
    mixed = read(tmp_path, "c.tsv", "id\treview\tstars\n" + body, text="review", label="3")
    assert (
        pairs(named) == pairs(numbered) == pairs(mixed) == [("fine film", "+"), ("bad film", "-")]
    )
    assert list(numbered.fill(["p", "q"])) == ["1\tfine film\tp", "2\tbad film\tq"]


def test_a_header_is_known_by_its_names_whatever_the_capitals(tmp_path: Path) -> None:
    assert pairs(read(tmp_path, "a.csv", "Label, Text\nx,a\n")) == [("a", "x")]
    assert pairs(read(tmp_path, "b.csv", "a,x\nb,y\n")) == [("a", "x"), ("b", "y")]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a\tb\tc\n", {}, "line 1: 3 columns found.*name the columns with text and label"),
        ("a\n", {}, "line 1: 1 column found.*name the columns"),
        ("a\tx\nb\n", {}, "line 2: 1 column found, 2 expected"),
        ("a\tx\nb\ty\tz\n", {}, "line 2: 3 columns found, 2 expected"),
        ("text\tkind\na\tx\n", {}, "no column is called 'label' .*'text', 'kind'"),
        ("review\tlabel\na\tx\n", {}, "no column is called 'text'"),
        ("a\tx\n", {"text": "review"}, "no column is called 'review'"),
        ("a\tx\n", {"text": "1", "label": "3"}, "2 columns found, and column 3 was asked for"),
        ("a\tx\n", {"text": "0", "label": "1"}, "counted from 1"),
        ("a\tx\n", {"text": "1", "label": "1"}, "both column 1"),
        ("text\tlabel\n", {}, "a header and no rows"),
        ("a\tx\n\tx\n", {}, "line 2: the text is empty"),
        ("a\tx\nb\t \n", {}, "line 2: the label is missing"),
        ("a\tb\tc\n", {"need_labels": False}, "3 columns found"),
        ("text\tb\na\n\nc\td\te\n", {"need_labels": False}, "line 2: 1 column found, 2 expected"),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    tmp_path: Path, text: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "a.tsv", text, **options)


def test_labels_are_appended_where_there_are_none(tmp_path: Path) -> None:
    def fill(text: str, scores: list[str] | None = None) -> list[str]:
        file = read(tmp_path, "a.tsv", text, need_labels=False)
        assert [example.text for example in file.examples] == ["a", "b"]
        return list(file.fill(["p", "q"], scores))

    assert fill("a\n\nb\n") == ["a\tp", "", "b\tq"]
    assert fill("a\tx\nb\n") == ["a\tp", "b\tq"]
    assert fill("text\na\nb\n") == ["text\tlabel", "a\tp", "b\tq"]
    assert fill("text\tlabel\na\nb\tx\n") == ["text\tlabel", "a\tp", "b\tq"]
    scores = ["0.9", "0.8"]
    assert fill("a\nb\n", scores) == ["a\tp\t0.9", "b\tq\t0.8"]
    assert fill("text\tid\na\t1\nb\t2\n", scores) == [
        "text\tid\tlabel\tscore", "a\t1\tp\t0.9", "b\t2\tq\t0.8"
    ]  # fmt: skip
    assert fill("label\tscore\ttext\nx\t1\ta\n\t\tb\n", scores) == [
        "label\tscore\ttext", "p\t0.9\ta", "q\t0.8\tb"
    ]  # fmt: skip


def test_a_label_with_a_tab_cannot_go_into_a_tsv(tmp_path: Path) -> None:
    file = read(tmp_path, "a.tsv", "a\tx\n")
    with pytest.raises(ValueError, match="cannot stand in one column"):
        file.fill(["p\tq"])
