"""Subwords: no text is unknown, none is changed, and learning has one outcome."""

import json
import os
import random
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.strategies import texts
from unspool.text import END, PAD, START, UNK, Subwords
from unspool.text.subwords import LETTERS

CORPUS = [
    "the cat sat on the mat, the cat ran to the man",
    "नमस्ते दुनिया, नमस्ते",
    "你好 世界 你好",
    "<pad> <unk> <pad>",
]
CODEC = Subwords.learn(CORPUS, max_size=320)


@given(texts)
def test_decoding_gives_the_very_text(text: str) -> None:
    ids = CODEC.encode(text)
    assert CODEC.decode(ids) == text
    assert CODEC.decode([START, *ids, END, PAD]) == text
    assert all(4 <= number < len(CODEC.vocabulary) for number in ids)


@given(texts)
def test_ids_are_those_of_the_vocabulary(text: str) -> None:
    assert CODEC.encode(text) == CODEC.vocabulary.ids(CODEC.tokens(text))


@given(texts)
def test_spans_cover_the_bytes_of_their_tokens(text: str) -> None:
    """A span is that of the characters which the bytes of its token belong to."""
    owner = [place for place, c in enumerate(text) for _ in c.encode()]
    done, expected = 0, []
    for token in CODEC.tokens(text):
        expected.append((owner[done], owner[done + len(token) - 1] + 1))
        done += len(token)
    assert CODEC.spans(text) == expected
    assert done == len(owner)


@given(st.text("thecaman ", max_size=30))
def test_encoding_is_merging_the_earliest_pair_first(text: str) -> None:
    ranks = {pair: rank for rank, pair in enumerate(CODEC.merges)}
    expected = []
    for piece in re.findall(r" ?[a-z]+|\s+(?!\S)|\s+", text):
        parts = [LETTERS[byte] for byte in piece.encode()]
        while known := [pair for pair in pairwise(parts) if pair in ranks]:
            left, right = min(known, key=ranks.__getitem__)
            place = next(i for i in range(len(parts)) if parts[i : i + 2] == [left, right])
            parts[place : place + 2] = [left + right]
        expected += parts
    assert CODEC.tokens(text) == expected


def test_the_letters_of_bytes_are_those_of_the_library() -> None:
    from tokenizers.pre_tokenizers import ByteLevel

    assert sorted(LETTERS.values()) == sorted(ByteLevel.alphabet())
    every = "".join(map(chr, range(0x900)))
    assert Subwords([]).tokens(every) == [LETTERS[byte] for byte in every.encode()]


def test_a_text_spelled_like_a_special_is_text() -> None:
    assert PAD not in CODEC.encode("<pad>")
    assert CODEC.decode(CODEC.encode("<pad><start>")) == "<pad><start>"


def test_marks_stay_with_their_letters() -> None:
    codec = Subwords.learn(["नमस्ते"] * 3, max_size=300)
    assert codec.tokens("नमस्ते") == ["".join(LETTERS[byte] for byte in "नमस्ते".encode())]


def test_half_characters_and_the_unknown_are_shown() -> None:
    half = CODEC.vocabulary.id(LETTERS["é".encode()[0]])
    assert CODEC.decode([half, *CODEC.encode("a"), UNK]) == "\ufffda\ufffd"


@pytest.mark.parametrize("size", [256, 257, 300])
def test_max_size_is_the_count_of_symbols(size: int) -> None:
    assert len(Subwords.learn(CORPUS, max_size=size).vocabulary.to_json()) == size


def test_pairs_seen_too_rarely_are_not_merged() -> None:
    assert Subwords.learn(["ab ab"], min_count=3).merges == []
    assert Subwords.learn(["ab ab"], min_count=2).merges == [("a", "b")]


def test_learning_does_not_depend_on_threads() -> None:
    random.seed(0)
    words = ["".join(random.choices("abcdeé中", k=random.randint(1, 6))) for _ in range(300)]
    lines = [" ".join(random.choices(words, k=12)) for _ in range(300)]
    code = (
        "import json, sys; from unspool.text import Subwords; "
        "print(json.dumps(Subwords.learn(json.load(sys.stdin), max_size=700).to_json()))"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(lines),
            env=os.environ | {"RAYON_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "4")
    ]
    assert outputs[0] == outputs[1]
    assert len(json.loads(outputs[0])["merges"]) > 400


def test_mistakes_are_told() -> None:
    with pytest.raises(ValueError, match=r"at least 256 for subwords.* got 255"):
        Subwords.learn(CORPUS, max_size=255)
    with pytest.raises(ValueError, match="'ab' and 'c' are not both"):
        Subwords([("ab", "c")])
    with pytest.raises(ValueError, match="character 2 of the text is half a surrogate pair"):
        CODEC.encode("ab\ud800")
    with pytest.raises(ValueError, match="half a surrogate pair"):
        Subwords.learn(["\udfff"])
