"""Data: files read and written, batches and streams, and built-in data that needs no download."""

from unspool.data.batches import Bucketed
from unspool.data.builtin import builtin
from unspool.data.files import DataError
from unspool.data.first_symbol import first_symbol
from unspool.data.labelled import Labelled, LabelledFile, read_labelled
from unspool.data.pairs import Pair, PairFile, read_pairs
from unspool.data.split import split, split_groups, unique
from unspool.data.streams import Streams
from unspool.data.tagged import Tagged, TaggedFile, read_tagged

__all__ = [
    "Bucketed", "DataError", "Labelled", "LabelledFile", "Pair", "PairFile", "Streams", "Tagged",
    "TaggedFile", "builtin", "first_symbol", "read_labelled", "read_pairs", "read_tagged", "split",
    "split_groups", "unique",
]  # fmt: skip
