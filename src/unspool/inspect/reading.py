"""A text as a model reads it: every line of every cell, at every symbol."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from unspool.data.labelled import Labelled
from unspool.data.pairs import Pair
from unspool.engine import unwatched
from unspool.inspect.watch import Layer, Watched, watch
from unspool.models import Classifier, LanguageModel, Tagger, Translator
from unspool.models.classifier import cased
from unspool.models.search import Search, translate
from unspool.models.stack import run
from unspool.text import START

Span = tuple[int, int]
GRADIENTS = 2_000  # symbols that gradients are followed through


@dataclass(frozen=True)
class Read:
    """How the text went in: its symbols, and the row and step of a batch at which each was read.

    Layers count whose name begins with `owner`; those under `turned` read from the end. `ends`
    has, for each row, how many steps it took.
    """

    symbols: list[str]
    rows: list[int]
    steps: list[int]
    ends: list[int]
    owner: str
    turned: str = "-"
    marks: Sequence[str] = ()
    answer: str = ""


@dataclass(frozen=True)
class Reading:
    """The symbols of a text, and what every cell did at each of them."""

    read: Read
    layers: list[Layer]
    _watched: Watched
    _places: list[int]

    @property
    def symbols(self) -> list[str]:
        return self.read.symbols

    def values(self, layer: int, line: str) -> Tensor:
        """A line after each symbol was read, (N, n)."""
        return self._over_symbols(layer, self._watched.line(self._place(layer), line))

    def gradient(self, layer: int, line: str) -> Tensor:
        """dL/d(line) at each symbol, (N, n), of the loss that `read` names."""
        return self._over_symbols(layer, self._watched.gradient(self._place(layer), line))

    def _place(self, layer: int) -> int:
        if not 0 <= layer < len(self._places):
            raise ValueError(f"the model has {len(self._places)} layers to look at, not {layer}")
        return self._places[layer]

    def _over_symbols(self, layer: int, values: Tensor) -> Tensor:
        rows, steps = torch.tensor(self.read.rows), torch.tensor(self.read.steps)
        if self.layers[layer].name.startswith(self.read.turned):
            steps = torch.tensor(self.read.ends)[rows] - 1 - steps
        return values.cpu()[steps, rows]


def read(model: Any, text: str, *, kind: str = "", gradients: bool = False) -> Reading:
    """Lets a trained model read a text, as in evaluation.

    `kind` is the class that a language model is told, or a translator's tag. With `gradients` the
    loss is kept too: of a language model that of the text, else that of the model's own answer,
    -log p(answer | text).
    """
    reader = next((READERS[known] for known in READERS if isinstance(model, known)), None)
    if reader is None:
        raise ValueError(f"{type(model).__name__} reads no text that this knows how to follow")
    training = model.training
    model.eval()
    try:
        with torch.set_grad_enabled(gradients), watch(model) as seen:
            found, loss = reader(model, text, kind, gradients)
    finally:
        model.train(training)
    if gradients and len(found.symbols) > GRADIENTS:
        raise ValueError(
            f"the text has {len(found.symbols):,} symbols; gradients are followed through at most "
            f"{GRADIENTS:,}: give a part of it"
        )
    if gradients and loss is not None:
        seen.backward(loss)
    places = [k for k, layer in enumerate(seen.layers) if layer.name.startswith(found.owner)]
    return Reading(found, [seen.layers[k] for k in places], seen, places)


Reader = Callable[[Any, str, str, bool], tuple[Read, Tensor | None]]


def _language(
    model: LanguageModel, text: str, kind: str, gradients: bool
) -> tuple[Read, Tensor | None]:
    if model.settings.lines:
        return _lines(model, text, kind)
    spans = model.codec.spans(text)
    ids = torch.tensor([START, *model.codec.encode(text)], device=model.device)[:, None]
    ys, _ = run(model.forwards, model.inputs(ids, None))
    count = len(spans)
    found = Read(
        pieces(text, spans), [0] * count, list(range(1, count + 1)), [count + 1], "forwards"
    )
    if not gradients:
        return found, None
    scores = model.scores(ys[:-1])[:, 0]
    return found, torch.nn.functional.cross_entropy(scores, ids[1:, 0], reduction="sum")


def _lines(model: LanguageModel, text: str, kind: str) -> tuple[Read, Tensor | None]:
    """Each line by itself; between its symbols START and END are read too."""
    spans: list[Span] = []
    rows: list[int] = []
    steps: list[int] = []
    examples = []
    for line in re.finditer(r"[^\n]+", text):
        own = model.codec.spans(line[0])
        spans += [(line.start() + a, line.start() + b) for a, b in own]
        rows += [len(examples)] * len(own)
        steps += range(1, len(own) + 1)
        examples.append(Labelled(line[0], kind or None, ""))
    if not examples:
        raise ValueError("there is nothing to read: the text is empty")
    batch = model.collate(examples).to(model.device)
    losses = model.losses(batch)
    # The other direction begins at END, and reads all but START.
    ends = [length + 1 for length in (batch.lengths - 1).tolist()]
    owner = "" if model.backwards is not None else "forwards"
    found = Read(pieces(text, spans), rows, steps, ends, owner, "backwards")
    return found, torch.stack([one.total for one in losses]).sum()


def _classified(
    model: Classifier, text: str, kind: str, gradients: bool
) -> tuple[Read, Tensor | None]:
    shown = cased(model.settings, text)
    spans = model.codec.spans(shown)
    scores = model(model.batch([model.ids(text)]).to(model.device))
    answer = model.answer(scores[:, 0].detach().cpu())
    count = len(spans)
    found = Read(
        pieces(shown, spans),
        [0] * count,
        list(range(1, count + 1)),
        [count + 2],
        "readers",
        answer=answer.label,
    )
    own = scores.detach().mean(0)
    if model.settings.target == "number":
        return found, scores.mean(0).sum()
    target = own.argmax(-1) if model.settings.target == "label" else (own > 0).to(own.dtype)
    return found, torch.stack([model.loss_of(one, target) for one in scores]).mean()


def _tagged(model: Tagger, text: str, kind: str, gradients: bool) -> tuple[Read, Tensor | None]:
    """A line is a sentence, and its words stand between spaces."""
    sentences = [line for line in text.split("\n") if line.strip()]
    if not sentences:
        raise ValueError("there is nothing to tag: write words with spaces between them")
    words = [line.split() for line in sentences]
    with unwatched():
        answers = model.predict(words)
    tags = [[model.tags.index(tag) for tag in answer.tags] for answer in answers]
    places = [(row, step) for row, line in enumerate(words) for step in range(len(line))]
    found = Read(
        pieces(text, [(m.start(), m.end()) for m in re.finditer(r"\S+", text)]),
        [row for row, _ in places],
        [step for _, step in places],
        [len(line) for line in words],
        "layers.",
        marks=[tag for answer in answers for tag in answer.tags],
    )
    return found, model.loss(model.batch(words, tags).to(model.device)).total


def _translated(
    model: Translator, text: str, kind: str, gradients: bool
) -> tuple[Read, Tensor | None]:
    """The encoder's part: the source, symbol by symbol."""
    if not text.strip():
        raise ValueError("there is nothing to translate: the text is empty")
    row = model.source_row(text, kind or None)
    spans = model.source.spans(text)[: len(row) - 1 - bool(model.tags)]
    steps = [k + bool(model.tags) for k in range(len(spans))]
    if model.settings.reverse:
        steps.reverse()
    with unwatched():
        (answer,) = translate(model, [text], Search(width=1), tag=kind or None)
    symbols = pieces(text, spans)
    found = Read(symbols, [0] * len(spans), steps, [len(row)], "net.encoder", answer=answer.text)
    pair = Pair(text, answer.text, kind or None, "")
    batch = model.collate([model.rows(pair)]).to(model.device)
    if gradients:
        return found, model.loss(batch).total
    model.net.encode(batch.source, batch.read)
    return found, None


READERS: dict[type, Reader] = {
    LanguageModel: _language,
    Classifier: _classified,
    Tagger: _tagged,
    Translator: _translated,
}


def pieces(text: str, spans: Sequence[Span]) -> list[str]:
    """The text cut where symbols begin: what lies between two belongs to the first of them."""
    cuts = [0, *(start for start, _ in spans[1:]), len(text)] if spans else []
    return [text[a:b] for a, b in pairwise(cuts)]
