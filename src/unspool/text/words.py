"""`Words`: words, numbers and punctuation marks as tokens; and how a text is split into them."""

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from unspool.text.codec import Codec, learned, spelled, texts_of
from unspool.text.vocabulary import Vocabulary

# Every character has a class of one letter: L letter, D digit, M mark (belongs to what stands
# before it), A a character that is a word alone, J joins words, C joins digits, N new line,
# S space, P the rest. The pattern reads classes instead of characters.
TOKEN = re.compile(r"[LDM]+(?:(?:J(?=[LD])|(?<=D)C(?=D))[LDM]+)*|[AJCP]M*|N")

JOIN_WORDS = "'’-\u2010\u2011"
JOIN_DIGITS = ".,\u066b\u066c"
INVISIBLE_JOINERS = "\u00ad\u200c\u200d\u2060"  # Persian and Indic words have them inside
ZERO_WIDTH_SPACE = "\u200b"  # the space between words of Khmer
ALONE = ("CJK ", "IDEOGRAPHIC ", "HANGZHOU ", "HIRAGANA ", "HENTAIGANA ")

NO_SPACE_BEFORE = frozenset(".,;:!?…)]}")
NO_SPACE_AFTER = frozenset("([{")


class Words(Codec):
    """Words, numbers and single punctuation marks; the spaces between them are not kept.

    A language written without spaces, other than Chinese and Japanese, comes out in whole
    phrases: take characters or subwords for Thai.
    """

    units = "words"

    @classmethod
    def learn(
        cls, texts: Iterable[str], *, min_count: int = 1, max_size: int | None = None
    ) -> "Words":
        every = (text[start:end] for text in texts_of(texts) for start, end in split(text))
        vocabulary = Vocabulary.count(every, min_count=min_count, max_size=max_size)
        return cls(learned(vocabulary, min_count))

    def spans(self, text: str) -> list[tuple[int, int]]:
        return split(text)

    def tokens(self, text: str) -> list[str]:
        return [text[start:end] for start, end in split(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The words with spaces between them where a reader expects one.

        Splitting the decoded text gives the same tokens again.
        """
        tokens = [token for token in spelled(self.vocabulary, ids) if token]
        between = ["" if _touch(a, b) else " " for a, b in pairwise(tokens)]
        return "".join(a + b for a, b in zip(["", *between], tokens, strict=False))

    def to_json(self) -> dict[str, Any]:
        return {"units": self.units, "symbols": self.vocabulary.to_json()}


def split(text: str) -> list[tuple[int, int]]:
    """Where the words, numbers and other visible characters of a text stand.

    Letters, digits and their marks make a word; apostrophes and hyphens inside a word belong to
    it (don't, twenty-one), a point or comma between digits to the number (3.14, 1,000). Each Han
    or Hiragana character is a token, so is every other visible character and the new line; other
    white space only separates.
    """
    return [match.span() for match in TOKEN.finditer(text.translate(_CLASSES))]


class _Classes(dict[int, str]):
    """Code point -> its class, found when it is first seen."""

    def __missing__(self, code: int) -> str:
        found = self[code] = _class_of(chr(code))
        return found


def _class_of(character: str) -> str:
    for kind, characters in (
        ("N", "\n"),
        ("J", JOIN_WORDS),
        ("C", JOIN_DIGITS),
        ("M", INVISIBLE_JOINERS),
        ("S", ZERO_WIDTH_SPACE),
    ):
        if character in characters:
            return kind
    if character.isspace():
        return "S"
    category = unicodedata.category(character)
    if category == "Nd":
        return "D"
    if category[0] in "LN":
        return "A" if unicodedata.name(character, "").startswith(ALONE) else "L"
    return "M" if category[0] == "M" else "P"


_CLASSES = _Classes()


def _touch(left: str, right: str) -> bool:
    """Whether two tokens stand in a text without a space between them."""
    if "\n" in (left, right) or right in NO_SPACE_BEFORE:
        return True
    kinds = _CLASSES[ord(left[0])], _CLASSES[ord(right[0])]
    if left in NO_SPACE_AFTER:
        return kinds[1] != "M"  # a mark would go over to the bracket
    # Two Katakana words would become one without their space.
    return _east_asian(left[0]) and _east_asian(right[0]) and kinds != ("L", "L")


def _east_asian(character: str) -> bool:
    kind = _CLASSES[ord(character)]
    if kind == "L":
        return unicodedata.name(character, "").startswith("KATAKANA")
    return kind == "A" or (kind == "P" and unicodedata.east_asian_width(character) in "WF")
