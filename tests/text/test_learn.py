"""Codecs of every kind: learned, saved and read again."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.strategies import texts
from unspool.text import (
    UNITS,
    Codec,
    Vocabulary,
    Words,
    codec_from_json,
    learn_codec,
    load_codec,
)


def small(units: str, content: list[str]) -> Codec:
    return learn_codec(units, content, max_size=300)


@pytest.mark.parametrize("units", UNITS)
@given(st.lists(texts, max_size=3), texts)
def test_from_json_is_the_same_codec(units: str, content: list[str], text: str) -> None:
    codec = small(units, [*content, "a"])
    again = codec_from_json(codec.to_json())
    assert again == codec
    assert again.units == units
    assert again.vocabulary == codec.vocabulary
    assert again.encode(text) == codec.encode(text)


@pytest.mark.parametrize("units", UNITS)
def test_saved_and_loaded_is_the_same_codec(units: str, tmp_path: Path) -> None:
    text = 'a\n\t"b"\\ \u2028\u2029\x85\x00 <pad> 中 é e\u0301 a b a b'
    codec, path = small(units, [text]), tmp_path / "codec.json"
    codec.save(path)
    assert load_codec(path) == codec
    assert load_codec(path).encode(text) == codec.encode(text)
    lines = path.read_text(encoding="utf-8").splitlines()
    content = codec.to_json().get("symbols") or codec.to_json()["merges"]
    assert len(lines) == len(content) + 5


@pytest.mark.parametrize("units", UNITS)
def test_learning_reads_an_iterator_once(units: str) -> None:
    content = ["one two", "two three", "three three"]
    assert learn_codec(units, iter(content)) == learn_codec(units, content)


@pytest.mark.parametrize("units", UNITS)
def test_codecs_that_differ_are_not_equal(units: str) -> None:
    assert small(units, ["ab ab"]) != small(units, ["ac ac"])


def test_words_and_characters_of_one_vocabulary_differ() -> None:
    words = Words(Vocabulary("ab"))
    assert words != codec_from_json({"units": "characters", "symbols": ["a", "b"]})


@pytest.mark.parametrize("units", UNITS)
def test_one_string_is_not_several_texts(units: str) -> None:
    with pytest.raises(ValueError, match=r"\[text\], not one string"):
        learn_codec(units, "some text")


@pytest.mark.parametrize("units", ["characters", "words"])
def test_learning_from_nothing_is_told(units: str) -> None:
    with pytest.raises(ValueError, match="no token occurs 2 times"):
        learn_codec(units, ["", "a"], min_count=2)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], 'a JSON object with "units"'),
        ({"symbols": []}, 'a JSON object with "units"'),
        ({"units": "letters"}, "characters, words, subwords, not 'letters'"),
        ({"units": ["words"]}, r"characters, words, subwords, not \['words'\]"),
        ({"units": "words", "merges": []}, 'has "units" and "symbols"; this one has "units", "me'),
        ({"units": "words", "symbols": "ab"}, "JSON array of strings, not 'ab'"),
        ({"units": "subwords", "merges": "ab"}, "JSON array of strings, each two symbols"),
        ({"units": "subwords", "merges": ["a b c"]}, "two symbols .* not 'a b c'"),
        ({"units": "subwords", "merges": [3]}, "two symbols .* not 3"),
        ({"units": "subwords", "merges": ["ab c"]}, "'ab' and 'c' are not both"),
    ],
)
def test_what_is_no_codec_is_told(value: Any, message: str, tmp_path: Path) -> None:
    from unspool.text.json_file import write_json

    with pytest.raises(ValueError, match=message):
        codec_from_json(value)
    write_json(tmp_path / "codec.json", value)
    with pytest.raises(ValueError, match=rf"codec\.json: .*{message}"):
        load_codec(tmp_path / "codec.json")
