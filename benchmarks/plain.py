"""The same models with torch.nn's layers instead of ours, as a user would write them by hand."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unspool.models.classifier import Classifier
from unspool.models.language_model import LanguageModel
from unspool.models.reader import Reader
from unspool.models.stack import Stack
from unspool.models.tagger import TagBatch, Tagger
from unspool.text import Vocabulary


def lstm(settings: Stack, inputs: int, bidirectional: bool) -> nn.LSTM:
    between = settings.dropout if settings.layers > 1 else 0.0
    return nn.LSTM(
        inputs, settings.hidden, settings.layers, bidirectional=bidirectional, dropout=between
    )


def packed(layers: nn.LSTM, xs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """All outputs (T, B, O), and the last of both directions (B, O)."""
    rows = pack_padded_sequence(xs, lengths.cpu(), enforce_sorted=False)
    ys, (h, _) = layers(rows)
    return pad_packed_sequence(ys, total_length=len(xs))[0], torch.cat((h[-2], h[-1]), -1)


class PlainTagger(Tagger):
    """Word and character embeddings, two LSTMs, a linear layer."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        hidden = self.settings.character_hidden
        self.letters = nn.Embedding(len(self.characters), self.settings.characters, padding_idx=0)
        self.spelling = nn.LSTM(self.settings.characters, hidden, bidirectional=True)
        self.embed = nn.Embedding(len(self.words), self.settings.embedding, padding_idx=0)
        self.layers = lstm(self.settings, self.settings.embedding + 2 * hidden, True)

    def forward(self, batch: TagBatch) -> Tensor:
        xs = self.input_dropout(self.letters(batch.characters))
        _, spelled = packed(self.spelling, xs, batch.character_lengths)
        xs = torch.cat((self.embed(batch.words), spelled[batch.which]), -1)
        ys, _ = packed(self.layers, self.input_dropout(xs), batch.lengths)
        return self.out(self.dropout(ys))


class PlainReader(Reader):
    """An embedding, a bidirectional LSTM, a linear layer on its last states."""

    def __init__(self, settings: Any, vocabulary: Vocabulary, outputs: int, grams: int):
        super().__init__(settings, vocabulary, outputs, grams)
        self.embed = nn.Embedding(len(vocabulary), settings.embedding, padding_idx=0)
        self.layers = lstm(settings, settings.embedding, True)

    def read(self, ids: Tensor, lengths: Tensor) -> Tensor:
        _, last = packed(self.layers, self.input_dropout(self.embed(ids)), lengths)
        return self.out(self.dropout(last))


class PlainClassifier(Classifier):
    reader = PlainReader


class PlainLanguageModel(LanguageModel):
    """An embedding, an LSTM with its state carried, a linear layer."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.embed = nn.Embedding(len(self.codec.vocabulary), self.settings.embedding)
        self.forwards = lstm(self.settings, self.settings.embedding, False)

    def read(self, ids: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        ys, state = self.forwards(self.input_dropout(self.embed(ids)), state)
        return self.out(self.dropout(ys)), state
