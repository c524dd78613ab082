"""Spans and the schemes that write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.data.schemes import SCHEMES, Span, convert, detect, spans, write

TYPES = ("PER", "LOC", "creative-work")
TAGS = ["O", *(f"{letter}-{type}" for letter in "BIES" for type in TYPES[:2])]


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Spans in order, often side by side, and the length of their sentence."""
    found, position = [], 0
    for _ in range(draw(st.integers(0, 5))):
        start = position + draw(st.integers(0, 2))
        position = start + draw(st.integers(1, 3))
        found.append((draw(st.sampled_from(TYPES)), start, position))
    return found, position + draw(st.integers(0, 2))


def starts(before: str, tag: str) -> bool:
    """conlleval's rule for where a span begins, case by case."""
    if tag == "O":
        return False
    return tag[0] in "BS" or before == "O" or before[0] in "ES" or before[2:] != tag[2:]


def slow_spans(tags: list[str]) -> list[Span]:
    found = []
    for start, tag in enumerate(tags):
        if starts(tags[start - 1] if start else "O", tag):
            end = start + 1
            while end < len(tags) and tags[end] != "O" and not starts(tags[end - 1], tags[end]):
                end += 1
            found.append((tag[2:], start, end))
    return found


@given(sentences(), st.sampled_from(SCHEMES))
def test_random_spans_survive_every_scheme(sentence: tuple[list[Span], int], scheme: str) -> None:
    written = write(*sentence, scheme)
    assert len(written) == sentence[1]
    assert spans(written) == sentence[0]


@given(sentences(), st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_converting_there_and_back_changes_nothing(
    sentence: tuple[list[Span], int], source: str, target: str
) -> None:
    tags = write(*sentence, source)
    assert convert(tags, source, target) == write(*sentence, target)
    assert convert(convert(tags, source, target), target, source) == tags


@given(st.lists(st.sampled_from(TAGS), max_size=8))
def test_random_tags_are_read_as_conlleval_reads_them(tags: list[str]) -> None:
    assert spans(tags) == slow_spans(tags)


@given(st.lists(sentences(), min_size=1, max_size=4), st.sampled_from(SCHEMES))
def test_random_spans_tell_their_scheme(several: list[tuple[list[Span], int]], scheme: str) -> None:
    found = detect([write(*sentence, scheme) for sentence in several])
    if any(spans for spans, _ in several):
        assert found == scheme
    else:  # nothing but O fits all
        assert found == ("IOB2" if any(length for _, length in several) else None)


@pytest.mark.parametrize("odd", ["NOUN", "B", "I", "B-", "L-PER", "o", ""])
def test_one_other_tag_is_no_scheme(odd: str) -> None:
    assert detect([["B-PER", "O"], ["O", odd]]) is None
    with pytest.raises(ValueError, match="not a span's tag"):
        spans(["O", odd])


def test_tags_that_fit_no_scheme_count_as_iob2() -> None:
    tags = ("B-PER", "I-PER", "O", "I-LOC")
    assert detect([tags]) == "IOB2"
    assert convert(tags, "IOB2", "IOB2") == ("B-PER", "I-PER", "O", "B-LOC")


def test_the_three_schemes_side_by_side() -> None:
    two = [("X", 0, 1), ("X", 1, 3)]
    assert write(two, 4, "IOB1") == ("I-X", "B-X", "I-X", "O")
    assert write(two, 4, "IOB2") == ("B-X", "B-X", "I-X", "O")
    assert write(two, 4, "BIOES") == ("S-X", "B-X", "E-X", "O")


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="the schemes are IOB1, IOB2, BIOES; got 'IOB3'"):
        convert(["O"], "IOB3", "IOB2")
    with pytest.raises(ValueError, match="got 'BILOU'"):
        convert(["O"], "IOB2", "BILOU")
