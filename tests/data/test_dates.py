"""Dates in many languages: as CLDR writes them, never ambiguous, parts apart."""

import unicodedata
from collections import Counter, defaultdict
from datetime import date, timedelta

import pytest
from babel import Locale
from babel.dates import format_date, format_skeleton

from unspool.data.dates import FIRST, LAST, LOCALES, ZEROS, dates, part_of, styles
from unspool.data.pairs import Pair

PLAIN = dates(3000, 1)
TAGGED = dates(3000, 1, tagged=True)
LEAP = [date(2024, 1, 1) + timedelta(k) for k in range(366)]


def with_ascii_digits(text: str) -> str:
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


@pytest.mark.parametrize("code", LOCALES)
def test_texts_are_what_babel_writes(code: str) -> None:
    """But for the digits, which are those of the language."""
    for day in LEAP[::29]:
        found = {with_ascii_digits(style.write(day)) for style in styles(code, numbers=True)}
        assert format_skeleton("yMd", day, locale=code) in found
        assert format_date(day, "full", locale=code) in found
        assert format_date(day, "long", locale=code) in found
    system = Locale.parse(code).default_numbering_system
    zero = ZEROS.get(system, "0")
    assert (system == "latn") == (zero == "0")
    for style in styles(code):
        digits = {c for c in style.write(date(2010, 10, 20)) if c.isdecimal()}
        assert unicodedata.decimal(min(digits)) == 0
        assert min(digits) == zero


def test_known_dates() -> None:
    day = date(2026, 11, 16)
    written = {s.write(day) for code in LOCALES for s in styles(code)}
    assert {"16 listopada 2026", "16. studenoga 2026.", "November 16, 2026"} <= written
    assert {"2026年11月16日", "১৬ নভেম্বর, ২০২৬", "16 พ.ย. 2026", "16 de nov. de 2026"} <= written
    assert not written & {"16.11.2026", "16/11/2026", "2026/11/16"}


@pytest.mark.parametrize("tagged", [True, False])
def test_no_text_means_two_dates(tagged: bool) -> None:
    """Every day of a year in every style; with tags, a text and its tag."""
    meant: dict[tuple[str | None, str], set[date]] = defaultdict(set)
    for style in (s for code in LOCALES for s in styles(code, tagged)):
        for day in LEAP:
            text = style.write(day)
            assert "2024" in with_ascii_digits(text)
            meant[style.code if tagged else None, text].add(day)
    assert all(len(days) == 1 for days in meant.values())


def test_numbers_alone_need_their_tag() -> None:
    meant = defaultdict(set)
    for style in (s for code in LOCALES for s in styles(code, numbers=True)):
        meant[style.write(date(2026, 3, 4))].add(date(2026, 3, 4))
        meant[style.write(date(2026, 4, 3))].add(date(2026, 4, 3))
    assert len(meant["3/4/2026"]) == 2
    assert all(pair.tag in LOCALES for pair in TAGGED)
    assert all(pair.tag is None for pair in PLAIN)
    numeric = [p for p in TAGGED if not any(c.isalpha() for c in p.source)]
    assert 500 < len(numeric) < 2000


@pytest.mark.parametrize("pairs", [PLAIN, TAGGED])
def test_every_language_and_year_is_drawn(pairs: list[Pair]) -> None:
    codes = Counter(pair.where.removeprefix("CLDR ").split(",")[0] for pair in pairs)
    assert set(codes) == set(LOCALES)
    assert min(codes.values()) > 50
    years = {int((pair.target or "")[:4]) for pair in pairs}
    assert min(years) < 1905 < 2095 < max(years)
    assert date.fromordinal(FIRST).year == 1900
    assert date.fromordinal(LAST).year == 2099


def test_the_target_is_the_date() -> None:
    by_place = {
        f"CLDR {s.code}, {s.pattern.pattern}": s for c in LOCALES for s in styles(c, numbers=True)
    }
    for pair in PLAIN[:500] + TAGGED[:500]:
        assert by_place[pair.where].write(date.fromisoformat(pair.target or "")) == pair.source


def test_parts_share_no_date() -> None:
    for part in ("train", "dev", "test"):
        found = dates(200, 5, part=part)
        assert {part_of(date.fromisoformat(p.target or "")) for p in found} == {part}
    shares = Counter(part_of(date.fromordinal(k)) for k in range(FIRST, LAST + 1))
    assert shares["dev"] / shares.total() == pytest.approx(0.1, rel=0.05)
    assert shares["test"] / shares.total() == pytest.approx(0.1, rel=0.05)


def test_the_part_of_a_date_never_changes() -> None:
    """A model trained with one release is tested with the next: these are fixed for good."""
    first = [part_of(date(2000, 1, k)) for k in range(1, 32)]
    assert [k for k, part in enumerate(first, 1) if part != "train"] == [13, 16, 18, 26, 30]


def test_the_seed_decides_and_more_begin_with_the_same() -> None:
    assert dates(40, 1) == PLAIN[:40]
    assert dates(40, 2) != PLAIN[:40]
    assert {p.tag for p in dates(50, 1, tagged=True, locales=["de", "my"])} == {"de", "my"}


def test_wrong_arguments_are_told() -> None:
    with pytest.raises(ValueError, match="train, dev, test, not 'all'"):
        dates(1, part="all")
    with pytest.raises(ValueError, match="0 or more; got -1"):
        dates(-1)
    with pytest.raises(ValueError, match="'xx' is no language"):
        dates(1, locales=["xx"])
    with pytest.raises(ValueError, match="give locales such as 'de'"):
        dates(1, locales=[])
