"""The translator: a text in, a text out."""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Annotated, Any, Literal, Self

import torch
from torch import Tensor, nn

from unspool.cells.find import find_cell, lasting_name
from unspool.data.batches import in_order
from unspool.data.pairs import Pair
from unspool.engine.masks import chance, check_probability
from unspool.models.forcing import HALF, check_forcing, forced
from unspool.models.model import Loss, Model
from unspool.models.seq2seq import Seq2Seq
from unspool.models.stack import Stack, pad, with_vectors
from unspool.models.transformer import Transformer
from unspool.text import END, START, UNK, Codec, codec_from_json, learn_codec

SCORES = 20_000_000  # entries that the softmax may have in a batch that is only read

# Scores without a size of their own; settings that mean something to recurrent networks only.
PLAIN = ("general", "dot", "scaled_dot", "cosine")
RECURRENT = (
    "cell", "hidden", "skip", "sizes", "vectors", "freeze", "input_dropout", "recurrent_dropout",
    "weight_dropout", "zoneout", "bidirectional", "decoder_cell", "decoder_hidden",
    "decoder_layers", "attention", "attention_size", "project", "place", "feed", "forcing",
)  # fmt: skip
Score = Literal[
    "general", "additive", "dot", "scaled_dot", "reduced_rank", "cosine", "location", "none"
]
Units = Literal["characters", "words", "subwords"]


@dataclass(frozen=True)
class TranslatorSettings(Stack):
    """What a translator is made of."""

    hidden: Annotated[int, "Units in each layer and direction."] = 256
    embedding: Annotated[int, "Features of a symbol's vector; 0 is one-hot."] = 256
    architecture: Annotated[
        Literal["recurrent", "transformer"], "transformer: torch's layers, to compare with."
    ] = "recurrent"
    bidirectional: Annotated[bool, "The encoder reads backwards too."] = True
    decoder_cell: Annotated[str, "The decoder's cell, if it is another."] = ""
    decoder_hidden: Annotated[int, "Units in each of its layers; 0: as many."] = 0
    decoder_layers: Annotated[int, "Its layers; 0: as many."] = 0
    attention: Annotated[Score, "How the decoder weighs what the encoder read."] = "general"
    attention_size: Annotated[
        int, "Features inside the score (0: the decoder's); for location the longest source."
    ] = 0
    heads: Annotated[int, "Attentions side by side, each with a share of the features."] = 1
    project: Annotated[bool, "Queries, keys and values are learned projections."] = False
    place: Annotated[
        Literal["after", "inside"], "The context joins after the recurrence, or inside it."
    ] = "after"
    feed: Annotated[bool, "The cell reads the last step's features too (input feeding)."] = False
    units: Annotated[Units, "What the source is read in, and the target if it says no other."] = (
        "subwords"
    )
    target_units: Annotated[Literal["", "characters", "words", "subwords"], "The target's."] = ""
    joint: Annotated[bool, "Source and target share their symbols."] = False
    min_count: Annotated[int, "Rarer symbols are unknown ones."] = 1
    max_symbols: Annotated[int, "At most so many symbols, the most frequent; 0: all."] = 0
    reverse: Annotated[bool, "Read the source from its end (Sutskever et al. 2014)."] = False
    tied: Annotated[
        Literal["none", "output", "all"],
        "The softmax reads the target's table; all: the source has that table too.",
    ] = "none"
    smoothing: Annotated[float, "Share of the probability spread over all symbols."] = 0.1
    symbol_dropout: Annotated[float, "Symbols taken for unknown ones in training."] = 0.0
    forcing: Annotated[
        Literal["full", "linear", "exponential", "sigmoid"],
        "How the decoder is weaned from the right symbols while it trains.",
    ] = "full"
    forcing_end: Annotated[float, "How often it still gets them at the end."] = HALF

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decoder_cell:
            object.__setattr__(self, "decoder_cell", lasting_name(self.decoder_cell))
            cells = (self.cell, self.decoder_cell)
            known = {name for cell in cells for name in find_cell(cell).equations.named_sizes}
            if set(self.sizes) - known:
                raise ValueError(
                    f"no cell here declares the size {min(set(self.sizes) - known)}: "
                    f"they have {', '.join(sorted(known))}"
                )
        for name in ("smoothing", "symbol_dropout"):
            check_probability(f"model.{name}", getattr(self, name))
        check_forcing(self.forcing, self.forcing_end)
        for name in ("decoder_hidden", "decoder_layers", "attention_size"):
            if getattr(self, name) < 0:
                raise ValueError(f"model.{name} is 0 or more, not {getattr(self, name)}")
        self.check_attention()
        self.check_symbols()
        if self.architecture == "transformer":
            self.check_transformer()

    def check_attention(self) -> None:
        if self.heads < 1:
            raise ValueError(f"model.heads is at least 1, not {self.heads}")
        about = self.place == "inside" or self.feed or self.heads > 1 or self.project
        if self.attention == "none" and (about or self.attention_size):
            raise ValueError(
                "model.place, model.feed, model.heads, model.project and model.attention_size are "
                "about attention: set model.attention too"
            )
        projected = self.project or self.heads > 1
        if self.attention_size and self.attention in PLAIN and not projected:
            raise ValueError(
                f"the score {self.attention} has no size inside: drop model.attention_size, or "
                "set model.project=true"
            )
        if self.attention == "location" and not self.attention_size:
            raise ValueError(
                "attention by location needs a longest source: model.attention_size=100"
            )
        if self.place == "inside" and self.feed:
            raise ValueError(
                "with the context inside the recurrence there is no input feeding: drop model.feed"
            )

    def check_symbols(self) -> None:
        if self.tied == "all" and self.vectors:
            raise ValueError(
                "one table for everything is learned, not given: drop model.vectors, or take "
                "model.tied=output"
            )
        if self.tied != "none" and self.embedding == 0:
            raise ValueError("a one-hot table cannot be the softmax's too: drop model.tied")
        if self.tied == "all" and not self.joint:
            raise ValueError("one table for both sides needs the same symbols: model.joint=true")
        if self.joint and self.target_units not in ("", self.units):
            raise ValueError(
                f"the same symbols for {self.units} and {self.target_units} cannot be: drop "
                "model.joint, or model.target_units"
            )

    def check_transformer(self) -> None:
        defaults = {item.name: item for item in fields(self)}
        for name in RECURRENT:
            default = defaults[name].default
            default = {} if default is MISSING else default
            if getattr(self, name) != default:
                raise ValueError(f"a transformer has no recurrence: drop model.{name}")
        if not self.embedding or self.embedding % self.heads:
            raise ValueError(
                f"a transformer's size is model.embedding ({self.embedding}), a multiple of "
                f"model.heads ({self.heads})"
            )

    @property
    def features(self) -> int:
        """What the softmax reads."""
        return self.embedding if self.tied != "none" else self.decoder_hidden or self.hidden

    def decoder(self) -> Stack:
        """The decoder's own cell and layers."""
        return Stack(**{item.name: getattr(self, item.name) for item in fields(Stack)} | {
            "cell": self.decoder_cell or self.cell,
            "hidden": self.decoder_hidden or self.hidden,
            "layers": self.decoder_layers or self.layers,
            "sizes": self.sizes_for(self.decoder_cell or self.cell),
        })  # fmt: skip

    def encoder(self) -> Stack:
        """The encoder's own."""
        return replace(self, sizes=self.sizes_for(self.cell))

    def sizes_for(self, cell: str) -> dict[str, int]:
        """Where the two cells differ, each takes the sizes that it declares."""
        if not self.decoder_cell:
            return self.sizes
        named = find_cell(cell).equations.named_sizes
        return {name: size for name, size in self.sizes.items() if name in named}


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
    many symbols of each are to be said, END among them, `said` (B,)."""

    source: Tensor
    read: Tensor
    target: Tensor
    said: Tensor

    @property
    def inside(self) -> Tensor:
        """True where something is to be said, (T - 1, B)."""
        steps = torch.arange(len(self.target) - 1, device=self.target.device)
        return steps[:, None] < self.said

    @property
    def size(self) -> tuple[int, int]:
        return max(len(self.source), len(self.target)), self.source.shape[1]

    def to(self, device: Any) -> "PairBatch":
        parts = (self.source, self.read, self.target, self.said)
        return PairBatch(*(part.to(device) for part in parts))


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
        return cls(settings, source, target, assets["tags"], assets["longest"])

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
            source = self.forget(source, len(self.source.vocabulary))
            inputs = self.forget(inputs, len(self.target.vocabulary))
        encoded = self.net.encode(source, batch.read)
        features = self.net.features(encoded, inputs, forcing)
        inside = batch.inside
        return self.net.scores(features[inside]), batch.target[1:][inside]

    def forget(self, ids: Tensor, symbols: int) -> Tensor:
        """Some symbols become unknown ones; not those that begin or end a text, and no tags."""
        drop = chance(tuple(ids.shape), self.settings.symbol_dropout, ids)
        return ids.masked_fill(drop & (ids > UNK) & (ids < symbols), UNK)

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
        return PairBatch(source, read, target, lengths - 1)

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
                inside = batch.inside
                table = torch.zeros(inside.shape, dtype=own.dtype, device=self.device)
                table[inside] = own
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
