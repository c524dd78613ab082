"""Classification: a text, and its label, labels, or number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from unspool.data.builtin import PREFIX, builtin_for
from unspool.data.labelled import Labelled, read_labelled
from unspool.data.split import split, unique
from unspool.metrics import Confusion, accuracy, explained, macro_f1, micro_f1, root_mean_square
from unspool.models.classifier import Classifier, ClassifierSettings, labels_of, number
from unspool.train.settings import Training
from unspool.train.tasks.task import Config, DataSettings, Given, Task


@dataclass(frozen=True)
class ClassifyData(DataSettings):
    """Where the examples are."""

    train: Annotated[str, "A file, a folder with one file per class, or builtin:words."] = ""
    dev: Annotated[str, "What to measure by; without it a tenth is held out."] = ""
    format: Annotated[str, "auto, tsv, csv, jsonl, folder or lines."] = "auto"
    text: Annotated[
        str, "The column or key of the text; a number from 1 if there is no header."
    ] = "text"
    label: Annotated[
        str, "The column or key of the label; a number from 1 if there is no header."
    ] = "label"


class Classify(Task):
    """Tell texts apart: one label, several, or a number."""

    name = "classify"
    data, model, kind = ClassifyData, ClassifierSettings, Classifier

    def training(self) -> Training:
        return Training()

    def read(self, path: str, config: Config, answers: bool = True, beside: str = "") -> Any:
        if path.startswith(PREFIX):
            return Given(builtin_for("classifier", path, config.train.seed), "classify")
        data = config.data
        return read_labelled(
            path,
            format=data.format,
            text=data.text,
            label=data.label,
            need_labels=answers,
            max_line=data.max_line,
        )

    def held_out(
        self, examples: Sequence[Labelled], config: Config
    ) -> tuple[list[Labelled], list[Labelled]]:
        """A tenth of each class, drawn by the seed, after repeats are removed."""
        by = (lambda example: example.label) if config.model.target == "label" else None
        train, dev = split(unique(examples), (0.9, 0.1), seed=config.train.seed, by=by)
        return train, dev

    def learn(self, config: Config, examples: Sequence[Labelled]) -> Classifier:
        return Classifier.learn(config.model, examples)

    def length(self, model: Classifier, example: Labelled) -> int:
        return len(model.codec.spans(example.text))

    def measure(
        self, model: Classifier, examples: Sequence[Labelled], data: Any = None
    ) -> dict[str, float]:
        answers = model.predict([example.text for example in examples])
        said = [answer.label for answer in answers]
        if model.settings.target == "number":
            gold = [number(example) for example in examples]
            found = [answer.value for answer in answers if answer.value is not None]  # all of them
            return {"error": root_mean_square(gold, found), "r_squared": explained(gold, found)}
        if model.settings.target == "labels":
            sets = [set(labels_of(e, "labels")) for e in examples]
            chosen = [set(text.split("|")) - {""} for text in said]
            whole = accuracy(*(["|".join(sorted(one)) for one in side] for side in (sets, chosen)))
            return {"micro_f1": micro_f1(sets, chosen), "exact": whole}
        labels = [labels_of(e, "label")[0] for e in examples]
        return {"accuracy": accuracy(labels, said), "macro_f1": macro_f1(labels, said)}

    def details(self, model: Classifier, examples: Sequence[Labelled]) -> str:
        if model.settings.target != "label":
            return ""
        said = [answer.label for answer in model.predict([e.text for e in examples])]
        return Confusion.count([e.label or "" for e in examples], said).text()

    def predict(
        self, model: Classifier, examples: Sequence[Labelled]
    ) -> tuple[list[Any], list[Any]]:
        """Labels, and as scores each label's probability."""
        found = model.predict([example.text for example in examples])
        return [answer.label for answer in found], [answer.scores for answer in found]
