"""The language model: which symbol comes next.

    p(t_1 .. t_N) = prod_k p(t_k | t_1 .. t_(k-1))

A text is read as one stream, with the state carried on, or line by line. Trained in both
directions (Bilici, eq 62) it maximises

    sum_k log p(t_k | t_1 .. t_(k-1)) + log p(t_k | t_(k+1) .. t_N)

where the directions share embedding and softmax and have layers of their own; what the two
have read around a word is then a vector for that word in its context.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, Self

import torch
from torch import Tensor, nn

from unspool.cells.find import check_lasting
from unspool.data.labelled import Labelled
from unspool.data.streams import Piece
from unspool.engine.masks import check_probability
from unspool.layers import Recurrent
from unspool.layers.drop import Drop
from unspool.layers.embedding import Embedding
from unspool.models.model import Loss, Model, settings_from, texts_in
from unspool.models.ngram import KneserNey
from unspool.models.stack import Stack, full, pad, run, with_vectors
from unspool.text import END, START, Codec, codec_from_json, learn_codec


@dataclass(frozen=True)
class LanguageModelSettings(Stack):
    """What a language model is made of."""

    hidden: Annotated[int, "Units in each layer."] = 256
    layers: Annotated[int, "Layers on top of each other."] = 2
    units: Annotated[Literal["characters", "words", "subwords"], "What the text is read in."] = (
        "characters"
    )
    min_count: Annotated[int, "Rarer symbols are unknown ones."] = 1
    max_symbols: Annotated[int, "At most so many symbols, the most frequent; 0: all."] = 0
    tied: Annotated[bool, "The softmax reads the embedding's table."] = False
    lines: Annotated[bool, "Each line is a text of its own, not part of one stream."] = False
    classes: Annotated[bool, "Lines have labels, and the model is told them."] = False
    class_size: Annotated[int, "Features of a class's vector."] = 16
    afresh: Annotated[float, "Share of a stream's rows that begin anew in a piece."] = 0.02
    direction: Annotated[
        Literal["forward", "both"], "both: a model in each direction, trained side by side."
    ] = "forward"
    bidirectional: Annotated[bool, "Refused: see direction."] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bidirectional:
            raise ValueError(
                "a bidirectional layer has seen the very symbol that it must predict, so its loss "
                "would mean nothing; for two models in opposite directions that share their "
                "embedding and softmax set model.direction=both"
            )
        if self.direction not in ("forward", "both"):
            raise ValueError(f"model.direction is forward or both, not {self.direction!r}")
        if self.direction == "both" and not self.lines:
            raise ValueError(
                "reading backwards starts at the end of a text, and a stream has none: "
                "model.direction=both needs model.lines=true"
            )
        if self.classes and not self.lines:
            raise ValueError("classes belong to lines: model.classes needs model.lines=true")
        check_probability("model.afresh", self.afresh)
        if self.class_size < 1:
            raise ValueError(f"model.class_size is at least 1, not {self.class_size}")
        if self.tied and self.embedding == 0:
            raise ValueError("a one-hot table cannot be the softmax's too: drop model.tied")


@dataclass(frozen=True)
class LineBatch:
    """Lines with START before and END after them, (T, B), their lengths and classes (B,); `count`
    is how many symbols there are to predict."""

    ids: Tensor
    lengths: Tensor
    classes: Tensor
    count: int

    @property
    def size(self) -> tuple[int, int]:
        return self.ids.shape[0], self.ids.shape[1]

    def to(self, device: Any) -> "LineBatch":
        parts = (self.ids, self.lengths, self.classes)
        ids, lengths, classes = (part.to(device, non_blocking=True) for part in parts)
        return LineBatch(ids, lengths, classes, self.count)


class LanguageModel(Model):
    """`LanguageModel.learn(settings, texts)` makes one for the data."""

    settings: LanguageModelSettings

    def __init__(self, settings: LanguageModelSettings, codec: Codec, classes: Sequence[str] = ()):
        super().__init__()
        self.settings, self.codec, self.classes = settings, codec, list(classes)
        symbols = len(codec.vocabulary)
        self.embed = settings.embed(codec.vocabulary)
        size = self.embed.size
        self.kind = Embedding(len(self.classes), settings.class_size) if classes else None
        inputs = size + (settings.class_size if classes else 0)
        self.forwards = settings.build(inputs, False)
        self.backwards = settings.build(inputs, False) if settings.direction == "both" else None
        self.input_dropout = Drop(settings.input_dropout)
        self.dropout = Drop(settings.dropout)
        hidden = self.forwards.output_size
        narrow = settings.tied and hidden != size
        self.narrow = nn.Linear(hidden, size, bias=False) if narrow else nn.Identity()
        self.out = nn.Linear(size if settings.tied else hidden, symbols)
        if settings.tied:
            # A table that gives both inputs of variance 1 and scores of variance 1.
            nn.init.normal_(self.embed.weight, std=size**-0.5)
            self.out.weight = self.embed.weight
        self.gain = size**0.5 if settings.tied and not settings.vectors else 1.0
        self.ngram: KneserNey | None = None  # counted on the same text, to compare with

    @classmethod
    def learn(cls, settings: LanguageModelSettings, examples: Sequence[Labelled]) -> Self:
        """A model with the symbols and classes of these texts, not yet trained."""
        codec = learn_codec(
            settings.units,
            [example.text for example in examples],
            min_count=settings.min_count,
            max_size=settings.max_symbols or None,
        )
        settings, table = with_vectors(settings, codec.vocabulary)
        classes = sorted({_class_of(e) for e in examples}) if settings.classes else []
        # The first class is the padding's place in the table.
        model = cls(settings, codec, ["", *classes] if classes else [])
        if table is not None:
            model.embed.weight.data.copy_(table)
        return model

    def assets(self) -> dict[str, Any]:
        return {"text": self.codec.to_json(), "classes": self.classes}

    @classmethod
    def build(cls, settings: LanguageModelSettings, assets: dict[str, Any]) -> Self:
        classes = texts_in(assets, "classes")
        if bool(classes) != settings.classes:
            raise ValueError(
                "model.classes and the classes of the vocabulary do not go together: one of them "
                "was changed"
            )
        return cls(settings, codec_from_json(assets["text"]), classes)

    def extras(self) -> dict[str, Any]:
        return {} if self.ngram is None else {"ngram": self.ngram.to_plain()}

    def take_extras(self, extras: dict[str, Any]) -> None:
        if "ngram" in extras:
            self.ngram = KneserNey.from_plain(extras["ngram"])

    def described(self) -> dict[str, Any]:
        """What rebuilds it inside another model."""
        return {"settings": asdict(self.settings), "assets": self.assets()}

    @classmethod
    def from_description(cls, described: dict[str, Any]) -> Self:
        check_lasting(described["settings"]["cell"])
        settings = settings_from(LanguageModelSettings, described["settings"])
        return cls.build(settings, described["assets"])

    def inputs(self, ids: Tensor, classes: Tensor | None) -> Tensor:
        xs = self.embed(ids) * self.gain
        if self.kind is not None:
            assert classes is not None
            xs = torch.cat((xs, self.kind(classes).expand(*ids.shape, -1)), -1)
        return self.input_dropout(xs)

    def scores(self, ys: Tensor) -> Tensor:
        """Of every symbol, before the softmax."""
        return full(self.out(self.narrow(self.dropout(ys))))

    def loss(self, batch: Piece | LineBatch, carried: Any = None) -> Loss:
        if isinstance(batch, Piece):
            ids, carried = self.begin_anew(batch.inputs, carried)
            scores, carried = self.read(ids, carried)
            return Loss(_cross_entropy(scores, batch.targets), batch.count, carried)
        both = self.losses(batch)
        return Loss(torch.stack([one.total for one in both]).sum(), sum(one.count for one in both))

    def begin_anew(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """In training some rows forget what came before, so that the model learns to begin."""
        if not (self.training and self.settings.afresh):
            return ids, state
        anew = torch.rand(ids.shape[1], device=ids.device) < self.settings.afresh
        first = ids[0].masked_fill(anew, START)
        ids = torch.cat((first[None], ids[1:]))
        return ids, None if state is None else _zeroed(state, anew)

    def losses(self, batch: LineBatch) -> list[Loss]:
        """Of each direction by itself."""
        return [Loss(_cross_entropy(*pair), batch.count) for pair in self.both_ways(batch)]

    def read(self, ids: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """The scores of what comes after each symbol (T, B, V), and the state to go on from."""
        ys, state = run(self.forwards, self.inputs(ids, None), state)
        return self.scores(ys), state

    def both_ways(self, batch: LineBatch) -> list[tuple[Tensor, Tensor]]:
        """Scores and targets: forwards, and if the model has it backwards."""
        return [(self.scores(ys), targets) for ys, targets in self.read_lines(batch)]

    def read_lines(self, batch: LineBatch) -> list[tuple[Tensor, Tensor]]:
        """What the layers give, and targets, in each direction."""
        found = [self.one_way(self.forwards, batch.ids, batch)]
        if self.backwards is not None:
            turned = _turned(batch.ids, batch.lengths)
            found.append(self.one_way(self.backwards, turned, batch))
        return found

    def one_way(self, layers: Recurrent, ids: Tensor, batch: LineBatch) -> tuple[Tensor, Tensor]:
        """From START to END, or from END to START: each symbol but the first is predicted."""
        steps = torch.arange(1, len(ids), device=ids.device)
        targets = ids[1:].masked_fill(steps[:, None] >= batch.lengths, -1)
        xs = self.inputs(ids[:-1], batch.classes)
        ys, _ = run(layers, xs, lengths=batch.lengths - 1)
        return ys, targets

    def length(self, example: Labelled) -> int:
        return len(self.codec.spans(example.text)) + 2

    def collate(self, examples: Sequence[Labelled]) -> LineBatch:
        rows = [[START, *self.codec.encode(example.text), END] for example in examples]
        ids, lengths = pad(rows)
        return LineBatch(ids, lengths, self.classes_of(examples), sum(map(len, rows)) - len(rows))

    def classes_of(self, examples: Sequence[Labelled]) -> Tensor:
        if not self.classes:
            return torch.zeros(len(examples), dtype=torch.long)
        return torch.tensor([self.class_id(_class_of(e), e.where) for e in examples])

    def class_id(self, name: str, where: str = "") -> int:
        if not self.classes:
            raise ValueError("this model was trained without classes; model.classes=true adds them")
        if name not in self.classes[1:]:
            place = f"{where}: " if where else ""
            known = ", ".join(self.classes[1:])
            raise ValueError(f"{place}{name!r} is not a class that the model has learned: {known}")
        return self.classes.index(name)

    @property
    def vector_size(self) -> int:
        return self.forwards.output_size * (1 if self.backwards is None else 2)

    def vectors(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """What was read up to each word's end, and (backwards) down to its start, (T, B, O).

        The words are joined by spaces and read in the model's own units.
        """
        if self.classes:
            raise ValueError("contextual vectors come from a model without classes")
        texts = [" ".join(words) for words in sentences]
        batch = self.collate([Labelled(text, None, "") for text in texts]).to(self.device)
        places = [_places(self.codec.spans(t), w) for t, w in zip(texts, sentences, strict=True)]
        with self.answering():
            ys, _ = run(self.forwards, self.inputs(batch.ids, None), lengths=batch.lengths)
            found = [_gather(ys, [[last for _, last in row] for row in places])]
            if self.backwards is not None:
                turned = _turned(batch.ids, batch.lengths)
                ys, _ = run(self.backwards, self.inputs(turned, None), lengths=batch.lengths)
                ys = _turned(ys, batch.lengths)
                found.append(_gather(ys, [[first for first, _ in row] for row in places]))
        return torch.cat(found, -1)


def _zeroed(state: Any, rows: Tensor) -> Any:
    """The state with zeros in these rows."""
    if isinstance(state, Tensor):
        return state.masked_fill(rows[:, None], 0.0)
    parts = [_zeroed(part, rows) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)


def _cross_entropy(scores: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.cross_entropy(
        scores.flatten(0, -2), targets.flatten(), ignore_index=-1, reduction="sum"
    )


def _turned(values: Tensor, lengths: Tensor) -> Tensor:
    """Each row (T, B, ...) from its own end to its start; the padding stays where it is."""
    steps = torch.arange(len(values), device=values.device)[:, None]
    source = torch.where(steps < lengths, lengths - 1 - steps, steps)
    return values[source, torch.arange(values.shape[1], device=values.device)]


def _places(spans: Sequence[tuple[int, int]], words: Sequence[str]) -> list[tuple[int, int]]:
    """For each word the first and the last symbol that it touches, START counted as 0."""
    found, start, low = [], 0, 0
    for word in words:
        end = start + len(word)
        while low < len(spans) and spans[low][1] <= start:
            low += 1
        high = low
        while high + 1 < len(spans) and spans[high + 1][0] < end:
            high += 1
        found.append((low + 1, high + 1))
        start = end + 1
    return found


def _gather(ys: Tensor, places: Sequence[Sequence[int]]) -> Tensor:
    """The outputs at these steps of each row, (T, B, O), zero where a row has fewer."""
    index, lengths = pad(places)
    index = index.to(ys.device)
    picked = ys[index.clamp(max=len(ys) - 1), torch.arange(ys.shape[1], device=ys.device)]
    steps = torch.arange(len(index), device=ys.device)[:, None]
    return picked * (steps < lengths.to(ys.device))[..., None]


def _class_of(example: Labelled) -> str:
    if not example.label:
        raise ValueError(f"{example.where}: there is no class")
    return example.label
