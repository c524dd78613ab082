"""The classifier: a text in, a label, several labels, or a number out.

One reader, or several side by side that learn by themselves and whose answers are averaged.
"""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

import torch
from torch import Tensor, nn

from unspool.data.batches import in_order
from unspool.data.labelled import Labelled
from unspool.engine.masks import check_probability
from unspool.models.bag import Gram, Grams
from unspool.models.model import Loss, Model, number_in, texts_in
from unspool.models.reader import POOLS, Reader, TextBatch
from unspool.models.stack import Stack, full, pad, with_vectors
from unspool.text import END, START, Codec, codec_from_json, learn_codec

TARGETS = ("label", "labels", "number")
READERS = 100  # at most
BUDGET = 20_000  # tokens in a batch of predictions


@dataclass(frozen=True)
class ClassifierSettings(Stack):
    """What a classifier is made of."""

    units: Annotated[Literal["characters", "words", "subwords"], "What the text is read in."] = (
        "words"
    )
    lower: Annotated[bool, "Read everything in lower case."] = False
    min_count: Annotated[int, "Rarer symbols are unknown ones."] = 1
    max_symbols: Annotated[int, "At most so many symbols, the most frequent; 0: all."] = 0
    target: Annotated[
        Literal["label", "labels", "number"], "One label, several (a|b), or a number."
    ] = "label"
    pool: Annotated[
        Literal["last", "mean", "max", "attention"], "How a sequence becomes one vector."
    ] = "last"
    queries: Annotated[int, "Learned queries of attention pooling."] = 1
    bidirectional: Annotated[bool, "Read backwards too."] = True
    symbol_dropout: Annotated[float, "Symbols taken for unknown ones in training."] = 0.0
    smoothing: Annotated[float, "Share of the probability spread over all labels."] = 0.0
    ngrams: Annotated[int, "Count n-grams of up to so many symbols too (a linear layer)."] = 0
    readers: Annotated[int, "So many readers learn side by side; answers are averaged."] = 1
    balance: Annotated[float, "0: every example counts alike; 1: every class does."] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, choices in (("pool", POOLS), ("target", TARGETS)):
            if getattr(self, name) not in choices:
                given = getattr(self, name)
                raise ValueError(f"model.{name} is one of {', '.join(choices)}, not {given!r}")
        for name in ("symbol_dropout", "smoothing"):
            check_probability(f"model.{name}", getattr(self, name))
        if not 0 <= self.balance <= 1:
            raise ValueError(f"model.balance lies between 0 and 1; got {self.balance}")
        if self.queries < 1 or self.readers < 1 or self.ngrams < 0:
            raise ValueError(
                "model.queries and model.readers are at least 1, and model.ngrams 0 (none) or more"
            )
        if self.readers > READERS:
            raise ValueError(f"model.readers is at most {READERS}, not {self.readers:,}")
        if self.queries > 1 and self.pool != "attention":
            raise ValueError("model.queries are those of attention: set model.pool=attention too")
        if (self.smoothing or self.balance) and self.target != "label":
            raise ValueError("model.smoothing and model.balance are for model.target=label")


@dataclass(frozen=True)
class Prediction:
    """The answer as text, and each label's probability; of a number its value instead."""

    label: str
    scores: dict[str, float]
    value: float | None = None  # not nan: two equal answers are equal


class Classifier(Model):
    """`Classifier.learn(settings, examples)` makes one for the data; `predict(texts)` uses it."""

    reader = Reader
    settings: ClassifierSettings
    weights: Tensor

    def __init__(
        self,
        settings: ClassifierSettings,
        codec: Codec,
        labels: Sequence[str],
        grams: Sequence[Gram] = (),
        scale: tuple[float, float] = (0.0, 1.0),
    ):
        super().__init__()
        self.settings, self.codec, self.labels = settings, codec, list(labels)
        sizes = (max(1, len(self.labels)), len(grams))
        self.readers = nn.ModuleList(
            self.reader(settings, codec.vocabulary, *sizes) for _ in range(settings.readers)
        )
        self.grams = Grams(grams) if settings.ngrams else None
        # A number is learned as (x - mean) / spread of the training data, and given back as x.
        self.mean, self.spread = scale
        self.register_buffer("weights", torch.ones(len(self.labels)))

    @classmethod
    def learn(cls, settings: ClassifierSettings, examples: Sequence[Labelled]) -> Self:
        """A model with the symbols and labels of these examples, not yet trained."""
        codec = learn_codec(
            settings.units,
            [cased(settings, example.text) for example in examples],
            min_count=settings.min_count,
            max_size=settings.max_symbols or None,
        )
        settings, table = with_vectors(settings, codec.vocabulary)
        rows = (_ids(settings, codec, example.text) for example in examples)
        grams = Grams.learn(rows, settings.ngrams) if settings.ngrams else []
        numbers = [number(e) for e in examples] if settings.target == "number" else [0.0, 2.0]
        scale = (statistics.fmean(numbers), statistics.pstdev(numbers) or 1.0)
        model = cls(settings, codec, labels_in(examples, settings.target), grams, scale)
        if table is not None:
            for reader in model.readers:
                reader.get_parameter("embed.weight").data.copy_(table)
        if settings.target == "label":
            model.weights = balanced(model.labels, examples, settings.balance)
        return model

    def assets(self) -> dict[str, Any]:
        found: dict[str, Any] = {"text": self.codec.to_json(), "labels": self.labels}
        found |= {"scale": [self.mean, self.spread]}
        return found if self.grams is None else found | {"ngrams": self.grams.known}

    @classmethod
    def build(cls, settings: ClassifierSettings, assets: dict[str, Any]) -> Self:
        codec = codec_from_json(assets["text"])
        grams = [tuple(gram) for gram in assets.get("ngrams", ())]
        known = range(len(codec.vocabulary))
        if not all(0 < len(gram) <= settings.ngrams and all(map(known.__contains__, gram))
                   for gram in grams):  # fmt: skip
            raise ValueError(f"ngrams are runs of at most {settings.ngrams} known symbols")
        mean, spread = (number_in(value, "scale") for value in assets["scale"])
        if spread <= 0:
            raise ValueError(f"scale is a mean and a spread above 0, not {spread}")
        return cls(settings, codec, texts_in(assets, "labels"), grams, (mean, spread))

    def forward(self, batch: TextBatch) -> Tensor:
        """Every reader's scores of the labels (R, B, K); of a number (R, B, 1)."""
        return full(torch.stack([reader(batch) for reader in self.readers]))

    def loss(self, batch: TextBatch, carried: Any = None) -> Loss:
        """The mean of the readers' losses: each learns by itself."""
        losses = [self.loss_of(scores, batch.targets) for scores in self(batch)]
        return Loss(torch.stack(losses).mean(), len(batch.targets))

    def loss_of(self, scores: Tensor, targets: Tensor) -> Tensor:
        if self.settings.target == "number":
            wanted = targets.to(scores.dtype)
            return nn.functional.mse_loss(scores[:, 0], wanted, reduction="sum")
        if self.settings.target == "labels":
            return nn.functional.binary_cross_entropy_with_logits(
                scores, targets.to(scores.dtype), reduction="sum"
            )
        smoothing = self.settings.smoothing if self.training else 0.0
        return nn.functional.cross_entropy(
            scores, targets, self.weights, reduction="sum", label_smoothing=smoothing
        )

    def ids(self, text: str) -> list[int]:
        return _ids(self.settings, self.codec, text)

    def length(self, example: Labelled) -> int:
        return len(self.codec.spans(example.text)) + 2

    def collate(self, examples: Sequence[Labelled]) -> TextBatch:
        batch = self.batch([self.ids(example.text) for example in examples])
        return replace(batch, targets=self.targets(examples))

    def batch(self, rows: Sequence[Sequence[int]]) -> TextBatch:
        """Rows of ids, without anything to learn."""
        ids, lengths = pad(rows)
        found = () if self.grams is None else tuple(map(self.grams.numbers, rows))
        return TextBatch(ids, lengths, torch.zeros(0), found)

    def targets(self, examples: Sequence[Labelled]) -> Tensor:
        if self.settings.target == "number":
            return torch.tensor([(number(e) - self.mean) / self.spread for e in examples])
        index = {label: k for k, label in enumerate(self.labels)}
        chosen = [[self.index(index, name, e) for name in self.names(e)] for e in examples]
        if self.settings.target == "label":
            return torch.tensor([row[0] for row in chosen])
        targets = torch.zeros(len(examples), len(self.labels))
        for row, columns in zip(targets, chosen, strict=True):
            row[columns] = 1.0
        return targets

    def names(self, example: Labelled) -> list[str]:
        return labels_of(example, self.settings.target)

    def index(self, index: dict[str, int], name: str, example: Labelled) -> int:
        if name not in index:
            raise ValueError(
                f"{example.where}: the label {name!r} is not one that the model has learned: "
                f"{', '.join(self.labels)}"
            )
        return index[name]

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        """The answer for each text, in their order."""
        found: dict[int, Prediction] = {}
        encoded = [self.ids(text) for text in texts]
        with self.answering():
            for places, rows in in_order(encoded, [len(row) for row in encoded], BUDGET):
                scores = self(self.batch(rows).to(self.device)).cpu()
                found |= zip(places, map(self.answer, scores.unbind(1)), strict=True)
        return [found[k] for k in range(len(texts))]

    def answer(self, scores: Tensor) -> Prediction:
        """From the readers' scores of one text, (R, K): the mean of what they say."""
        if self.settings.target == "number":
            value = scores.double().mean().item() * self.spread + self.mean
            # As many digits as the spread of the training data makes sense of.
            digits = max(0, 4 - math.floor(math.log10(self.spread)))
            return Prediction(f"{round(value, digits):.15g}", {}, value)
        several = self.settings.target == "labels"
        each = scores.sigmoid() if several else scores.softmax(-1)
        shares = dict(zip(self.labels, each.mean(0).tolist(), strict=True))
        if several:
            return Prediction("|".join(k for k, share in shares.items() if share > 0.5), shares)
        return Prediction(max(shares, key=shares.__getitem__), shares)


def cased(settings: ClassifierSettings, text: str) -> str:
    return text.lower() if settings.lower else text


def _ids(settings: ClassifierSettings, codec: Codec, text: str) -> list[int]:
    """START and END stand around every text, so that none is empty."""
    return [START, *codec.encode(cased(settings, text)), END]


def balanced(labels: Sequence[str], examples: Sequence[Labelled], share: float) -> Tensor:
    """Weights of the classes, count^-share, such that an example weighs 1 on average."""
    counts = Counter(example.label for example in examples)
    numbers = torch.tensor([float(counts[label]) for label in labels])
    weights = numbers**-share
    return weights * (numbers.sum() / (weights * numbers).sum())


def labels_in(examples: Sequence[Labelled], target: str) -> list[str]:
    if target == "number":
        return []
    names = {name for example in examples for name in labels_of(example, target)}
    if len(names) < 2 and target == "label":
        raise ValueError(f"classes are told apart, and there is only one: {', '.join(names)}")
    if not names:
        raise ValueError("no example has a label: there is nothing to learn")
    return sorted(names)


def labels_of(example: Labelled, target: str) -> list[str]:
    if example.label is None:
        raise ValueError(f"{example.where}: there is no label")
    if target == "label":
        return [example.label]
    return [name for name in example.label.split("|") if name]


def number(example: Labelled) -> float:
    try:
        value = float(example.label or "")
        if not math.isfinite(value):
            raise ValueError
        return value
    except ValueError:
        raise ValueError(
            f"{example.where}: a number is expected, not {(example.label or '')[:40]!r}; for "
            "classes set model.target=label"
        ) from None
