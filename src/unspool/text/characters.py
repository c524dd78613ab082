"""`Characters`: one token for each character (code point)."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from unspool.text.codec import Codec, learned, spelled, texts_of
from unspool.text.vocabulary import Vocabulary


class Characters(Codec):
    """Every character is a token, spaces and line ends too; nothing is lost but the unknown."""

    units = "characters"

    def __init__(self, vocabulary: Vocabulary):
        super().__init__(vocabulary)
        for symbol in vocabulary.to_json():
            if len(symbol) != 1:
                raise ValueError(f"symbols are single characters here; {symbol!r} is not one")

    @classmethod
    def learn(
        cls, texts: Iterable[str], *, min_count: int = 1, max_size: int | None = None
    ) -> "Characters":
        every = chain.from_iterable(texts_of(texts))
        vocabulary = Vocabulary.count(every, min_count=min_count, max_size=max_size)
        return cls(learned(vocabulary, min_count))

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(start, start + 1) for start in range(len(text))]

    def tokens(self, text: str) -> list[str]:
        return list(text)

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(spelled(self.vocabulary, ids))

    def to_json(self) -> dict[str, Any]:
        return {"units": self.units, "symbols": self.vocabulary.to_json()}
