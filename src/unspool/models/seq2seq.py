"""Sequence to sequence: a recurrent encoder, a bridge, and a decoder that looks back.

What every such network has (the Transformer beside it too):

    encoded = net.encode(ids, lengths)            what was read, by sentence
    features = net.features(encoded, inputs)      (T, B, F), from START y_1 .. y_n
    scores = net.scores(features)                 (..., V)
    step = net.stepper(); step(tokens, net.begin(encoded))      for `unspool.decode`
    weights = net.alignment(encoded, inputs)      (B, T, S)
"""

from typing import Any, NamedTuple

from torch import Tensor, nn

from unspool.attention import Memory
from unspool.decode import State, Step
from unspool.layers.drop import Drop
from unspool.layers.embedding import Embedding
from unspool.models.bridge import EncoderBridge
from unspool.models.decoder import Decoder
from unspool.models.stack import run


class Encoded(NamedTuple):
    """The state that the decoder starts from, and what it attends to."""

    state: Any
    memory: Memory | None


class Seq2Seq(nn.Module):
    """`settings` are a translator's; `tags` is how many language tags follow the symbols."""

    def __init__(self, settings: Any, source_symbols: int, target_symbols: int, tags: int = 0):
        super().__init__()
        self.settings = settings
        self.embed = Embedding(source_symbols + tags, settings.embedding, frozen=settings.freeze)
        shared = settings.tied == "all"
        if shared:
            self.embed.spread(self.embed.size**-0.5)
        self.encoder = settings.encoder().build(self.embed.size, settings.bidirectional)
        size = 0 if settings.attention == "none" else self.encoder.output_size
        table = self.embed if shared else None
        self.decoder = Decoder(settings, target_symbols, size, table)
        self.bridge = EncoderBridge(self.encoder, self.decoder.layers)
        self.input_dropout = Drop(settings.input_dropout)
        self.memory_dropout = Drop(settings.dropout)
        self.gain = self.decoder.gain if shared else 1.0

    def encode(self, ids: Tensor, lengths: Tensor) -> Encoded:
        """What is read of ids (S, B)."""
        xs = self.input_dropout(self.embed(ids) * self.gain)
        ys, state = run(self.encoder, xs, lengths=lengths)
        attention = self.decoder.attention
        memory = None
        if attention is not None:
            memory = attention.remember(self.memory_dropout(ys), lengths)
        return Encoded(self.bridge(state), memory)

    def features(self, encoded: Encoded, inputs: Tensor, forcing: float = 1.0) -> Tensor:
        return self.decoder(inputs, encoded.state, encoded.memory, forcing)[0]

    def scores(self, features: Tensor) -> Tensor:
        return self.decoder.scores(features)

    def alignment(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        weights = self.decoder(inputs, encoded.state, encoded.memory)[1]
        if weights is None:
            raise ValueError("this model has no attention, so there is no alignment to show")
        return weights

    def begin(self, encoded: Encoded) -> State:
        first = encoded.state[0][0][0]
        return self.decoder.start(encoded.state, first), encoded.memory

    def stepper(self) -> Step:
        return self.decoder.stepper()
