"""`Codec`: what turns text into numbers and back."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from unspool.text.json_file import write_json
from unspool.text.vocabulary import UNK, Vocabulary

UNKNOWN = "\ufffd"  # what an unknown symbol is decoded to


class Codec(ABC):
    """Text to ids and back, in units of one kind."""

    units: ClassVar[str]

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary

    @abstractmethod
    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where each token of the text begins and ends, counted in characters."""

    def beginning(self, text: str, symbols: int) -> str:
        """The text up to the end of its first `symbols` tokens; at least one."""
        spans = self.spans(text)
        return text[: spans[symbols - 1][1]] if symbols < len(spans) else text

    @abstractmethod
    def tokens(self, text: str) -> list[str]:
        """The tokens of the text, as the vocabulary spells them."""

    def encode(self, text: str) -> list[int]:
        """One id for each token; no start or end is added."""
        return self.vocabulary.ids(self.tokens(text))

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Text of these ids, without padding, start and end; U+FFFD stands for the unknown."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What `codec_from_json` makes the same codec of."""

    def save(self, path: str | Path) -> None:
        """A JSON file with one symbol a line, for `load_codec`."""
        write_json(path, self.to_json())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Codec) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.units, self.vocabulary))

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self.vocabulary)} symbols"


def texts_of(texts: Iterable[str]) -> Iterable[str]:
    """The texts to learn from. One string would be read letter by letter: that is a slip."""
    if isinstance(texts, str):
        raise ValueError("a codec learns from several texts: give a list, [text], not one string")
    return texts


def learned(vocabulary: Vocabulary, min_count: int) -> Vocabulary:
    """The same vocabulary, if there is anything in it."""
    if not vocabulary.to_json():
        raise ValueError(
            f"nothing to learn from: no token occurs {min_count} times or more; "
            "give more text or a smaller min_count"
        )
    return vocabulary


def spelled(vocabulary: Vocabulary, ids: Iterable[int]) -> list[str]:
    """The tokens of the ids as a text shows them: specials left out, U+FFFD for the unknown."""
    numbers = list(ids)
    pairs = zip(numbers, vocabulary.tokens(numbers), strict=True)
    return [UNKNOWN if number == UNK else token for number, token in pairs if number >= UNK]
