"""Characters as tokens."""

import pytest
from hypothesis import given

from tests.text.strategies import texts
from unspool.text import END, PAD, START, Characters, Vocabulary


@given(texts, texts)
def test_decoding_gives_the_text_but_for_the_unknown(known: str, text: str) -> None:
    codec = Characters.learn([known, "a"])
    assert codec.decode(codec.encode(known)) == known
    seen = {*known, "a"}
    assert codec.decode(codec.encode(text)) == "".join(c if c in seen else "\ufffd" for c in text)


@given(texts)
def test_spans_are_the_characters(text: str) -> None:
    codec = Characters.learn(["a"])
    assert [text[start:end] for start, end in codec.spans(text)] == codec.tokens(text) == list(text)


def test_padding_start_and_end_are_left_out() -> None:
    codec = Characters.learn(["ab"])
    assert codec.decode([START, *codec.encode("ab"), END, PAD, PAD]) == "ab"


def test_symbols_are_single_characters() -> None:
    with pytest.raises(ValueError, match="single characters here; 'ab' is not"):
        Characters(Vocabulary(["a", "ab"]))
