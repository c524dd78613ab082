"""Names of countries, languages and currencies in many languages, as CLDR writes them."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from unspool.data.labelled import Labelled

KINDS = ("territories", "languages", "currencies")
# Relatives are hard to tell apart: Danish and Norwegian, Czech and Slovak, Catalan, Spanish and
# Portuguese, Estonian and Finnish, Dutch and Afrikaans.
LATIN = (
    "af", "ca", "cs", "da", "de", "en", "es", "et", "fi", "fr", "hr", "hu", "it", "nb", "nl",
    "pl", "pt", "ro", "sk", "sv", "tr",
)  # fmt: skip
# A language with an alphabet of its own is told by one letter; these share theirs.
OTHERS = ("ru", "uk", "bg", "ar", "fa", "hi", "mr", "ja", "zh")
LANGUAGES = LATIN + OTHERS
# Codes for "unknown", "none", "several" and for tests name nothing.
NOTHING = {"ZZ", "XA", "XB", "und", "mul", "zxx", "mis", "XTS", "XXX"}


def words(kind: str = "all", languages: Sequence[str] = LANGUAGES) -> list[Labelled]:
    """Names of a kind ("territories", "languages", "currencies" or "all") with their language.

    A name that two of the languages write alike has no single right answer, so it is left out of
    both. A name that one language has twice is there once. In the order of language and text.
    """
    if isinstance(languages, str):
        raise ValueError(f"languages is a list of codes: give [{languages!r}], not {languages!r}")
    found: dict[str, Labelled] = {}
    shared: set[str] = set()
    for language in dict.fromkeys(languages):
        for part, code, text in names_in(language, kind):
            first = found.setdefault(text, Labelled(text, language, f"CLDR {part}, {code}"))
            if first.label != language:
                shared.add(text)
    kept = (example for text, example in found.items() if text not in shared)
    return sorted(kept, key=lambda example: (example.label or "", example.text))


def names_in(language: str, kind: str = "all") -> Iterator[tuple[str, str, str]]:
    """(kind, code, name) of all of a kind that has a name in this language."""
    if kind != "all" and kind not in KINDS:
        raise ValueError(f"kind is one of {', '.join(KINDS)} or all, not {kind!r}")
    locale = find_locale(language)
    for part in KINDS if kind == "all" else (kind,):
        for code, text in sorted(getattr(locale, part).items()):
            if code not in NOTHING:
                yield part, code, text


def find_locale(language: str) -> Any:
    """Babel's locale of a code."""
    try:
        from babel import Locale, localedata
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "names and dates come from Babel, which is not installed: pip install babel"
        ) from error
    known = localedata.locale_identifiers()
    if language not in known:
        close = difflib.get_close_matches(language.replace("-", "_"), known, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{language!r} is no language of CLDR, such as 'de' or 'pt_PT'{hint}")
    return Locale.parse(language)
