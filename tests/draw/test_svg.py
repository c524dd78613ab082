from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.draw import element, picture, render
from unspool.draw.numbers import coordinate, short
from unspool.draw.theme import CLASSES, LINES

HOSTILE = [
    "<script>alert(1)</script>",
    "]]>",
    "a & b &lt;",
    "\"'",
    "\x00\x1b[31m",
    "\ud800",
    "\ufffe",
]


NEVER = {"\ufffe", "\uffff"} | {chr(code) for code in range(0xD800, 0xE000)}
NEVER |= {chr(code) for code in (*range(32), *range(0x7F, 0xA0))} - set("\t\n\r")


def allowed(text: str) -> str:
    """What is left of a text: characters that XML has no place for are U+FFFD."""
    return "".join("\ufffd" if character in NEVER else character for character in text)


@given(st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=()))))
def test_text_stays_text(text: str) -> None:
    written = render(element("text", text, element("title", text), data_name=text))
    read = ElementTree.fromstring(written.encode())
    assert [child.tag for child in read.iter()] == ["text", "title"]
    assert (read.text or "") == allowed(text)
    assert (read[0].text or "") == allowed(text)
    assert read.attrib == {"data-name": allowed(text)}


def test_a_picture_says_what_it_is() -> None:
    read = ElementTree.fromstring(
        picture(30, 20.5, element("g"), title="a < b", description="two numbers")
    )
    space = "{http://www.w3.org/2000/svg}"
    assert read.tag == f"{space}svg"
    assert read.attrib["viewBox"] == "0 0 30 20.5"
    assert (read.attrib["role"], read.attrib["aria-label"]) == ("img", "a < b")
    assert read.findtext(f"{space}title") == "a < b"
    assert read.findtext(f"{space}desc") == "two numbers"
    assert "prefers-color-scheme:dark" in (read.findtext(f"{space}style") or "")


def test_names_are_not_free_text() -> None:
    with pytest.raises(ValueError, match="no name of an element"):
        element("a b")
    with pytest.raises(ValueError, match="no name of an element"):
        element("a", **{'x="1" onload': "2"})


def test_what_is_none_is_left_out() -> None:
    assert render(element("line", None, x1=1.0, stroke_width=None)) == '<line x1="1"/>'


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (0.125, "0.12"), (-0.001, "0"), (1e6, "1000000"), (100, "100"), (-2.5, "-2.5")],
)
def test_coordinates_are_short(value: float, text: str) -> None:
    assert coordinate(value) == text


def test_a_place_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="finite coordinates, not nan"):
        render(element("rect", x=float("nan")))


@given(st.floats(-1e300, 1e300))
def test_short_numbers_are_right_to_four_digits(value: float) -> None:
    assert float(short(value)) == pytest.approx(value, rel=6e-4, abs=0)
    assert len(short(value)) <= 11


def test_words_can_be_read_on_either_paper() -> None:
    for theme in (1, 2):
        words = [CLASSES["ink"][theme], CLASSES["faint"][theme]]
        words += [colours[theme - 1] for colours in LINES]
        for word in words:
            assert contrast(word, CLASSES["paper"][theme]) > 4.5, (theme, word)


def contrast(one: str, other: str) -> float:
    """As the accessibility guidelines (WCAG 2) define it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
