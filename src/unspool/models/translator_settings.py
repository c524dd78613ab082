"""What a translator is made of: its settings, and which of them go together."""

from dataclasses import MISSING, dataclass, fields, replace
from typing import Annotated, Literal

from unspool.cells.find import find_cell, lasting_name
from unspool.engine.masks import check_probability
from unspool.models.forcing import HALF, check_forcing
from unspool.models.stack import LAYERS, Stack

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
        if self.decoder_layers > LAYERS:
            raise ValueError(f"model.decoder_layers is at most {LAYERS:,}")
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
