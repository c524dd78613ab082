"""Names in many languages."""

import itertools
import sys

import pytest
from babel import Locale

from unspool.data.cldr import KINDS, LANGUAGES, words

ALL = words()


def test_names_as_cldr_writes_them() -> None:
    found = {(example.text, example.label) for example in ALL}
    assert ("Frankreich", "de") in found
    assert ("フランス語", "ja") in found
    assert ("forint hongrois", "fr") in found
    for example in ALL[::97]:
        locale = Locale.parse(str(example.label))
        assert any(example.text in getattr(locale, kind).values() for kind in KINDS)


def test_no_text_has_two_answers_or_is_there_twice() -> None:
    assert len({example.text for example in ALL}) == len(ALL)


@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_what_is_left_out_is_what_two_languages_share(kind: str) -> None:
    """Against every pair of languages compared."""
    chosen = ("da", "nb", "es", "pt")
    own = {language: {example.text for example in words(kind, [language])} for language in chosen}
    for one, other in itertools.permutations(chosen, 2):
        own[one] = own[one] - {example.text for example in words(kind, [other])}
    found = {(example.text, example.label) for example in words(kind, chosen)}
    assert found == {(text, language) for language, texts in own.items() for text in texts}


def test_sorted_and_the_same_in_any_order_of_languages() -> None:
    assert words("territories", ["sv", "da", "sv"]) == words("territories", ["da", "sv"])
    keys = [(example.label, example.text) for example in ALL]
    assert keys == sorted(keys)  # type: ignore[type-var]


def test_every_language_has_enough_to_learn_from() -> None:
    for language in LANGUAGES:
        assert sum(example.label == language for example in ALL) >= 300


def test_nothing_unknown_is_named() -> None:
    texts = {example.text for example in words("all", ["en"])}
    assert not texts & {"Unknown Region", "Unknown language", "Unknown Currency", "Pseudo-Bidi"}
    assert "Unknown Region" in Locale.parse("en").territories.values()


def test_a_place_says_where_in_cldr() -> None:
    (where,) = {example.where for example in ALL if example.text == "Frankreich"}
    assert where == "CLDR territories, FR"


def test_wrong_kinds_and_languages_are_told() -> None:
    with pytest.raises(ValueError, match="territories, languages, currencies or all, not 'towns'"):
        words("towns")
    with pytest.raises(ValueError, match=r"'pt-PT' is no language .* did you mean 'pt_PT'"):
        words("all", ["pt-PT"])
    with pytest.raises(ValueError, match=r"'\?' is no language of CLDR"):
        words("all", ["?"])
    with pytest.raises(ValueError, match=r"give \['de'\], not 'de'"):
        words("all", "de")


def test_without_babel_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "babel", None)
    with pytest.raises(ModuleNotFoundError, match="pip install babel"):
        words()
