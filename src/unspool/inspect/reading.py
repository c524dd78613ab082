"""A text as a model reads it: every line of every cell, at every symbol."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from unspool.data.batches import in_order
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
BUDGET = 20_000  # steps that lines and sentences are read in at once, padding counted


@dataclass(frozen=True)
class Read:
    """How a text went in: where its symbols stand, and when each was read.

    That is a call of the layers, a row of its batch and a step of it; `turned` is the step in
    layers that read from the end, whose name begins with `backwards`. Layers count whose name
    begins with `owner`. `text` is the text as the model sees it.
    """

    text: str
    spans: list[Span]
    owner: str
    calls: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    turned: list[int] = field(default_factory=list)
    marks: Sequence[str] = ()
    answer: str = ""

    @classmethod
    def in_a_row(
        cls, text: str, spans: list[Span], owner: str, steps: Sequence[int], answer: str = ""
    ) -> "Read":
        """One call, one row: the symbols at these steps."""
        none = [0] * len(spans)
        return cls(text, spans, owner, none, none, list(steps), list(steps), (), answer)


@dataclass(frozen=True)
class Reading:
    """The symbols of a text, and what every cell did at each of them."""

    read: Read
    layers: list[Layer]
    _watched: Watched
    _places: list[int]

    @property
    def symbols(self) -> list[str]:
        """Their texts; what lies between two belongs to the first of them."""
        return pieces(self.read.text, self.read.spans)

    def values(self, layer: int, line: str) -> Tensor:
        """A line after each symbol was read, (N, n)."""
        return self._over_symbols(layer, self._watched.lines(self._place(layer), line))

    def gradient(self, layer: int, line: str) -> Tensor:
        """dL/d(line) at each symbol, (N, n), of the loss that `read` names."""
        return self._over_symbols(layer, self._watched.gradients(self._place(layer), line))

    def _place(self, layer: int) -> int:
        if not 0 <= layer < len(self._places):
            raise ValueError(f"the model has {len(self._places)} layers to look at, not {layer}")
        return self._places[layer]

    def _over_symbols(self, layer: int, values: list[Tensor]) -> Tensor:
        turned = self.layers[layer].name.startswith("backwards")
        when = self.read.turned if turned else self.read.steps
        calls, rows, steps = (
            torch.tensor(numbers, dtype=torch.long)
            for numbers in (self.read.calls, self.read.rows, when)
        )
        found = torch.zeros(len(rows), values[0].shape[-1], dtype=values[0].dtype)
        for call, each in enumerate(values):
            own = calls == call
            found[own] = each.cpu()[steps[own], rows[own]]
        return found


def read(model: Any, text: str, *, kind: str = "", gradients: bool = False) -> Reading:
    """Lets a trained model read a text, as in evaluation.

    `kind` is the class that a language model is told, or a translator's tag. With `gradients` the
    loss is kept too: of a language model that of the text, else that of the model's own answer,
    -log p(answer | text).
    """
    if not isinstance(text, str):
        raise ValueError(f"a text is read, not {type(text).__name__}")
    reader = next((READERS[known] for known in READERS if isinstance(model, known)), None)
    if reader is None:
        raise ValueError(f"{type(model).__name__} reads no text that this knows how to follow")
    if kind and not (getattr(model, "classes", None) or isinstance(model, Translator)):
        raise ValueError(f"this model is told nothing but the text, and {kind!r} was given")
    size = len(spans_of(model, text))
    if gradients and size > GRADIENTS:
        raise ValueError(
            f"the text has {size:,} symbols; gradients are followed through at most "
            f"{GRADIENTS:,}: give a part of it"
        )
    training = model.training
    model.eval()
    try:
        with torch.set_grad_enabled(gradients), watch(model) as seen:
            found, loss = reader(model, text, kind, gradients)
    finally:
        model.train(training)
    if loss is not None:
        seen.backward(loss)
    places = [k for k, layer in enumerate(seen.layers) if layer.name.startswith(found.owner)]
    return Reading(found, [seen.layers[k] for k in places], seen, places)


def spans_of(model: Any, text: str) -> list[Span]:
    """Where the symbols that a model reads stand in a text."""
    if isinstance(model, Tagger):
        return [word.span() for word in re.finditer(r"\S+", text)]
    if isinstance(model, Translator):
        return model.source.spans(text)
    if isinstance(model, Classifier):
        return model.codec.spans(cased(model.settings, text))
    if not model.settings.lines:
        return model.codec.spans(text)
    found = []
    for line in re.finditer(r"[^\n]+", text):
        found += [(line.start() + a, line.start() + b) for a, b in model.codec.spans(line[0])]
    return found


Reader = Callable[[Any, str, str, bool], tuple[Read, Tensor | None]]


def _language(
    model: LanguageModel, text: str, kind: str, gradients: bool
) -> tuple[Read, Tensor | None]:
    if model.settings.lines:
        return _lines(model, text, kind, gradients)
    spans = spans_of(model, text)
    ids = torch.tensor([START, *model.codec.encode(text)], device=model.device)[:, None]
    ys, _ = run(model.forwards, model.inputs(ids, None))
    found = Read.in_a_row(text, spans, "forwards", range(1, len(spans) + 1))
    if not gradients:
        return found, None
    scores = model.scores(ys[:-1])[:, 0]
    return found, torch.nn.functional.cross_entropy(scores, ids[1:, 0], reduction="sum")


def _lines(
    model: LanguageModel, text: str, kind: str, gradients: bool
) -> tuple[Read, Tensor | None]:
    """Each line by itself, START before it and END after it."""
    lines = [line for line in text.split("\n") if line]
    if not lines:
        raise ValueError("there is nothing to read: the text is empty")
    examples = [Labelled(line, kind or None, "") for line in lines]
    sizes = [len(model.codec.spans(line)) for line in lines]
    found = Read(text, spans_of(model, text), "" if model.backwards else "forwards")
    losses = []
    for places in _batches(found, sizes, around=1):
        batch = model.collate([examples[place] for place in places]).to(model.device)
        if gradients:
            losses += [one.total for one in model.losses(batch)]
        else:
            model.read_lines(batch)
    return found, torch.stack(losses).sum() if losses else None


def _classified(
    model: Classifier, text: str, kind: str, gradients: bool
) -> tuple[Read, Tensor | None]:
    spans = spans_of(model, text)
    scores = model(model.batch([model.ids(text)]).to(model.device))
    answer = model.answer(scores[:, 0].detach().cpu()).label
    shown = cased(model.settings, text)
    found = Read.in_a_row(shown, spans, "readers", range(1, len(spans) + 1), answer)
    if not gradients:
        return found, None
    if model.settings.target == "number":
        return found, scores.mean(0).sum()
    own = scores.detach().mean(0)
    target = own.argmax(-1) if model.settings.target == "label" else (own > 0).to(own.dtype)
    return found, torch.stack([model.loss_of(one, target) for one in scores]).mean()


def _tagged(model: Tagger, text: str, kind: str, gradients: bool) -> tuple[Read, Tensor | None]:
    """A line is a sentence, and its words stand between spaces."""
    words = [line.split() for line in text.split("\n") if line.strip()]
    if not words:
        raise ValueError("there is nothing to tag: write words with spaces between them")
    with unwatched():
        answers = model.predict(words)
    marks = [tag for answer in answers for tag in answer.tags]
    found = Read(text, spans_of(model, text), "layers.", marks=marks)
    losses = []
    for places in _batches(found, [len(line) for line in words], around=0):
        tags = [[model.tags.index(tag) for tag in answers[place].tags] for place in places]
        batch = model.batch([words[place] for place in places], tags).to(model.device)
        if gradients:
            losses.append(model.loss(batch).total)
        else:
            model(batch)
    return found, torch.stack(losses).sum() if losses else None


def _batches(found: Read, sizes: Sequence[int], around: int) -> list[list[int]]:
    """Which rows are read together, and into `found` where each of their symbols then stands.

    Rows of about the same size go together: one long line does not pad all the others. `around`
    is what a row has before its first symbol, and after its last.
    """
    padded = [size + 2 * around for size in sizes]
    batches = [places for places, _ in in_order(range(len(sizes)), padded, BUDGET)]
    where = {p: (call, row) for call, places in enumerate(batches) for row, p in enumerate(places)}
    for place, size in enumerate(sizes):
        call, row = where[place]
        steps = range(around, around + size)
        found.calls.extend([call] * size)
        found.rows.extend([row] * size)
        found.steps.extend(steps)
        found.turned.extend(reversed(steps))
    return batches


def _translated(
    model: Translator, text: str, kind: str, gradients: bool
) -> tuple[Read, Tensor | None]:
    """The encoder's part: the source, symbol by symbol."""
    if not text.strip():
        raise ValueError("there is nothing to translate: the text is empty")
    row = model.source_row(text, kind or None)
    # Attention by location cuts a source that is too long: its end, or if reversed its start.
    count = len(row) - 1 - bool(model.tags)
    spans = spans_of(model, text)
    spans = spans[len(spans) - count :] if model.settings.reverse else spans[:count]
    steps = [k + bool(model.tags) for k in range(count)]
    steps = steps[::-1] if model.settings.reverse else steps
    with unwatched():
        (answer,) = translate(model, [text], Search(width=1), tag=kind or None)
    found = Read.in_a_row(text, spans, "net.encoder", steps, answer.text)
    batch = model.collate([model.rows(Pair(text, answer.text, kind or None, ""))])
    batch = batch.to(model.device)
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
