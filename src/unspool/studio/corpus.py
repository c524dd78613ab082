"""Held-out text as the model reads it: where units and neighbours are looked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from unspool.inspect.properties import labels_of
from unspool.inspect.reading import Reading, Span, spans_of
from unspool.models import LanguageModel, Tagger
from unspool.studio.cancel import check
from unspool.studio.desk import Desk
from unspool.studio.held_out import held_out

SYMBOLS = 60_000  # that are searched
TEXTS = 60  # of a model that reads one text at a time
SAMPLE = 20_000  # characters that tell how long symbols are


@dataclass(frozen=True)
class Corpus:
    """How each text was read, their symbols one after the other."""

    readings: list[Reading]

    @property
    def size(self) -> int:
        return sum(len(reading.read.spans) for reading in self.readings)

    def values(self, layer: int, line: str) -> Tensor:
        """A line after every symbol of every text, (N, n)."""
        return torch.cat([reading.values(layer, line) for reading in self.readings])

    def recorded(self) -> "Recorded":
        return Recorded(self)

    def labels(self) -> dict[str, np.ndarray]:
        """Every property at every symbol."""
        found = [labels_of(reading.read.text, reading.read.spans) for reading in self.readings]
        return {name: np.concatenate([labels[name] for labels in found]) for name in found[0]}

    def place(self, symbol: int) -> tuple[str, Span]:
        """The text that a symbol stands in, and where."""
        for reading in self.readings:
            if symbol < len(reading.read.spans):
                ends = list(accumulate(map(len, reading.symbols)))
                return reading.read.text, (([0, *ends])[symbol], ends[symbol])
            symbol -= len(reading.read.spans)
        raise IndexError(symbol)


class Recorded(Mapping[tuple[int, str], Tensor]):
    """Every line of every layer, worked out when it is asked for: together they are large."""

    def __init__(self, corpus: Corpus):
        self.corpus = corpus
        layers = enumerate(corpus.readings[0].layers)
        self.places = [(at, line) for at, layer in layers for line in layer.lines]

    def __getitem__(self, place: tuple[int, str]) -> Tensor:
        return self.corpus.values(*place)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def corpus(desk: Desk, kind: str = "") -> Corpus:
    """Of the run's held-out text. What follows a stream or lines is read as one text."""
    return desk.keep(("corpus", kind), lambda: _read(desk, kind), large=True)


def _read(desk: Desk, kind: str) -> Corpus:
    texts = [text for text in held_out(desk) if text.strip()]
    if isinstance(desk.model(), LanguageModel | Tagger):
        texts = [_start("\n".join(texts), desk)]
    readings: list[Reading] = []
    for text in texts[:TEXTS]:
        check()
        reading = desk.read(text, kind)
        readings += [reading] if reading.read.spans else []
        if Corpus(readings).size >= SYMBOLS:
            break
    if not readings or not readings[0].layers:
        raise ValueError("there is no held-out text, or no recurrent layer, to look at")
    check()
    return Corpus(readings)


def _start(text: str, desk: Desk) -> str:
    """As many whole lines as have about the symbols that are searched."""
    sample = text[:SAMPLE]
    limit = SYMBOLS * len(sample) // max(1, len(spans_of(desk.model(), sample)))
    if len(text) <= limit:
        return text
    end = text.rfind("\n", 0, limit)
    return text[: end + 1 if end > limit // 2 else limit]
