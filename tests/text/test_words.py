"""Words as tokens: where they are cut, and how they are put together again."""

import unicodedata

import pytest
from hypothesis import given

from tests.text.strategies import hard_texts, texts
from unspool.text import UNK, Words, split

EXAMPLES = [
    ("Don't panic, it's 3.14!", ["Don't", "panic", ",", "it's", "3.14", "!"]),
    ("the dogs' bone, ’tis", ["the", "dogs", "'", "bone", ",", "’", "tis"]),
    ("twenty-one -- or -5", ["twenty-one", "-", "-", "or", "-", "5"]),
    ("1,000 men, 2,", ["1,000", "men", ",", "2", ","]),
    ("a,b v1.2 x.y", ["a", ",", "b", "v1.2", "x", ".", "y"]),
    ("snake_case@home", ["snake", "_", "case", "@", "home"]),
    ("one\r\ntwo\n\n", ["one", "\n", "two", "\n", "\n"]),
    ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
    ("cafe\u0301s", ["cafe\u0301s"]),
    ("می\u200cخواهم", ["می\u200cخواهم"]),
    ("中国の人々カタカナ。", ["中", "国", "の", "人", "々", "カタカナ", "。"]),
    ("か\u3099き", ["か\u3099", "き"]),
    ("❤\ufe0fabc", ["❤\ufe0f", "abc"]),
    ("안녕 세상", ["안녕", "세상"]),
    ("<pad>", ["<", "pad", ">"]),
    ("x² Ⅳ", ["x²", "Ⅳ"]),
]


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in split(text)]


@pytest.mark.parametrize(("text", "words"), EXAMPLES)
def test_words_are_cut_where_a_reader_cuts(text: str, words: list[str]) -> None:
    assert cut(text) == words


def is_alone(c: str) -> bool:
    first = unicodedata.name(c, " ").split()[:1]
    return first in (["CJK"], ["HIRAGANA"], ["HENTAIGANA"], ["IDEOGRAPHIC"], ["HANGZHOU"])


def is_mark(c: str) -> bool:
    return unicodedata.category(c).startswith("M") or c in "\u00ad\u200c\u200d\u2060"


def is_letter(c: str) -> bool:
    return unicodedata.category(c)[0] in "LN" and not is_alone(c)


def joins(before: str, c: str, after: str) -> bool:
    """Whether c holds a word together that ends in `before` and goes on with `after`."""
    if c in "'’-\u2010\u2011":
        return is_letter(after)
    digits = unicodedata.category(before) == unicodedata.category(after) == "Nd"
    return c in ".,\u066b\u066c" and digits


def slow_split(text: str) -> list[tuple[int, int]]:
    """Character by character: each one joins the token before it or begins its own."""
    spans: list[tuple[int, int]] = []
    in_word = False
    for place, c in enumerate(text):
        touches = bool(spans) and spans[-1][1] == place
        if (c.isspace() or c == "\u200b") and c != "\n":
            continue
        after = text[place + 1 : place + 2]
        if touches and in_word and after and joins(text[place - 1], c, after):
            stays = True
        elif is_mark(c):
            stays = touches and text[place - 1] != "\n"
            in_word = in_word if stays else True
        else:
            stays = touches and in_word and is_letter(c)
            in_word = is_letter(c)
        if stays:
            spans[-1] = (spans[-1][0], place + 1)
        else:
            spans.append((place, place + 1))
    return spans


@given(hard_texts)
def test_splitting_is_the_slow_splitting(text: str) -> None:
    assert split(text) == slow_split(text)


@given(texts)
def test_any_text_is_split_as_slowly(text: str) -> None:
    assert split(text) == slow_split(text)


@given(texts)
def test_spans_rise_and_leave_only_spaces_out(text: str) -> None:
    spans = split(text)
    places = [place for span in spans for place in span]
    assert places == sorted(places)
    assert all(start < end for start, end in spans)
    covered = {place for start, end in spans for place in range(start, end)}
    left_out = {c for place, c in enumerate(text) if place not in covered}
    assert all(c == "\u200b" or (c.isspace() and c != "\n") for c in left_out)
    assert not any(c.isspace() and c != "\n" for token in cut(text) for c in token)


@given(hard_texts)
def test_what_is_decoded_is_split_into_the_same_words(text: str) -> None:
    codec = Words.learn([text, "a"])
    assert UNK not in codec.encode(text)
    assert codec.tokens(codec.decode(codec.encode(text))) == codec.tokens(text)


@pytest.mark.parametrize("text", ["( \u0308a", "カタ カナ", "3 , 4 . 5", "a - b ' c", "か \u3099"])
def test_words_that_would_run_together_keep_their_space(text: str) -> None:
    codec = Words.learn([text])
    assert codec.tokens(codec.decode(codec.encode(text))) == codec.tokens(text)


def test_decoded_text_reads_well() -> None:
    text = "Don't (ever) panic: it's 3.14!\nहाँ, जी। 中国の「カタカナ」、人々 안녕 세상…"
    codec = Words.learn([text])
    assert codec.decode(codec.encode(text)) == text.replace("जी।", "जी ।")


def test_unknown_words_and_specials() -> None:
    codec = Words.learn(["a b b"], max_size=1)
    assert codec.encode("a b") == [UNK, 4]
    assert codec.decode([1, *codec.encode("a b"), 2, 0]) == "\ufffd b"
    assert codec.decode([]) == ""
