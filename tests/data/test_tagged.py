"""Tagged sentences: formats told apart, spans in one scheme inside, JSONL, and the way back."""

import gzip
import io
import itertools
import json
import random
import sys
from pathlib import Path

import pytest

from unspool.data.files import DataError
from unspool.data.schemes import SCHEMES, write
from unspool.data.tagged import TaggedFile, read_tagged

SAMPLES = {
    "conllu": "# text = a b\n1\ta\ta\tDET\t_\t_\t0\troot\t_\t_\n2\tb\tb\tNOUN\t_\t_\t1\tx\t_\t_\n",
    "conll": "a DET\nb NOUN\n",
    "jsonl": '{"tokens": ["a", "b"], "tags": ["DET", "NOUN"]}\n',
}
NAMES = {
    "a.conllu": "conllu", "a.conll": "conll", "a.bio": "conll", "a.iob": "conll",
    "a.tsv": "conll", "a.txt": "conll", "a.jsonl": "jsonl",
}  # fmt: skip


def read(folder: Path, name: str, content: str, **options: object) -> TaggedFile:
    (folder / name).write_text(content, encoding="utf-8", newline="")
    return read_tagged(folder / name, **options)  # type: ignore[arg-type]


def own_tags(file: TaggedFile) -> list[tuple[str, ...]]:
    return [example.tags or () for example in file.examples]


@pytest.mark.parametrize(("name", "format"), NAMES.items())
@pytest.mark.parametrize("packed", [True, False])
def test_names_tell_formats(tmp_path: Path, name: str, format: str, packed: bool) -> None:
    data = SAMPLES[format].encode()
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(data) if packed else data)
    file = read_tagged(path)
    assert file.format == format
    assert (file.examples[0].words, own_tags(file)) == (("a", "b"), [("DET", "NOUN")])


@pytest.mark.parametrize("format", SAMPLES)
def test_the_first_line_tells_what_names_do_not(
    tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n" + SAMPLES[format]
    assert read(tmp_path, "a.data", text).format == format
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    file = read_tagged("-")
    line = 3 if format == "conllu" else 2
    assert (file.format, file.examples[0].where) == (format, f"standard input, line {line}")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("format", ["conll", "jsonl"])
@pytest.mark.parametrize("seed", range(4))
def test_random_spans_are_iob2_inside_and_go_back_in_their_scheme(
    tmp_path: Path, scheme: str, format: str, seed: int
) -> None:
    draw = random.Random(seed)
    spans, new = ([_random_spans(draw) for _ in range(6)] for _ in range(2))
    spans[0] = [("PER", 0, 2), ("PER", 2, 3)]
    text = _text(format, [write(found, 12, scheme) for found in spans])
    file = read(tmp_path, "a." + format, text)
    assert file.scheme == scheme
    assert own_tags(file) == [write(found, 12, "IOB2") for found in spans]
    assert "\n".join(file.fill(own_tags(file))) + "\n" == text
    changed = file.fill([write(found, 12, "IOB2") for found in new])
    expected = _text(format, [write(found, 12, scheme) for found in new])
    assert "\n".join(changed) + "\n" == expected


def _random_spans(draw: random.Random) -> list[tuple[str, int, int]]:
    cuts = sorted(draw.sample(range(13), 6))
    return [
        (draw.choice(["PER", "LOC"]), start, end)
        for start, end in itertools.pairwise(cuts)
        if draw.random() < 0.6
    ]


def _text(format: str, sentences: list[tuple[str, ...]]) -> str:
    if format == "jsonl":
        lines = [{"tokens": ["w"] * len(tags), "tags": tags} for tags in sentences]
        return "".join(json.dumps(line) + "\n" for line in lines)
    return "".join("".join(f"w\t{tag}\n" for tag in tags) + "\n" for tags in sentences)


def test_other_tags_may_be_put_into_a_file_of_spans(tmp_path: Path) -> None:
    file = read(tmp_path, "a.bio", "a I-X\nb O\n")
    assert file.scheme == "IOB1"
    assert list(file.fill([["DET", "NOUN"]])) == ["a DET", "b NOUN"]


def test_a_file_without_tags_takes_them_as_they_are(tmp_path: Path) -> None:
    file = read(tmp_path, "a.conll", "a\nb\n", need_tags=False)
    assert (file.scheme, file.examples[0].tags) == (None, None)
    assert list(file.fill([["B-X", "I-X"]])) == ["a B-X", "b I-X"]


def test_jsonl_tags_and_scores_are_put_in(tmp_path: Path) -> None:
    text = (
        '{"id": 1.0, "tokens": ["a","\\u00e9"], "tags": [3,4]}\n\n{"tokens": ["c"]}\n{"tokens":[]}'
    )
    file = read(tmp_path, "a.jsonl", text, need_tags=False)
    assert [e.words for e in file.examples] == [("a", "é"), ("c",)]
    assert [e.tags for e in file.examples] == [("3", "4"), None]
    assert list(file.fill([["5", "x"], ["y"]], [["0.5", "1"], ["0.25"]])) == [
        '{"id": 1.0, "tokens": ["a","\\u00e9"], "tags": [5, "x"], "scores": [0.5, 1]}',
        "",
        '{"tokens": ["c"], "tags": ["y"], "scores": [0.25]}',
        '{"tokens":[]}',
    ]


def test_the_key_of_the_tags_can_be_named(tmp_path: Path) -> None:
    file = read(tmp_path, "a.jsonl", '{"tokens": ["a"], "ner": ["O"]}', column="ner")
    assert own_tags(file) == [("O",)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"tokens": ["a", "b"], "tags": ["x"]}', "2 tokens and 1 tags"),
        ('{"tokens": ["a"]}', "the key 'tags' is missing"),
        ('{"tags": ["a"]}', "the key 'tokens' is missing"),
        ('{"tokens": "a b", "tags": ["x"]}', "'tokens' is a list"),
        ('{"tokens": [1], "tags": ["x"]}', "a token is a string, not 1"),
        ('{"tokens": ["a"], "tags": [["x"]]}', "a tag is a string"),
        ('{"tokens": ["a"], "tags": ["x"]', "not JSON"),
    ],
)
def test_a_broken_line_of_jsonl_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"a\.jsonl, line 2: .*{message}"):
        read(tmp_path, "a.jsonl", SAMPLES["jsonl"] + line + "\n" + SAMPLES["jsonl"])


@pytest.mark.parametrize("name", [*NAMES, "a.data"])
def test_an_empty_file_says_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=rf"{name} is empty"):
        read(tmp_path, name, "")
    with pytest.raises(DataError, match=rf"{name} has blank lines only"):
        read(tmp_path, name, "\n\t\n", need_tags=False)


def test_a_file_without_words_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no words, read as conllu"):
        read(tmp_path, "a.conllu", "# text = a\n\n")
    with pytest.raises(DataError, match="no words"):
        read(tmp_path, "a.conll", "-DOCSTART- O\n\n")


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    file = read(tmp_path, "a.conll", "a X\nb Y\n\nc X\n")
    with pytest.raises(ValueError, match="format is auto or one of conllu, conll, jsonl"):
        read_tagged(tmp_path / "a.conll", format="tsv")
    with pytest.raises(ValueError, match="tags of 1 sentences for 2"):
        file.fill([["X", "Y"]])
    with pytest.raises(ValueError, match=r"a\.conll, line 4: 2 tags for 1 words"):
        file.fill([["X", "Y"], ["X", "Y"]])
    with pytest.raises(ValueError, match=r"line 1: 1 scores for 2 words"):
        file.fill([["X", "Y"], ["X"]], [["1"], ["1"]])
    for bad in ("", "a b", "a\tb", "a\n"):
        with pytest.raises(ValueError, match="cannot"):
            file.fill([["X", bad], ["X"]])
