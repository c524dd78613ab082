"""Names from one language to another."""

import pytest
from babel import Locale

from unspool.data.cldr import KINDS, NOTHING
from unspool.data.names import name_pairs


def test_known_names() -> None:
    found = {pair.source: pair.target for pair in name_pairs("de", "en")}
    assert found["Deutschland"] == "Germany"
    assert found["Ungarisch"] == "Hungarian"
    assert found["Japanischer Yen"] == "Japanese Yen"
    back = {pair.source: pair.target for pair in name_pairs("en", "ja", "territories")}
    assert back["Germany"] == "ドイツ"
    assert "Hungarian" not in back


@pytest.mark.parametrize("kind", [*KINDS, "all"])
@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("zh", "fr"), ("pt", "pt_PT")])
def test_against_every_two_names_compared(kind: str, source: str, target: str) -> None:
    """A source that CLDR answers in one way is there once, any other is not."""
    one, other = Locale.parse(source), Locale.parse(target)
    answers: dict[str, set[str]] = {}
    for part in KINDS if kind == "all" else [kind]:
        for code, text in getattr(one, part).items():
            if code in getattr(other, part) and code not in NOTHING:
                answers.setdefault(text, set()).add(getattr(other, part)[code])
    found = name_pairs(source, target, kind)
    sources = [pair.source for pair in found]
    assert sources == sorted(set(sources))
    expected = {text: min(right) for text, right in answers.items() if len(right) == 1}
    assert {pair.source: pair.target for pair in found} == expected


def test_a_name_with_two_meanings_is_left_out() -> None:
    """In German the country and the language may be one word; in English they are Fiji, Fijian."""
    assert "Fidschi" not in {pair.source for pair in name_pairs("de", "en")}
    (fiji,) = (p for p in name_pairs("de", "en", "territories") if p.source == "Fidschi")
    assert (fiji.target, fiji.where) == ("Fiji", "CLDR territories, FJ")


def test_wrong_arguments_are_told() -> None:
    with pytest.raises(ValueError, match="two languages; got 'de' twice"):
        name_pairs("de", "de")
    with pytest.raises(ValueError, match="or all, not 'towns'"):
        name_pairs(kind="towns")
    with pytest.raises(ValueError, match="'xx' is no language"):
        name_pairs("de", "xx")
