"""Text as numbers: vocabularies, codecs in several units, and word vectors."""

from unspool.text.characters import Characters
from unspool.text.codec import Codec
from unspool.text.learn import UNITS, codec_from_json, learn_codec, load_codec
from unspool.text.subwords import Subwords
from unspool.text.vectors import read_vectors
from unspool.text.vocabulary import END, NEVER, PAD, SPECIALS, START, UNK, Vocabulary
from unspool.text.words import Words, split

__all__ = [
    "END", "NEVER", "PAD", "SPECIALS", "START", "UNITS", "UNK", "Characters", "Codec", "Subwords",
    "Vocabulary", "Words", "codec_from_json", "learn_codec", "load_codec", "read_vectors", "split",
]  # fmt: skip
