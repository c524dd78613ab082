"""Pairs out of tables, JSONL, parallel files and plain lines."""

import csv
import gzip
import io
import json
import random
import sys
from pathlib import Path

import pytest

from unspool.data.files import DataError
from unspool.data.pairs import Pair, PairFile, read_pairs

Triple = tuple[str, str | None, str | None]


def read(folder: Path, name: str, content: str, **options: object) -> PairFile:
    (folder / name).write_text(content, encoding="utf-8", newline="")
    return read_pairs(folder / name, **options)  # type: ignore[arg-type]


def triples(file: PairFile) -> list[Triple]:
    return [(pair.source, pair.target, pair.tag) for pair in file.examples]


def lines_of(file: PairFile) -> list[int]:
    return [int(pair.where.split("line ")[1]) for pair in file.examples]


def write(rows: list[list[str]], format: str, names: list[str] | None) -> str:
    """The slow way: each format by what wrote it first."""
    if format == "jsonl":
        keys = names or ["source", "target", "tag"]
        return "".join(json.dumps(dict(zip(keys, row, strict=False))) + "\n" for row in rows)
    rows = [names] * bool(names) + rows  # type: ignore[operator]
    if format == "tsv":
        return "".join("\t".join(row) + "\n" for row in rows)
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("format", ["tsv", "csv", "jsonl"])
@pytest.mark.parametrize("width", [2, 3])
def test_what_is_written_is_read(tmp_path: Path, seed: int, format: str, width: int) -> None:
    draw = random.Random(seed)
    more = "\n\t" * (format != "tsv")
    rows = [
        ["x" + "".join(draw.choices('aé ,"' + more, k=draw.randrange(9))) + "x" for _ in range(2)]
        + [draw.choice(["fr", "de"])]
        for _ in range(9)
    ]
    expected = [(row[0], row[1], row[2] if width == 3 else None) for row in rows]
    cut = [row[:width] for row in rows]
    names = ["Source", "target", "Tag"] if format != "jsonl" else ["source", "target", "tag"]
    for number, chosen in enumerate((None, names[:width])):
        file = read(tmp_path, f"{number}.{format}", write(cut, format, chosen))
        assert (triples(file), file.format) == (expected, format)
        known = read_pairs(tmp_path / f"{number}.{format}", need_targets=False)
        assert triples(known) == expected


@pytest.mark.parametrize("format", ["tsv", "csv", "jsonl"])
def test_columns_may_have_other_names_and_places(tmp_path: Path, format: str) -> None:
    rows = [["1", "le", "the", "en"], ["2", "der", "the", "en"]]
    text = write(rows, format, ["id", "from", "to", "into"])
    names = {"source": "from", "target": "to", "tag": "into"}
    expected = [("le", "the", "en"), ("der", "the", "en")]
    assert triples(read(tmp_path, f"a.{format}", text, **names)) == expected
    if format == "jsonl":
        return
    numbers = {"source": "2", "target": "3", "tag": "4"}
    assert triples(read(tmp_path, f"b.{format}", write(rows, format, None), **numbers)) == expected
    untagged = read_pairs(tmp_path / f"b.{format}", source="2", target="3")
    assert triples(untagged) == [("le", "the", None), ("der", "the", None)]


def test_a_word_that_is_a_name_of_a_column_makes_no_header(tmp_path: Path) -> None:
    """In German Tag is the day."""
    text = "Tag\tday\nZiel\ttarget\n"
    expected = [("Tag", "day", None), ("Ziel", "target", None)]
    assert triples(read(tmp_path, "a.tsv", text)) == expected
    assert triples(read(tmp_path, "a.tsv", text, source="1", target="2")) == expected
    assert triples(read(tmp_path, "a.tsv", "target\tZiel\n")) == [("target", "Ziel", None)]


def test_targets_are_stripped_and_sources_are_not(tmp_path: Path) -> None:
    file = read(tmp_path, "a.tsv", " a  b \t c  d \t e \nf\tg\t\n")
    assert triples(file) == [(" a  b ", "c  d", "e"), ("f", "g", None)]
    numbers = read(tmp_path, "a.jsonl", '{"source": "a", "target": 1.50, "tag": null}\n')
    assert triples(numbers) == [("a", "1.50", None)]


def parallel(folder: Path, source: str, target: str, **options: object) -> PairFile:
    (folder / "a.fr").write_text(source, encoding="utf-8", newline="")
    (folder / "a.en.gz").write_bytes(gzip.compress(target.encode()))
    return read_pairs(folder / "a.fr", target_path=folder / "a.en.gz", **options)  # type: ignore[arg-type]


def test_parallel_files_go_line_by_line(tmp_path: Path) -> None:
    texts = "un\r\n\r\ndeux\tdeux\r\n \r\n{", "one\n\ntwo\n\nthree\n"
    file = parallel(tmp_path, *texts)
    assert file.format == "parallel"
    assert file == parallel(tmp_path, *texts, format="parallel")
    assert file == parallel(tmp_path, *texts, format="lines")
    assert triples(file) == [("un", "one", None), ("deux\tdeux", "two", None), ("{", "three", None)]
    assert lines_of(file) == [1, 3, 5]
    assert file.examples[1].where == f"{tmp_path / 'a.fr'}, line 3"
    every = parallel(tmp_path, "un\n\n\n", "one\n\ntwo\n", need_targets=False)
    assert triples(every) == [("un", "one", None), ("", None, None), ("", "two", None)]


def test_parallel_files_that_do_not_match_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.fr has 2 lines and .*a\.en\.gz has 3: line k"):
        parallel(tmp_path, "a\nb\n", "a\nb\n\n")
    with pytest.raises(DataError, match=r"a\.fr, line 2: the source is empty"):
        parallel(tmp_path, "a\n \n", "a\nb\n")
    with pytest.raises(DataError, match=r"a\.en\.gz, line 2: the target is empty"):
        parallel(tmp_path, "a\nb\n", "a\n\n")
    with pytest.raises(DataError, match=r"a\.en\.gz has blank lines only"):
        parallel(tmp_path, "a\n", "\n")


ONE_SIDED = {
    "a.tsv": ("a\tb\n\n \t \n{}", "x\t", "\ty"),
    "a.csv": ("a,b\n\n,\n{}", "x, ", ",y"),
    "a.jsonl": (
        '{{"source": "a", "target": "b"}}\n\n{{"source": "", "target": " "}}\n{}',
        '{"source": "x", "target": null}',
        '{"source": " ", "target": "y"}',
    ),
}


@pytest.mark.parametrize("name", ONE_SIDED)
def test_blank_pairs_are_left_out_and_half_blank_ones_refused(tmp_path: Path, name: str) -> None:
    body, no_target, no_source = ONE_SIDED[name]
    assert triples(read(tmp_path, name, body.format("\n"))) == [("a", "b", None)]
    for line, side in ((no_target, "target"), (no_source, "source")):
        with pytest.raises(DataError, match=rf"{name}, line 4: the {side} is empty"):
            read(tmp_path, name, body.format(line))
    every = read(tmp_path, name, body.format(no_target), need_targets=False)
    assert [p.target for p in every.examples] == ["b", None, None, None]
    assert lines_of(every) == [1, 2, 3, 4]


@pytest.mark.parametrize(("name", "format"), [("a.txt", "lines"), ("a.tsv", "tsv"), ("-", "lines")])
def test_every_line_has_its_example_where_no_targets_are_needed(
    tmp_path: Path, name: str, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["", "one  two", " ", "three", ""]
    text = "\n".join(lines) + "\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "a.tsv").write_text(text)
    path = "-" if name == "-" else tmp_path / name
    file = read_pairs(path, need_targets=False)
    assert file.format == format
    assert [pair.source.strip() for pair in file.examples] == [line.strip() for line in lines]
    assert lines_of(file) == [1, 2, 3, 4, 5]
    assert all(pair.target is pair.tag is None for pair in file.examples)
    blank = read(tmp_path, name.replace("-", "b.txt"), "\n\n", need_targets=False)
    assert [pair.source for pair in blank.examples] == ["", ""]


def test_a_headed_file_without_targets(tmp_path: Path) -> None:
    file = read(tmp_path, "a.tsv", "tag\tsource\nfr\tone\n\nde\ttwo\n", need_targets=False)
    assert triples(file) == [("one", None, "fr"), ("", None, None), ("two", None, "de")]
    short = read(tmp_path, "a.tsv", "source\ttarget\none\tun\ntwo\n", need_targets=False)
    assert triples(short) == [("one", "un", None), ("two", None, None)]


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.txt", "a\tb\n", "tsv"),
        ("a.data", "\n \na\tb\n", "tsv"),
        ("a.data", '{"source": "a", "target": "b"}\n', "jsonl"),
        ("a.ndjson", '{"source": "a", "target": "b"}\n', "jsonl"),
        ("a.CSV", "a,b\n", "csv"),
    ],
)
def test_names_and_first_lines_tell_formats(
    tmp_path: Path, name: str, text: str, format: str
) -> None:
    file = read(tmp_path, name, text)
    assert (file.format, triples(file)) == (format, [("a", "b", None)])
    assert isinstance(file.examples[0], Pair)


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.txt", "a\n", {}, "plain text has no targets.*second file"),
        ("a.tsv", "a\n", {}, "line 1: 1 column found, .*'source' or 'target'.*name the columns"),
        ("a.tsv", "a\tb\tc\td\n", {}, "line 1: 4 columns found"),
        ("a.tsv", "a\tb\nc\td\te\n", {}, "line 2: 3 columns found, 2 expected"),
        ("a.tsv", "a\tb\n", {"source": "x"}, "line 1: no column is called 'x'"),
        ("a.tsv", "source\tb\n", {"target": "x"}, "line 1: no column is called 'x'"),
        ("a.tsv", "source\ttarget\n", {}, "holds no pairs, read as tsv"),
        ("a.tsv", "source\ttarget\na\tb\n", {"tag": "x"}, "called 'x' .* 'source', 'target'"),
        ("a.tsv", "a\tb\n", {"tag": "x"}, "called 'x' .* 'a', 'b'"),
        ("a.tsv", "a\tb\n", {"source": "1", "target": "5"}, "column 5 was asked for"),
        ("a.tsv", "a\tb\n", {"tag": "3"}, "column 3 was asked for"),
        ("a.jsonl", '{"source": "a"}', {}, "line 1: the key 'target' is missing"),
        ("a.jsonl", '{"source": "a", "target": "b"}', {"tag": "x"}, "the key 'x' is missing"),
        ("a.jsonl", '{"source": 1, "target": "b"}', {}, "'source' is a string, not 1"),
        ("a.tsv", "", {}, "is empty"),
        ("a.csv", " \n\n", {}, "has blank lines only"),
    ],
)
def test_what_cannot_be_read_is_told(
    tmp_path: Path, name: str, text: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, name, text, **options)


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="format is auto or one of tsv, csv"):
        read_pairs("a.tsv", format="xml")
    for format, target in (("parallel", ""), ("tsv", "b"), ("jsonl", "b")):
        with pytest.raises(ValueError, match=f"parallel files are two, .*; got {format} and"):
            read_pairs("a.tsv", format=format, target_path=target)
    with pytest.raises(ValueError, match="standard input can be read once"):
        read_pairs("-", target_path="-")
    with pytest.raises(ValueError, match="are three columns; got '1', '1'"):
        read(tmp_path, "a.tsv", "a\tb\n", source="1", target="1")


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.jsonl"])
def test_nothing_to_translate_is_no_mistake(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    assert read_pairs(tmp_path / name, need_targets=False).examples == []
