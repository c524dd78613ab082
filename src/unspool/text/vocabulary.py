"""`Vocabulary`: the symbols a model knows, and their numbers."""

from collections import Counter
from collections.abc import Iterable
from operator import index
from pathlib import Path
from typing import Any

from unspool.text.json_file import read_json, write_json

PAD, START, END, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<start>", "<end>", "<unk>")
NEVER = [PAD, START, UNK]  # no part of any text, so no model says them


class Vocabulary:
    """Symbols numbered from 4; 0 to 3 are padding, start, end and unknown.

    The special symbols are no text: a token that is spelled `<pad>` is an ordinary symbol with a
    number of its own, or unknown.
    """

    def __init__(self, symbols: Iterable[str]):
        ordinary = tuple(symbols)
        for symbol in ordinary:
            if not isinstance(symbol, str):
                raise ValueError(f"the symbols of a vocabulary are strings, not {symbol!r}")
        self.symbols = SPECIALS + ordinary
        self._ids = {symbol: number for number, symbol in enumerate(ordinary, len(SPECIALS))}
        if len(self._ids) < len(ordinary):
            twice = next(symbol for symbol, count in Counter(ordinary).items() if count > 1)
            raise ValueError(f"each symbol stands once in a vocabulary; {twice!r} stands twice")

    @classmethod
    def count(
        cls, tokens: Iterable[str], *, min_count: int = 1, max_size: int | None = None
    ) -> "Vocabulary":
        """The most frequent tokens, ties in code point order; the specials come on top."""
        check_limits(min_count, max_size)
        counts = Counter(tokens)
        kept = [token for token, count in counts.items() if count >= min_count]
        kept.sort(key=lambda token: (-counts[token], token))
        return cls(kept[:max_size])

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.symbols == other.symbols

    def __hash__(self) -> int:
        return hash(self.symbols)

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self)} symbols"

    def id(self, token: str) -> int:
        """The number of a token, `UNK` for one that is not known."""
        return self._ids.get(token, UNK)

    def ids(self, tokens: Iterable[str]) -> list[int]:
        get = self._ids.get
        return [get(token, UNK) for token in tokens]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The symbols of these numbers, the special ones by their names."""
        numbers = list(map(index, ids))
        for number in numbers:
            if not 0 <= number < len(self.symbols):
                raise ValueError(
                    f"this vocabulary has the ids 0 to {len(self) - 1}; {number} is none of them"
                )
        return [self.symbols[number] for number in numbers]

    def to_json(self) -> list[str]:
        """The ordinary symbols, in order."""
        return list(self.symbols[len(SPECIALS) :])

    @classmethod
    def from_json(cls, value: Any) -> "Vocabulary":
        if not isinstance(value, list):
            raise ValueError(f"a vocabulary is a JSON array of strings, not {_short(value)}")
        return cls(value)

    def save(self, path: str | Path) -> None:
        """A JSON array with one symbol a line."""
        write_json(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        value = read_json(path)
        try:
            return cls.from_json(value)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def check_limits(min_count: int, max_size: int | None) -> None:
    if min_count < 1:
        raise ValueError(f"min_count is 1 (keep everything) or more, not {min_count}")
    if max_size is not None and max_size < 1:
        raise ValueError(f"max_size is None (no limit) or at least 1, not {max_size}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
