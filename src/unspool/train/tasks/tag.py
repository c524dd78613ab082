"""Sequence labelling: words, and a tag for each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from unspool.data.builtin import PREFIX, builtin_for
from unspool.data.schemes import detect, is_span_tag
from unspool.data.split import split, unique
from unspool.data.tagged import Tagged, read_tagged
from unspool.metrics import Confusion, accuracy, span_scores
from unspool.models.language_model import LanguageModel
from unspool.models.tagger import Tagger, TaggerSettings
from unspool.train.settings import Training
from unspool.train.tasks.task import Config, DataSettings, Given, Task


@dataclass(frozen=True)
class TagData(DataSettings):
    """Where the sentences are."""

    train: Annotated[str, "A file (CoNLL-U, CoNLL columns, JSONL), or builtin:grammar."] = ""
    dev: Annotated[str, "What to measure by; without it a tenth is held out."] = ""
    format: Annotated[str, "auto, conllu, conll or jsonl."] = "auto"
    column: Annotated[str, "The column of the tags: a CoNLL-U name, or a number."] = "upos"


class Tag(Task):
    """Tag every word of a sentence."""

    name = "tag"
    data, model, kind = TagData, TaggerSettings, Tagger

    def training(self) -> Training:
        return Training(batch=1000)

    def read(self, path: str, config: Config, answers: bool = True, beside: str = "") -> Any:
        if path.startswith(PREFIX):
            return Given(builtin_for("tagger", path, config.train.seed), "tag")
        data = config.data
        return read_tagged(
            path,
            format=data.format,
            column=data.column,
            need_tags=answers,
            max_line=data.max_line,
        )

    def held_out(
        self, examples: Sequence[Tagged], config: Config
    ) -> tuple[list[Tagged], list[Tagged]]:
        """A tenth of the sentences, drawn by the seed, after repeats are removed."""
        train, dev = split(unique(examples), (0.9, 0.1), seed=config.train.seed)
        return train, dev

    def learn(self, config: Config, examples: Sequence[Tagged]) -> Tagger:
        from unspool.train.runs import load

        run = config.model.context
        context = load(run) if run else None
        if context is not None and not (isinstance(context, LanguageModel) and not context.classes):
            raise ValueError(f"model.context is a language model without classes; {run} is not")
        return Tagger.learn(config.model, examples, context)

    def check(self, train: Any, dev: Any) -> None:
        if detect([e.tags for e in train.examples]) is None:
            return
        for example in dev.examples:
            for tag in example.tags:
                if not is_span_tag(tag):
                    raise ValueError(
                        f"{example.where}: the training data mark spans (B-X, I-X, O), and {tag!r} "
                        "is no such tag"
                    )

    def length(self, model: Tagger, example: Tagged) -> int:
        return len(example.words)

    def cut(self, model: Tagger, example: Tagged, symbols: int) -> Tagged:
        tags = None if example.tags is None else example.tags[:symbols]
        return replace(example, words=example.words[:symbols], tags=tags)

    def measure(
        self, model: Tagger, examples: Sequence[Tagged], data: Any = None
    ) -> dict[str, float]:
        gold, said = self.both(model, examples)
        right = accuracy(*([tag for tags in side for tag in tags] for side in (gold, said)))
        if detect([model.tags]) is None:
            return {"accuracy": right}
        found = span_scores(gold, said)
        return {
            "f1": found.f1,
            "precision": found.precision,
            "recall": found.recall,
            "accuracy": right,
        }

    def details(self, model: Tagger, examples: Sequence[Tagged]) -> str:
        gold, said = self.both(model, examples)
        if detect([model.tags]) is not None:
            return span_scores(gold, said).text()
        return Confusion.count(
            *([tag for tags in side for tag in tags] for side in (gold, said))
        ).text()

    def both(self, model: Tagger, examples: Sequence[Tagged]) -> tuple[list[Any], list[Any]]:
        said = [answer.tags for answer in model.predict([e.words for e in examples])]
        return [example.tags for example in examples], said

    def predict(self, model: Tagger, examples: Sequence[Tagged]) -> tuple[list[Any], list[Any]]:
        """Tags, and as scores each tag's probability."""
        there = {tag for example in examples[:100] for tag in example.tags or ()}
        if there and not there & set(model.tags):
            raise ValueError(
                f"{examples[0].where}: where tags would stand are {', '.join(sorted(there)[:3])}, "
                "and the model knows none of them; without tags give one word a line, and a blank "
                "line between sentences"
            )
        found = model.predict([example.words for example in examples])
        return [answer.tags for answer in found], [answer.scores for answer in found]
