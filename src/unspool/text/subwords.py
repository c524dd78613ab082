"""`Subwords`: byte pair encoding, so that no text is unknown."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from unspool.text.codec import Codec, spelled, texts_of
from unspool.text.vocabulary import SPECIALS, Vocabulary, check_limits

# Where pieces may not grow together: a word with the space before it, digits, other characters,
# white space. Marks stay with their letters, or words of many Indic languages fall apart.
PIECE = r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"


class Subwords(Codec):
    """Frequent pieces of words, learned by merging the bytes of UTF-8 (Sennrich et al. 2016).

    Decoding gives the very text that was encoded, whatever it is. A symbol is spelled with one
    visible letter for each byte (`Ġ` is a space); a character that falls into several tokens is
    in the span of each of them.
    """

    units = "subwords"

    def __init__(self, merges: Sequence[tuple[str, str]]):
        letters = sorted(LETTERS.values())
        known = dict.fromkeys(letters)
        for left, right in merges:
            if left not in known or right not in known:
                raise ValueError(
                    f"a merge joins two symbols made before it; {left!r} and {right!r} are not both"
                )
            known[left + right] = None
        super().__init__(Vocabulary(known))
        self.merges = [(left, right) for left, right in merges]
        self._tokenizer = _tokenizer(list(known), self.merges)

    @classmethod
    def learn(
        cls, texts: Iterable[str], *, min_count: int = 1, max_size: int | None = None
    ) -> "Subwords":
        """Merges of pairs seen `min_count` times or more, until there are `max_size` symbols."""
        from tokenizers.trainers import BpeTrainer

        check_limits(min_count, max_size)
        size = 4_000 if max_size is None else max_size
        if size < len(LETTERS):
            raise ValueError(
                f"max_size is at least {len(LETTERS)} for subwords, one for each byte; got {size}"
            )
        trainer = BpeTrainer(
            vocab_size=size,
            min_frequency=min_count,
            show_progress=False,
            initial_alphabet=sorted(LETTERS.values()),
        )
        tokenizer = _tokenizer([], [])
        tokenizer.train_from_iterator(_checked_all(texts_of(texts)), trainer)
        merges = json.loads(tokenizer.to_str())["model"]["merges"]
        return cls([(left, right) for left, right in merges])

    def spans(self, text: str) -> list[tuple[int, int]]:
        return self._tokenizer.encode(_checked(text)).offsets

    def tokens(self, text: str) -> list[str]:
        return self._tokenizer.encode(_checked(text)).tokens

    def encode(self, text: str) -> list[int]:
        first = len(SPECIALS)
        return [number + first for number in self._tokenizer.encode(_checked(text)).ids]

    def decode(self, ids: Iterable[int]) -> str:
        """Bytes that are no UTF-8, as a model may make them, come out as U+FFFD."""
        tokens = spelled(self.vocabulary, ids)
        return b"".join(map(_bytes, tokens)).decode("utf-8", errors="replace")

    def to_json(self) -> dict[str, Any]:
        """The merges alone: the symbols follow from them."""
        return {"units": self.units, "merges": [f"{left} {right}" for left, right in self.merges]}


def merges_from_json(value: Any) -> list[tuple[str, str]]:
    """The pairs of `to_json`, checked."""
    if not isinstance(value, list):
        raise ValueError("the merges of subwords are a JSON array of strings, each two symbols")
    pairs = [item.split(" ") if isinstance(item, str) else [] for item in value]
    for item, pair in zip(value, pairs, strict=True):
        if len(pair) != 2 or not all(pair):
            raise ValueError(f"a merge is two symbols with a space between them, not {item!r}")
    return [(left, right) for left, right in pairs]


def _byte_letters() -> dict[int, str]:
    """Byte -> the visible letter that stands for it, as the tokenizers library has them."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {
        byte: chr(256 + place) for place, byte in enumerate(hidden)
    }


LETTERS = _byte_letters()
_BYTES = {letter: bytes([byte]) for byte, letter in LETTERS.items()} | {
    "\ufffd": "\ufffd".encode()  # the unknown is spelled as itself
}


def _bytes(token: str) -> bytes:
    return b"".join(_BYTES[letter] for letter in token)


def _tokenizer(symbols: list[str], merges: list[tuple[str, str]]) -> Any:
    """No special symbol is known to the library: it would find `<pad>` in a text."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    tokenizer = Tokenizer(models.BPE(vocab=numbers, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECE), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


def _checked(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"character {error.start} of the text is half a surrogate pair, which UTF-8 lacks: "
            "read the file as UTF-8, or as UTF-16 if that is what it is"
        ) from None
    return text


def _checked_all(texts: Iterable[str]) -> Iterator[str]:
    return map(_checked, texts)
