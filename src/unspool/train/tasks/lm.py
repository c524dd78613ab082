"""Language modelling: a text as one stream, or line by line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch

from unspool.data.batches import in_order
from unspool.data.builtin import PREFIX, builtin
from unspool.data.files import DataError, place, read_text
from unspool.data.labelled import Labelled, read_labelled
from unspool.data.split import split, unique
from unspool.data.streams import Streams
from unspool.data.tagged import Tagged
from unspool.metrics import bits_per_character, perplexity
from unspool.models.language_model import LanguageModel, LanguageModelSettings
from unspool.models.ngram import KneserNey
from unspool.text import END, START
from unspool.train.fit import Data
from unspool.train.settings import Training
from unspool.train.tasks.task import Config, DataSettings, Given, Task

ORDERS = {"characters": 6, "subwords": 4, "words": 3}
ROWS, STEPS, BUDGET = 16, 200, 10_000  # of batches when measuring
SHORTEST = 20  # characters of a text: a tenth of it is held out
ENOUGH = 2_000  # symbols in a row, so that its cold start is nothing beside it


@dataclass(frozen=True)
class LanguageModelData(DataSettings):
    """Where the text is."""

    train: Annotated[str, "A text file (lines or labelled lines too), or builtin:python."] = ""
    dev: Annotated[str, "What to measure by; without it the last tenth is held out."] = ""
    format: Annotated[str, "For lines: auto, tsv, csv, jsonl, folder or lines."] = "auto"
    text: Annotated[str, "The column or key of the text, for lines."] = "text"
    label: Annotated[str, "The column or key of the class, for lines with classes."] = "label"
    steps: Annotated[int, "Steps of a stream that gradients go back through."] = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps < 1:
            raise ValueError(f"data.steps is at least 1, not {self.steps}")


class Language(Task):
    """Model a language: characters, words or subwords."""

    name = "lm"
    data, model, kind = LanguageModelData, LanguageModelSettings, LanguageModel

    def training(self) -> Training:
        return Training(batch=4096)

    def read(self, path: str, config: Config, answers: bool = True, beside: str = "") -> Any:
        settings, data = config.model, config.data
        if path.startswith(PREFIX):
            return Given(_as_texts(builtin(path, config.train.seed), path, settings.lines), "lm")
        if not settings.lines:
            if (data.format, data.text, data.label) != ("auto", "text", "label"):
                raise ValueError("a format and columns are for lines: set model.lines=true too")
            if data.max_length:
                raise ValueError("--max-length is for lines: set model.lines=true too")
            text = read_text(path)
            if not text.strip():
                raise DataError(f"{place(path)} is empty: there is no text to learn from")
            return Given([Labelled(text, None, place(path))], "text")
        return read_labelled(
            path,
            format=data.format,
            text=data.text,
            label=data.label,
            need_labels=answers and settings.classes,
            max_line=data.max_line,
        )

    def held_out(
        self, examples: Sequence[Labelled], config: Config
    ) -> tuple[list[Labelled], list[Labelled]]:
        """The last tenth of a stream; of lines a tenth drawn by the seed, without repeats."""
        if config.model.lines:
            train, dev = split(unique(examples), (0.9, 0.1), seed=config.train.seed)
            return train, dev
        (whole,) = examples
        if len(whole.text) < SHORTEST:
            count = f"{len(whole.text)} character{'s' * (len(whole.text) != 1)}"
            raise DataError(
                f"{whole.where}: a text of {count} is too short: at least {SHORTEST} are needed to "
                "learn from and to hold a tenth out"
            )
        cut = int(0.9 * len(whole.text))
        parts = (whole.text[:cut], whole.text[cut:])
        train, dev = ([Labelled(part, None, whole.where)] for part in parts)
        return train, dev

    def learn(self, config: Config, examples: Sequence[Labelled]) -> LanguageModel:
        model = LanguageModel.learn(config.model, examples)
        self.adapt(model, examples)
        return model

    def adapt(self, model: LanguageModel, examples: Sequence[Labelled]) -> None:
        """Counts the n-grams of the text that the model learns from."""
        order, size = ORDERS[model.settings.units], len(model.codec.vocabulary)
        model.ngram = KneserNey.learn(sequences(model, examples), order, size)

    def batches(self, model: LanguageModel, examples: Sequence[Labelled], config: Config) -> Data:
        train = config.train
        if model.settings.lines:
            return super().batches(model, examples, config)
        rows = max(1, train.batch // config.data.steps)
        return Streams(stream(model, examples), rows=rows, steps=config.data.steps, seed=train.seed)

    @torch.no_grad()
    def measure(
        self, model: LanguageModel, examples: Sequence[Labelled], data: Any = None
    ) -> dict[str, float]:
        model.eval()
        if model.settings.lines:
            return self.measure_lines(model, examples)
        total, count, state = 0.0, 0, None
        ids = stream(model, examples)
        rows = min(ROWS, 1 + len(ids) // ENOUGH)
        for piece in Streams(ids, rows=rows, steps=STEPS, shift=False).epoch(0):
            loss = model.loss(piece.to(model.device), state)
            total, count, state = total + loss.total.item(), count + loss.count, loss.carried
        characters = sum(len(example.text) for example in examples)
        return _scores(total, count, characters)

    def length(self, model: LanguageModel, example: Labelled) -> int:
        """Of a line; a stream is read in pieces, whatever its length."""
        return len(model.codec.spans(example.text)) if model.settings.lines else 0

    def measure_lines(self, model: LanguageModel, examples: Sequence[Labelled]) -> dict[str, float]:
        totals, counts = [0.0, 0.0], [0, 0]
        lengths = [model.length(example) for example in examples]
        for _, some in in_order(examples, lengths, BUDGET):
            batch = model.collate(some).to(model.device)
            for way, loss in enumerate(model.losses(batch)):
                totals[way] += loss.total.item()
                counts[way] += loss.count
        characters = sum(len(example.text) + 1 for example in examples)
        found = _scores(totals[0], counts[0], characters)
        if model.backwards is not None:
            found["perplexity_backwards"] = perplexity(totals[1], counts[1])
        return found

    def baseline(self, model: LanguageModel, examples: Sequence[Labelled]) -> dict[str, float]:
        """The perplexity of counting n-grams in the same training text."""
        if model.ngram is None:
            return {}
        found = [p for row in sequences(model, examples) for p in model.ngram.log_probs(row)]
        return {f"perplexity_of_{model.ngram.order}-grams": perplexity(-sum(found), len(found))}

    def predict(self, model: Any, examples: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise ValueError(
            "a language model continues texts (unspool generate) and scores them (unspool score); "
            "it has no labels to predict"
        )


def stream(model: LanguageModel, examples: Sequence[Labelled]) -> torch.Tensor:
    """START and the whole text."""
    return torch.tensor([START, *(k for e in examples for k in model.codec.encode(e.text))])


def sequences(model: LanguageModel, examples: Sequence[Labelled]) -> list[list[int]]:
    """What the n-grams count: the same symbols, END after each line."""
    rows = [model.codec.encode(example.text) for example in examples]
    return [[*row, END] for row in rows] if model.settings.lines else rows


def _scores(nats: float, tokens: int, characters: int) -> dict[str, float]:
    return {
        "nats": nats / max(tokens, 1),
        "perplexity": perplexity(nats, tokens),
        "bits_per_character": bits_per_character(nats, characters),
    }


def _as_texts(found: Any, path: str, lines: bool) -> list[Labelled]:
    """Built-in data of any task read as text."""
    if isinstance(found, str):
        rows = [line for line in found.split("\n") if line] if lines else [found]
        return [Labelled(row, None, path) for row in rows]
    texts = [
        Labelled(" ".join(e.words), None, e.where) if isinstance(e, Tagged) else e for e in found
    ]
    return texts if lines else [Labelled("\n".join(e.text for e in texts), None, path)]
