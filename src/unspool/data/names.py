"""Names of countries, languages and currencies in one language, and what another calls them."""

from unspool.data.cldr import names_in
from unspool.data.examples import Pair


def name_pairs(source: str = "de", target: str = "en", kind: str = "all") -> list[Pair]:
    """Names of a kind ("territories", "languages", "currencies" or "all") in two languages.

    A name that stands for things which the other language calls differently has no single right
    answer, so it is left out. A pair that is there twice is there once. In the order of the
    sources.
    """
    if source == target:
        raise ValueError(f"source and target are two languages; got {source!r} twice")
    other = {(part, code): text for part, code, text in names_in(target, kind)}
    found: dict[str, Pair] = {}
    several: set[str] = set()
    for part, code, text in names_in(source, kind):
        if (part, code) not in other:
            continue
        new = Pair(text, other[part, code], None, f"CLDR {part}, {code}")
        if found.setdefault(text, new).target != new.target:
            several.add(text)
    kept = (example for text, example in found.items() if text not in several)
    return sorted(kept, key=lambda example: example.source)
