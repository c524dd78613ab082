"""Labelled texts: JSONL, folders, plain lines, and telling formats apart."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from unspool.data.files import DataError
from unspool.data.labelled import LabelledFile, read_labelled


def read(folder: Path, name: str, content: str, **options: object) -> LabelledFile:
    (folder / name).write_text(content, encoding="utf-8")
    return read_labelled(folder / name, **options)  # type: ignore[arg-type]


def pairs(file: LabelledFile) -> list[tuple[str, str | None]]:
    return [(example.text, example.label) for example in file.examples]


def own_labels(file: LabelledFile) -> list[str]:
    return [example.label or "" for example in file.examples]


def test_every_kind_of_label_becomes_text_and_goes_back(tmp_path: Path) -> None:
    labels = ['"x"', "3", "-4.50", "1e3", "true", '["b","a"]', "[1,2]", "[]", '"a|b"']
    lines = [f'{{"label":{label},"text":"t\\u00e9\\nx","more":1.0}}' for label in labels]
    file = read(tmp_path, "a.jsonl", "\n".join(lines))
    texts = ["x", "3", "-4.50", "1e3", "true", "b|a", "1|2", "", "a|b"]
    assert pairs(file) == [("té\nx", text) for text in texts]
    for line, same in zip(lines, file.fill(own_labels(file)), strict=True):
        assert same.replace(", ", ",") == line


def test_jsonl_labels_and_scores_are_put_in(tmp_path: Path) -> None:
    text = '{"t": "a", "y": 1}\n\n{"t": "b"}\n{"t": "", "y": null}\n'
    file = read(tmp_path, "a.ndjson", text, text="t", label="y", need_labels=False)
    assert pairs(file) == [("a", "1"), ("b", None), ("", None)]
    filled = list(file.fill(["2", "p", "q\t"], ["0.5", "1|2", "0"]))
    assert filled == [
        '{"t": "a", "y": 2, "score": 0.5}',
        "",
        '{"t": "b", "y": "p", "score": "1|2"}',
        '{"t": "", "y": "q\\t", "score": 0}',
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a"', "not JSON"),
        ('["a", "x"]', "one JSON object on each line"),
        ('{"label": "x"}', "the key 'text' is missing; the object holds 'label'"),
        ('{"text": "a"}', "the key 'label' is missing"),
        ('{"text": "a", "label": null}', "the label is missing"),
        ('{"text": "a", "label": ""}', "the label is missing"),
        ('{"text": "a", "label": {"x": 1}}', "'label' is a string"),
        ('{"text": "a", "label": ["x|y"]}', "cannot be one of several"),
        ('{"text": 3, "label": "x"}', "'text' is a string, not 3"),
        ('{"text": " ", "label": "x"}', "the text is empty"),
        ('{"text": "\\ud800", "label": "x"}', "half of a surrogate pair"),
    ],
)
def test_a_broken_line_of_jsonl_is_named(tmp_path: Path, line: str, message: str) -> None:
    good = '{"text": "a", "label": "x"}\n'
    with pytest.raises(DataError, match=rf"a\.jsonl, line 3: .*{message}"):
        read(tmp_path, "a.jsonl", good + "\n" + line + "\n" + good)


def test_a_folder_gives_the_names_of_its_files_as_labels(tmp_path: Path) -> None:
    (tmp_path / "Greek.txt").write_text("Άλφα\n\nBeta \n", encoding="utf-8")
    (tmp_path / "Czech.v2.txt.gz").write_bytes(gzip.compress("Černý\r\n".encode()))
    (tmp_path / ".hidden").touch()
    file = read_labelled(tmp_path)
    assert file.format == "folder"
    assert pairs(file) == [("Černý", "Czech.v2"), ("Άλφα", "Greek"), ("Beta ", "Greek")]
    assert file.examples[2].where == f"{tmp_path / 'Greek.txt'}, line 3"
    assert list(file.fill(["x", "y", "z"])) == ["Černý\tx", "Άλφα\ty", "", "Beta \tz"]


def test_what_is_no_class_in_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is empty: one \.txt file for each class"):
        read_labelled(tmp_path)
    (tmp_path / "a.txt").write_text("one\n")
    for name in ("README.md", "LICENSE", ".txt.d"):
        (tmp_path / name.lstrip(".")).write_text("x\n")
        with pytest.raises(DataError, match=r"each class is one file that ends in \.txt"):
            read_labelled(tmp_path)
        (tmp_path / name.lstrip(".")).unlink()
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"two\n"))
    with pytest.raises(DataError, match="files of the same class"):
        read_labelled(tmp_path)
    (tmp_path / "a.gz").rename(tmp_path / "b.gz")
    (tmp_path / "c.txt").touch()
    with pytest.raises(DataError, match=r"c\.txt is empty"):
        read_labelled(tmp_path)
    with pytest.raises(DataError, match=r"a\.txt is a file"):
        read_labelled(tmp_path / "a.txt", format="folder")
    with pytest.raises(DataError, match="is a folder"):
        read_labelled(tmp_path, format="tsv")
    with pytest.raises(DataError, match="no such file"):
        read_labelled(tmp_path / "nowhere", format="folder")


def test_plain_lines_come_back_one_for_one(tmp_path: Path) -> None:
    lines = ["", "one\ttwo", "  ", "three ", "", "four"]
    file = read(tmp_path, "a.txt", "\n".join(lines), need_labels=False)
    assert [e.text for e in file.examples] == ["one\ttwo", "three ", "four"]
    assert [e.where.split()[-1] for e in file.examples] == ["2", "4", "6"]
    filled = list(file.fill(["x", "y", "z"], ["1", "2", "3"]))
    assert filled == ["", "one\ttwo\tx\t1", "  ", "three \ty\t2", "", "four\tz\t3"]
    with pytest.raises(DataError, match="plain text has no labels"):
        read_labelled(tmp_path / "a.txt")


SAMPLES = {
    "tsv": "a\tx\n",
    "csv": "a,x\n",
    "jsonl": '{"text": "a", "label": "x"}\n',
    "lines": "a\n",
}
NAMES = {
    "a.tsv": "tsv", "a.csv": "csv", "a.jsonl": "jsonl", "a.json": "jsonl", "a.ndjson": "jsonl",
    "a.txt": "lines",
}  # fmt: skip


@pytest.mark.parametrize(("name", "format"), NAMES.items())
@pytest.mark.parametrize("packed", [True, False])
def test_names_tell_formats(tmp_path: Path, name: str, format: str, packed: bool) -> None:
    data = SAMPLES[format].encode()
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(data) if packed else data)
    file = read_labelled(path, need_labels=False)
    assert (file.format, file.examples[0].text) == (format, "a")


@pytest.mark.parametrize("format", ["tsv", "jsonl", "lines"])
def test_the_first_line_tells_what_names_do_not(
    tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n \n" + SAMPLES[format]
    assert read(tmp_path, "a.data", text, need_labels=False).format == format
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    file = read_labelled("-", need_labels=False)
    assert (file.format, file.examples[0].where) == (format, "standard input, line 3")


@pytest.mark.parametrize("name", [*NAMES, "a.data"])
def test_an_empty_file_says_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=rf"{name} is empty"):
        read(tmp_path, name, "")
    with pytest.raises(DataError, match=rf"{name} has blank lines only"):
        read(tmp_path, name, "\n \n", need_labels=False)


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    file = read(tmp_path, "a.tsv", "a\tx\nb\ty\n")
    with pytest.raises(ValueError, match="format is auto or one of tsv, csv"):
        read_labelled(tmp_path / "a.tsv", format="xml")
    with pytest.raises(ValueError, match="1 labels for 2 examples"):
        file.fill(["x"])
    with pytest.raises(ValueError, match="3 scores for 2 examples"):
        file.fill(["x", "y"], ["1", "2", "3"])


def test_formats_agree_on_the_same_examples(tmp_path: Path) -> None:
    rows = [("one, two", "x"), ('"three"', "y"), ("four", "x")]
    tsv = read(tmp_path, "a.tsv", "".join(f"{t}\t{y}\n" for t, y in rows))
    jsonl = read(
        tmp_path, "a.jsonl", "".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in rows)
    )
    assert pairs(tsv) == pairs(jsonl) == rows
