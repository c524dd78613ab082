"""The translator: a text in, a text out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from unspool.data.batches import in_order
from unspool.data.pairs import Pair
from unspool.models.forcing import forced
from unspool.models.model import Loss, Model, number_in, texts_in
from unspool.models.seq2seq import Seq2Seq
from unspool.models.stack import forget, pad, with_vectors
from unspool.models.transformer import Transformer
from unspool.models.translator_settings import TranslatorSettings
from unspool.text import END, START, Codec, codec_from_json, learn_codec

SCORES = 20_000_000  # entries that the softmax may have in a batch that is only read


@dataclass(frozen=True)
class Rows:
    """A pair as numbers: the source with its tag before it and END after it, and the target."""

    source: list[int]
    target: list[int]

    @property
    def length(self) -> int:
        return max(len(self.source), len(self.target) + 1)


@dataclass(frozen=True)
class PairBatch:
    """Sources (S, B) and their lengths `read` (B,); START .. END of the targets (T, B), and how
    many symbols of each are to be said, END among them, `said` (B,); `places` (N,) numbers all
    places of (T - 1, B) where something is to be said."""

    source: Tensor
    read: Tensor
    target: Tensor
    said: Tensor
    places: Tensor

    @property
    def size(self) -> tuple[int, int]:
        return max(len(self.source), len(self.target)), self.source.shape[1]

    def to(self, device: Any) -> "PairBatch":
        parts = (self.source, self.read, self.target, self.said, self.places)
        return PairBatch(*(part.to(device, non_blocking=True) for part in parts))


class Translator(Model):
    """`Translator.learn(settings, pairs)` makes one for the data; see `unspool.models.search`.

    `longest` is the number of symbols in the longest target that it has learned from.
    """

    settings: TranslatorSettings

    def __init__(
        self,
        settings: TranslatorSettings,
        source: Codec,
        target: Codec,
        tags: Sequence[str] = (),
        longest: int = 100,
    ):
        super().__init__()
        self.settings, self.source, self.target = settings, source, target
        self.tags, self.longest = list(tags), longest
        self.net = _network(settings, len(source.vocabulary), len(target.vocabulary), len(tags))
        self.forcing = 1.0

    @classmethod
    def learn(cls, settings: TranslatorSettings, pairs: Sequence[Pair]) -> Self:
        """A model with the symbols and tags of these pairs, not yet trained."""
        sources, targets = [pair.source for pair in pairs], [target_of(pair) for pair in pairs]
        limits: dict[str, Any] = {
            "min_count": settings.min_count,
            "max_size": settings.max_symbols or None,
        }
        if settings.joint:
            source = target = learn_codec(settings.units, sources + targets, **limits)
        else:
            source = learn_codec(settings.units, sources, **limits)
            target = learn_codec(settings.target_units or settings.units, targets, **limits)
        tags = sorted({pair.tag for pair in pairs if pair.tag is not None})
        untagged = next((pair for pair in pairs if pair.tag is None), None)
        if tags and untagged is not None:
            raise ValueError(f"{untagged.where}: no tag, and other pairs have one: tag all or none")
        if tags and settings.freeze:
            raise ValueError("frozen vectors would freeze the tags' vectors too: drop model.freeze")
        settings, table = with_vectors(settings, source.vocabulary)
        longest = max(len(target.encode(text)) for text in targets)
        if settings.attention == "location":
            most = max(len(source.encode(text)) for text in sources) + 1 + bool(tags)
            if most > settings.attention_size:
                raise ValueError(
                    f"the longest source has {most} symbols, its tag and END counted: attention by "
                    f"location needs model.attention_size={most}, not {settings.attention_size}"
                )
        model = cls(settings, source, target, tags, longest)
        if table is not None:
            model.net.embed.weight.data[: len(table)] = table
        return model

    def assets(self) -> dict[str, Any]:
        found = {"tags": self.tags, "longest": self.longest}
        if self.settings.joint:
            return found | {"text": self.source.to_json()}
        return found | {"source": self.source.to_json(), "target": self.target.to_json()}

    @classmethod
    def build(cls, settings: TranslatorSettings, assets: dict[str, Any]) -> Self:
        names = ("text", "text") if settings.joint else ("source", "target")
        source, target = (codec_from_json(assets[name]) for name in names)
        longest = int(number_in(assets["longest"], "longest"))
        return cls(settings, source, target, texts_in(assets, "tags"), longest)

    def proceed(self, done: float) -> None:
        """Training has come so far: teacher forcing fades with it."""
        self.forcing = forced(self.settings.forcing, done, self.settings.forcing_end)

    def loss(self, batch: PairBatch, carried: Any = None) -> Loss:
        """Of every symbol after START, END among them; smoothed in training only."""
        forcing = self.forcing if self.training else 1.0
        scores, right = self.predicted(batch, forcing)
        smoothing = self.settings.smoothing if self.training else 0.0
        total = nn.functional.cross_entropy(
            scores, right, reduction="sum", label_smoothing=smoothing
        )
        return Loss(total, len(right))

    def predicted(self, batch: PairBatch, forcing: float = 1.0) -> tuple[Tensor, Tensor]:
        """Scores (N, V) and what is right (N,), at all places of all targets, padding left out."""
        source, inputs = batch.source, batch.target[:-1]
        if self.training and self.settings.symbol_dropout:
            share = self.settings.symbol_dropout
            source = forget(source, share, len(self.source.vocabulary))
            inputs = forget(inputs, share)
        encoded = self.net.encode(source, batch.read)
        features = self.net.features(encoded, inputs, forcing)
        said = features.flatten(0, 1).index_select(0, batch.places)
        return self.net.scores(said), batch.target[1:].flatten()[batch.places]

    def rows(self, pair: Pair) -> Rows:
        """A pair as numbers; a source without target has an empty one."""
        target = [] if pair.target is None else self.target.encode(pair.target)
        return Rows(self.source_row(pair.source, pair.tag, pair.where), target)

    def source_row(self, text: str, tag: str | None, where: str = "") -> list[int]:
        ids = self.source.encode(text)
        if self.settings.reverse:
            ids.reverse()
        start = [] if tag is None and not self.tags else [self.tag_id(tag, where)]
        if self.settings.attention == "location":
            ids = ids[: max(0, self.settings.attention_size - len(start) - 1)]
        return [*start, *ids, END]

    def tag_id(self, tag: str | None, where: str = "") -> int:
        """Tags come after the symbols of the source."""
        place = f"{where}: " if where else ""
        if not self.tags:
            raise ValueError(f"{place}this model has learned no tags, and {tag!r} was given")
        if tag not in self.tags:
            known = ", ".join(self.tags)
            what = "no tag is given" if tag is None else f"{tag!r} is not a tag that it knows"
            raise ValueError(
                f"{place}{what}; the model knows {known}: give --tag, or a column `tag`"
            )
        return len(self.source.vocabulary) + self.tags.index(tag)

    def collate(self, rows: Sequence[Rows]) -> PairBatch:
        source, read = pad([row.source for row in rows])
        target, lengths = pad([[START, *row.target, END] for row in rows])
        # here, and not where it is needed: a GPU that is asked how many there are holds us up
        inside = torch.arange(len(target) - 1)[:, None] < lengths - 1
        return PairBatch(source, read, target, lengths - 1, inside.flatten().nonzero()[:, 0])

    @property
    def budget(self) -> int:
        """Tokens in a batch that is only read."""
        return max(100, SCORES // len(self.target.vocabulary))

    def log_probs(self, pairs: Sequence[Pair]) -> list[float]:
        """log p(target | source) of each pair, END counted."""
        rows = [self.rows(pair) for pair in pairs]
        found = [0.0] * len(rows)
        with self.answering():
            for places, some in in_order(rows, [row.length for row in rows], self.budget):
                batch = self.collate(some).to(self.device)
                scores, right = self.predicted(batch)
                own = scores.log_softmax(-1).gather(1, right[:, None])[:, 0]
                table = torch.zeros(batch.target[1:].shape, dtype=own.dtype, device=self.device)
                table.view(-1)[batch.places] = own
                for place, value in zip(places, table.sum(0).tolist(), strict=True):
                    found[place] = value
        return found

    def alignment(self, pair: Pair, tokens: Sequence[int] | None = None) -> Tensor:
        """How much each symbol of the target (END too) looked at each of the source, (T, S).

        The target is that of the pair, or `tokens` as a search has said them. The source's
        symbols stand as they are read: tag, text (reversed if so), END.
        """
        rows = self.rows(pair)
        rows = rows if tokens is None else replace(rows, target=list(tokens))
        batch = self.collate([rows]).to(self.device)
        with self.answering():
            encoded = self.net.encode(batch.source, batch.read)
            return self.net.alignment(encoded, batch.target[:-1])[0]

    def symbols(
        self, pair: Pair, tokens: Sequence[int] | None = None
    ) -> tuple[list[str], list[str]]:
        """The names of the rows and columns of `alignment`: source, then target."""
        rows = self.rows(pair)
        said = rows.target if tokens is None else list(tokens)
        source = self.source.tokens(pair.source)
        if self.settings.reverse:
            source.reverse()
        tag = [] if not self.tags else [f"<{pair.tag}>"]
        source = source[: len(rows.source) - len(tag) - 1]
        return [*tag, *source, "<end>"], [*self.target.vocabulary.tokens(said), "<end>"]


def _network(settings: TranslatorSettings, source: int, target: int, tags: int) -> Any:
    if settings.architecture == "recurrent":
        return Seq2Seq(settings, source, target, tags)
    return Transformer(
        source_symbols=source + tags,
        target_symbols=target,
        size=settings.embedding,
        layers=settings.layers,
        heads=settings.heads,
        dropout=settings.dropout,
        tied=settings.tied,
    )


def target_of(pair: Pair) -> str:
    if pair.target is None:
        raise ValueError(f"{pair.where}: the translation is missing")
    return pair.target
