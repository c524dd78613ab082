"""The tagger: words in, a tag for each out.

word:       its vector, the ends of its characters' layers, and perhaps contextual vectors
sentence:   layers in both directions over the words
tags:       a softmax at each word, or a linear-chain CRF over the sentence
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import torch
from torch import Tensor, nn

from unspool.cells.find import find_cell
from unspool.data.batches import in_order
from unspool.data.tagged import Tagged
from unspool.engine.masks import check_probability
from unspool.layers import Recurrent
from unspool.layers.drop import Drop
from unspool.layers.embedding import Embedding
from unspool.models.crf import CRF, iob2_transitions
from unspool.models.language_model import LanguageModel
from unspool.models.model import Loss, Model, texts_in
from unspool.models.stack import Stack, ends, forget, full, pad, run, sizes_named, with_vectors
from unspool.text import END, START, Vocabulary

BUDGET = 10_000  # words in a batch of predictions
LONGEST = 40  # characters of a word that are read


@dataclass(frozen=True)
class TaggerSettings(Stack):
    """What a tagger is made of."""

    embedding: Annotated[int, "Features of a word's vector."] = 100
    input_dropout: Annotated[float, "Of what goes into the first layer."] = 0.3
    characters: Annotated[int, "Features of a character's vector; 0: no characters."] = 48
    character_hidden: Annotated[int, "Units in each direction over characters."] = 100
    lower: Annotated[bool, "Look words up in lower case; characters keep theirs."] = True
    min_count: Annotated[int, "Rarer words are unknown ones."] = 2
    max_words: Annotated[int, "At most so many words, the most frequent; 0: all."] = 0
    word_dropout: Annotated[float, "Words taken for unknown ones in training."] = 0.1
    bidirectional: Annotated[bool, "Read backwards too."] = True
    crf: Annotated[bool, "Score whole tag sequences (a linear-chain CRF)."] = False
    context: Annotated[
        str, "A trained language model (a run folder) whose contextual vectors are read too."
    ] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_probability("model.word_dropout", self.word_dropout)
        if self.characters < 0 or self.character_hidden < 1:
            raise ValueError(
                "model.characters is 0 (none) or more, and model.character_hidden at least 1"
            )


@dataclass(frozen=True)
class TagBatch:
    """Word ids (T, B), lengths (B,), tags (T, B); and the characters of each different word
    (C, W) with their lengths (W,), and which of those each word is (T, B)."""

    words: Tensor
    lengths: Tensor
    tags: Tensor
    characters: Tensor
    character_lengths: Tensor
    which: Tensor
    sentences: tuple[tuple[str, ...], ...]

    @property
    def size(self) -> tuple[int, int]:
        return self.words.shape[0], self.words.shape[1]

    def to(self, device: Any) -> "TagBatch":
        parts = (getattr(self, name) for name in list(self.__dataclass_fields__)[:-1])
        moved = (part.to(device, non_blocking=True) for part in parts)
        return TagBatch(*moved, sentences=self.sentences)


@dataclass(frozen=True)
class Tags:
    """A sentence's tags, and each one's probability (under a CRF: of the word by itself)."""

    tags: tuple[str, ...]
    scores: tuple[float, ...]


class Tagger(Model):
    """`Tagger.learn(settings, examples)` makes one for the data; `predict(sentences)` uses it."""

    settings: TaggerSettings

    def __init__(
        self,
        settings: TaggerSettings,
        words: Vocabulary,
        characters: Vocabulary,
        tags: Sequence[str],
        context: LanguageModel | None = None,
    ):
        super().__init__()
        self.settings, self.words, self.characters = settings, words, characters
        self.tags = list(tags)
        self.embed = settings.embed(words)
        size = self.embed.size
        self.spelling = None
        if settings.characters:
            self.spelling = _Spelling(settings, len(characters))
            size += self.spelling.output_size
        self.context = context
        if context is not None:
            context.requires_grad_(False)
            size += context.vector_size
        self.input_dropout = Drop(settings.input_dropout)
        self.dropout = Drop(settings.dropout)
        self.layers = settings.build(size, settings.bidirectional)
        self.out = nn.Linear(self.layers.output_size, len(self.tags))
        self.crf = None
        if settings.crf:
            spans = all(tag == "O" or tag[:2] in ("B-", "I-") for tag in self.tags)
            self.crf = CRF(len(self.tags), iob2_transitions(self.tags) if spans else None)

    @classmethod
    def learn(
        cls,
        settings: TaggerSettings,
        examples: Sequence[Tagged],
        context: LanguageModel | None = None,
    ) -> Self:
        """A model with the words and tags of these examples, not yet trained."""
        forms = [word for example in examples for word in example.words]
        words = Vocabulary.count(
            (word.lower() if settings.lower else word for word in forms),
            min_count=settings.min_count,
            max_size=settings.max_words or None,
        )
        characters = Vocabulary.count("".join(forms))
        tags = sorted({tag for example in examples for tag in _tags_of(example)})
        settings, table = with_vectors(settings, words)
        model = cls(settings, words, characters, tags, context)
        if table is not None:
            model.embed.weight.data.copy_(table)
        return model

    def assets(self) -> dict[str, Any]:
        found = {
            "words": self.words.to_json(),
            "characters": self.characters.to_json(),
            "tags": self.tags,
        }
        return found if self.context is None else found | {"context": self.context.described()}

    @classmethod
    def build(cls, settings: TaggerSettings, assets: dict[str, Any]) -> Self:
        words, characters = (Vocabulary.from_json(assets[k]) for k in ("words", "characters"))
        context = assets.get("context")
        context = None if context is None else LanguageModel.from_description(context)
        tags = texts_in(assets, "tags")
        if not tags:
            raise ValueError("tags has no tag in it")
        return cls(settings, words, characters, tags, context)

    def forward(self, batch: TagBatch) -> Tensor:
        """Scores of the tags, (T, B, K)."""
        words = batch.words
        if self.training and self.settings.word_dropout:
            words = forget(words, self.settings.word_dropout)
        parts = [self.embed(words)]
        if self.spelling is not None:
            spelled = self.spelling(batch.characters, batch.character_lengths)
            parts.append(nn.functional.embedding(batch.which, spelled))
        if self.context is not None:
            parts.append(self.context.vectors(batch.sentences).to(parts[0].dtype))
        xs = self.input_dropout(torch.cat(parts, -1))
        ys, _ = run(self.layers, xs, lengths=batch.lengths)
        return self.out(self.dropout(ys))

    def loss(self, batch: TagBatch, carried: Any = None) -> Loss:
        scores = full(self(batch))
        count = sum(map(len, batch.sentences))
        if self.crf is not None:
            found = self.crf.log_likelihood(scores, batch.tags, batch.lengths)
            return Loss(-found.sum(), count)
        total = nn.functional.cross_entropy(
            scores.flatten(0, 1), batch.tags.flatten(), ignore_index=-1, reduction="sum"
        )
        return Loss(total, count)

    def length(self, example: Tagged) -> int:
        return len(example.words)

    def collate(self, examples: Sequence[Tagged]) -> TagBatch:
        index = {tag: k for k, tag in enumerate(self.tags)}
        tags = [[self.index(index, tag, e) for tag in _tags_of(e)] for e in examples]
        return self.batch([example.words for example in examples], tags)

    def index(self, index: dict[str, int], tag: str, example: Tagged) -> int:
        if tag not in index:
            raise ValueError(
                f"{example.where}: the tag {tag!r} is not one that the model has learned: "
                f"{', '.join(self.tags)}"
            )
        return index[tag]

    def batch(
        self, sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[int]] | None = None
    ) -> TagBatch:
        lower = self.settings.lower
        forms = [[word.lower() if lower else word for word in words] for words in sentences]
        ids, lengths = pad([self.words.ids(words) for words in forms])
        different: dict[str, int] = {}
        which, _ = pad([[different.setdefault(w, len(different)) for w in s] for s in sentences])
        spelled = [[START, *self.characters.ids(word[:LONGEST]), END] for word in different]
        characters, character_lengths = pad(spelled or [[START, END]])
        targets, _ = pad([[] for _ in sentences] if tags is None else tags, -1)
        own = tuple(tuple(words) for words in sentences)
        return TagBatch(ids, lengths, targets, characters, character_lengths, which, own)

    def predict(self, sentences: Sequence[Sequence[str]]) -> list[Tags]:
        """The tags of each sentence, in their order."""
        found: dict[int, Tags] = {}
        lengths = [len(words) for words in sentences]
        with self.answering():
            for places, rows in in_order(sentences, lengths, BUDGET):
                batch = self.batch(rows).to(self.device)
                found |= zip(places, self.answers(full(self(batch)), batch), strict=True)
        return [found[k] for k in range(len(sentences))]

    def answers(self, scores: Tensor, batch: TagBatch) -> list[Tags]:
        shares = scores.softmax(-1).tolist()
        if self.crf is not None:
            best = self.crf.best(scores, batch.lengths)
        else:
            columns = zip(scores.argmax(-1).t().tolist(), batch.lengths.tolist(), strict=True)
            best = [row[:length] for row, length in columns]
        return [
            Tags(
                tuple(self.tags[k] for k in row),
                tuple(shares[t][b][k] for t, k in enumerate(row)),
            )
            for b, row in enumerate(best)
        ]


class _Spelling(nn.Module):
    """A word from its characters: where layers in both directions end, (W, O)."""

    def __init__(self, settings: TaggerSettings, symbols: int):
        super().__init__()
        self.embed = Embedding(symbols, settings.characters)
        self.dropout = Drop(settings.input_dropout)
        with sizes_named(settings.characters):
            self.layers = Recurrent(
                find_cell(settings.cell),
                settings.characters,
                settings.character_hidden,
                bidirectional=True,
                **dict[str, Any](settings.sizes),
            )
        self.output_size = self.layers.output_size

    def forward(self, characters: Tensor, lengths: Tensor) -> Tensor:
        ys, _ = run(self.layers, self.dropout(self.embed(characters)), lengths=lengths)
        return ends(ys, lengths, bidirectional=True)


def _tags_of(example: Tagged) -> tuple[str, ...]:
    if example.tags is None:
        raise ValueError(f"{example.where}: there are no tags")
    return example.tags
