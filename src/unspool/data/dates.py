"""Dates in many languages, to be written as ISO 8601: `16. listopada 2026.` is 2026-10-16.

CLDR writes them, through Babel. The languages differ in script, digits, order and words, and the
same word need not mean the same: listopad is October in Croatian and November in Czech and Polish.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from unspool.data.cldr import find_locale
from unspool.data.examples import Pair

LOCALES = (
    "ar_EG", "bg", "bn", "cs", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hr", "hu",
    "it", "ja", "ka", "ko", "mr", "nl", "pl", "pt", "ru", "sv", "th", "tr", "uk", "vi", "zh",
)  # fmt: skip
FIRST, LAST = date(1900, 1, 1).toordinal(), date(2099, 12, 31).toordinal()
PARTS = ("train", "dev", "test")
LENGTHS = ("full", "long", "medium", "short")
NUMERIC = "yMd"  # CLDR's skeleton for a short date whose year has four digits
ZEROS = {"arab": "٠", "arabext": "۰", "beng": "০", "deva": "०", "mymr": "၀", "tibt": "༠"}


@dataclass(frozen=True)
class Style:
    """One way in which one language writes dates."""

    code: str
    locale: Any
    pattern: Any

    def write(self, day: date) -> str:
        """The date in this style. Babel writes 0-9 everywhere; CLDR has each language's own."""
        zero = ord(ZEROS.get(self.locale.default_numbering_system, "0"))
        digits = {ord("0") + k: zero + k for k in range(10)}
        return self.pattern.apply(day, self.locale).translate(digits)


def dates(
    count: int,
    seed: int = 0,
    *,
    part: str = "train",
    tagged: bool = False,
    locales: Sequence[str] = LOCALES,
) -> list[Pair]:
    """`count` pairs of a date from 1900 to 2099 and its ISO form; more begin with the same ones.

    The date, its language and its style are drawn by the seed. Each date belongs to one part,
    whatever the seed, so that nobody is tested on a date seen in training. The month is written
    as a word, or marked as the month: no text means two dates. With `tagged` the tag is the
    language, and there are numbers alone too, 3/4/2026, which mean nothing without it.
    """
    if count < 0:
        raise ValueError(f"count is how many pairs to draw, 0 or more; got {count}")
    if part not in PARTS:
        raise ValueError(f"part is one of {', '.join(PARTS)}, not {part!r}")
    known = [styles(code, tagged) for code in locales]
    if not known or not all(known):
        lacking = [code for code, found in zip(locales, known, strict=True) if not found]
        raise ValueError(f"no date can be written in {lacking}: give locales such as 'de' and 'ja'")
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        style = rng.choice(rng.choice(known))
        day = _day(rng, part)
        tag = style.code if tagged else None
        where = f"CLDR {style.code}, {style.pattern.pattern}"
        found.append(Pair(style.write(day), day.isoformat(), tag, where))
    return found


def part_of(day: date) -> str:
    """A tenth of all dates is for "dev", a tenth for "test", the others are for "train"."""
    share = int.from_bytes(hashlib.sha256(day.isoformat().encode()).digest()[:4]) % 10
    return {0: "dev", 1: "test"}.get(share, "train")


def styles(code: str, numbers: bool = False) -> list[Style]:
    """The styles of a language whose years have four digits; with `numbers`, those without a word
    for the month too."""
    locale = find_locale(code)
    patterns = [locale.date_formats[length] for length in LENGTHS]
    if numbers:
        patterns.append(locale.datetime_skeletons[NUMERIC])
    kept = {
        pattern.pattern: Style(code, locale, pattern)
        for pattern in patterns
        if "yy" not in pattern.pattern and (numbers or _names_month(pattern.pattern))
    }
    return list(kept.values())


def _names_month(pattern: str) -> bool:
    return "MMM" in pattern or "M月" in pattern


def _day(rng: random.Random, part: str) -> date:
    while True:
        day = date.fromordinal(rng.randint(FIRST, LAST))
        if part_of(day) == part:
            return day
