"""Vocabularies: numbers for symbols, and files of them."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.strategies import texts
from unspool.text import PAD, SPECIALS, UNK, Vocabulary

symbol_lists = st.lists(texts, unique=True, max_size=8)


@given(symbol_lists)
def test_ids_and_tokens_are_inverse(symbols: list[str]) -> None:
    vocabulary = Vocabulary(symbols)
    assert vocabulary.tokens(vocabulary.ids(symbols)) == symbols
    assert [vocabulary.id(symbol) for symbol in symbols] == list(range(4, len(vocabulary)))
    assert vocabulary.tokens(np.arange(len(vocabulary))) == list(vocabulary.symbols)


@given(symbol_lists)
def test_saved_and_loaded_is_the_same(symbols: list[str]) -> None:
    vocabulary = Vocabulary(symbols)
    assert Vocabulary.from_json(vocabulary.to_json()) == vocabulary


@pytest.mark.parametrize("symbols", [[], ['"', "\n", "\t", "\\", "\u2028", "\x85", "\ud800", "é"]])
def test_a_file_has_one_symbol_a_line(symbols: list[str], tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.json"
    Vocabulary(symbols).save(path)
    assert Vocabulary.load(path) == Vocabulary(symbols)
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) == (len(symbols) + 2 if symbols else 1)
    assert ("é" in symbols) == ("é" in text)


def test_a_token_spelled_like_a_special_is_ordinary() -> None:
    assert Vocabulary(["a"]).ids([*SPECIALS, "a"]) == [UNK] * 4 + [4]
    assert not any(special in Vocabulary(["a"]) for special in SPECIALS)
    vocabulary = Vocabulary(["<pad>"])
    assert vocabulary.id("<pad>") == 4 != PAD
    assert "<pad>" in vocabulary


@given(
    st.lists(st.sampled_from("abcdeéZ"), max_size=30),
    st.integers(1, 4),
    st.one_of(st.none(), st.integers(1, 5)),
)
def test_counting_keeps_the_most_frequent(
    tokens: list[str], min_count: int, max_size: int | None
) -> None:
    vocabulary = Vocabulary.count(iter(tokens), min_count=min_count, max_size=max_size)
    kept = vocabulary.to_json()
    counts = Counter(tokens)
    enough = {token for token in counts if counts[token] >= min_count}
    assert len(kept) == min(len(enough), max_size or len(enough))
    places = [(-counts[token], token) for token in kept]
    assert places == sorted(places)
    assert all((-counts[token], token) > places[-1] for token in enough - set(kept))


def test_mistakes_are_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'b' stands twice"):
        Vocabulary(["a", "b", "c", "b"])
    with pytest.raises(ValueError, match="strings, not 7"):
        Vocabulary.from_json(["a", 7])
    with pytest.raises(ValueError, match="JSON array of strings, not 'ab'"):
        Vocabulary.from_json("ab")
    for number in (5, -1):
        with pytest.raises(ValueError, match=f"ids 0 to 4; {number} is none"):
            Vocabulary(["a"]).tokens([number])
    with pytest.raises(ValueError, match=r"min_count .* not 0"):
        Vocabulary.count("aab", min_count=0)
    with pytest.raises(ValueError, match=r"max_size .* not 0"):
        Vocabulary.count("aab", max_size=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[\n"a",\n"b"', r"v\.json, line 3: expected JSON"),
        (b"[\xff]", r"v\.json is not UTF-8 \(byte 1\)"),
        (b'["a", "a"]', r"v\.json: .*'a' stands twice"),
        (None, r"v\.json cannot be read: No such file"),
    ],
)
def test_bad_files_are_named(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Vocabulary.load(path)
