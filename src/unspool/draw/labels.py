"""Tokens as labels: visible, not too long, and as wide as they will look."""

import unicodedata

_SHOWN = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\xa0": "⍽", "\u3000": "□"}
_TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def visible(token: str) -> str:
    """A token as it can be looked at.

    White space gets a sign, a mark that stands first a circle to sit on; control characters, and
    those that would turn the writing around them, become U+FFFD. Nothing at all is `∅`.
    """
    text = "".join(_sign(character) for character in token)
    # A mark without its letter would land on whatever stands before it.
    alone = text and (_width(text[0]) == 0 or unicodedata.category(text[0]) == "Mc")
    return "◌" + text if alone else text or "∅"


def prose(text: str) -> str:
    """A title or a name as it can be written: spaces stay, what would disturb it does not."""
    return "".join(" " if character.isspace() else _sign(character) for character in text)


def columns(text: str) -> int:
    """How many columns of a terminal the text takes: a Chinese character 2, an accent 0."""
    return sum(map(_width, text))


def cut(text: str, limit: int) -> str:
    """The text if it takes at most `limit` columns, else its start and `…`."""
    if columns(text) <= limit:
        return text
    kept, room = [], limit - 1
    for character in text:
        room -= _width(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + "…" if limit > 0 else ""


def shorten(text: str, limit: int) -> str:
    """Like `cut`, but it is the middle that goes: names often differ at their ends."""
    if columns(text) <= limit:
        return text
    head, tail = cut(text, limit // 2 + 1), text
    while columns(head + tail) > limit or _width(tail[:1] or " ") == 0:
        tail = tail[1:]
    return head + tail


def pixels(text: str) -> float:
    """About how wide the text is at 12 pixels, rather too much than too little."""
    return 7.2 * columns(text)


def _sign(character: str) -> str:
    if character in _SHOWN:
        return _SHOWN[character]
    category = unicodedata.category(character)
    if category in ("Cc", "Cs", "Zl", "Zp"):
        return "\ufffd"
    if category == "Zs":
        return "␣"
    return "\ufffd" if unicodedata.bidirectional(character) in _TURNS else character


def _width(character: str) -> int:
    # The vowels and final consonants of old-style Hangul join the syllable before them.
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
