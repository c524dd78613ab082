"""Translation: a text, and what it becomes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from unspool.data.batches import Bucketed, in_order
from unspool.data.builtin import PREFIX, builtin_for
from unspool.data.pairs import Pair, read_pairs
from unspool.data.split import split_groups, unique
from unspool.metrics import bleu, chrf, error_rates, perplexity
from unspool.metrics.bleu import metric_for
from unspool.models.search import Search, translate
from unspool.models.translator import Translator, TranslatorSettings, target_of
from unspool.text import UNK
from unspool.train.fit import Data
from unspool.train.settings import Training
from unspool.train.tasks.task import Config, DataSettings, Given, Task


@dataclass(frozen=True)
class TranslateData(DataSettings):
    """Where the pairs are."""

    train: Annotated[str, "A file of pairs (tsv, csv, jsonl), or builtin:dates."] = ""
    source: Annotated[str, "Instead: the sources, one a line (with --target)."] = ""
    target: Annotated[str, "The translations, one a line, where DATA has sources alone."] = ""
    dev: Annotated[str, "What to measure by; without it a tenth is held out."] = ""
    dev_target: Annotated[str, "The translations of dev, if they have a file of their own."] = ""
    format: Annotated[str, "auto, tsv, csv, jsonl or lines."] = "auto"
    columns: Annotated[str, "The columns or keys of source, target and tag."] = "source,target,tag"
    measure: Annotated[
        Literal["auto", "bleu", "chrf", "exact", "error", "perplexity"],
        "What decides which weights are the best; error: of whole targets, any right one counts; "
        "auto: bleu, or chrf where targets have few words.",
    ] = "auto"
    tokenize: Annotated[str, "sacreBLEU's tokenizer: 13a, none, intl, char, zh, ja-mecab …"] = "13a"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.too_long == "cut":
            raise ValueError("half a pair is no translation: --too-long drop leaves it out")
        if self.target and not (self.source or self.train):
            raise ValueError(f"{self.target} has translations; where are the sources? --source")
        if self.tokenize != "13a":
            metric_for(False, self.tokenize)  # refuses what sacreBLEU has not
        if self.source and self.train not in ("", self.source):
            raise ValueError(f"the sources are in {self.train}, or in {self.source}? Name one")
        if self.source:
            object.__setattr__(self, "train", self.source)
        if self.source and not self.target:
            raise ValueError(f"{self.source} has the sources; where are the translations? --target")
        if self.dev_target and not self.dev:
            raise ValueError(f"{self.dev_target} has translations; where are the sources? --dev")
        if not 2 <= len(self.columns.split(",")) <= 3:
            raise ValueError(
                f"data.columns are two or three with commas between, not {self.columns!r}"
            )


class Translate(Task):
    """Translate: a sentence, a date, a word into its sounds."""

    name = "translate"
    data, model, kind = TranslateData, TranslatorSettings, Translator

    def training(self) -> Training:
        return Training(batch=2000, lr=1e-3, warmup=200)

    def read(self, path: str, config: Config, answers: bool = True, beside: str = "") -> Any:
        if path.startswith(PREFIX):
            if beside or config.data.columns != TranslateData.columns:
                raise ValueError(f"{path} has targets and no columns: drop --target and --columns")
            return Given(builtin_for("translator", path, config.train.seed), "translate")
        data = config.data
        names = dict(zip(("source", "target", "tag"), data.columns.split(","), strict=False))
        return read_pairs(
            path,
            target_path=beside if answers else "",
            format=data.format,
            need_targets=answers,
            max_line=data.max_line,
            **names,
        )

    def held_out(self, examples: Sequence[Pair], config: Config) -> tuple[list[Pair], list[Pair]]:
        """A tenth, drawn by the seed, after repeats are removed; pairs with the same source (of
        dates: the same date) stay together."""
        dates = config.data.train.startswith(f"{PREFIX}dates")
        by = target_of if dates else source_of
        train, dev = split_groups(unique(examples), (0.9, 0.1), seed=config.train.seed, by=by)
        return train, dev

    def learn(self, config: Config, examples: Sequence[Pair]) -> Translator:
        return Translator.learn(config.model, examples)

    def adapt(self, model: Translator, examples: Sequence[Pair]) -> None:
        """The symbols stay those that the model has learned; most must be among them."""
        ids = [k for pair in examples for k in model.source.encode(pair.source)]
        share = sum(k == UNK for k in ids) / max(1, len(ids))
        if share > 0.5:
            raise ValueError(
                f"{share:.0%} of the symbols in these sources are unknown to the trained model: "
                "start a new one"
            )

    def batches(self, model: Translator, examples: Sequence[Pair], config: Config) -> Data:
        rows = [model.rows(pair) for pair in examples]
        lengths = [row.length for row in rows]
        train = config.train
        return Bucketed(rows, lengths, model.collate, tokens=train.batch, seed=train.seed)

    mends = ("--too-long drop",)

    def length(self, model: Translator, example: Pair) -> int:
        """Of the longer side."""
        return max(
            len(model.source.spans(example.source)), len(model.target.spans(target_of(example)))
        )

    def cut(self, model: Translator, example: Pair, symbols: int) -> Pair:
        """Both sides, to see what they cost; a cut pair is no translation."""
        source = model.source.beginning(example.source, symbols)
        target = model.target.beginning(target_of(example), symbols)
        return replace(example, source=source, target=target)

    def batch(self, model: Translator, examples: Sequence[Pair]) -> Any:
        return model.collate([model.rows(pair) for pair in examples])

    def measure(
        self, model: Translator, examples: Sequence[Pair], data: Any = None
    ) -> dict[str, float]:
        """By greedy search, which is quick; `evaluate` has a beam."""
        data = data or TranslateData()
        found, name = self.perplexity(model, examples), data.measure
        if name == "perplexity":
            return found
        if name == "auto":
            name = "chrf" if few_words(examples) else "bleu"
        said = self.say(model, examples, Search(width=1))
        return {name: score_text(name, examples, said, data)} | found

    def evaluate(
        self, model: Translator, examples: Sequence[Pair], data: Any, **how: Any
    ) -> tuple[dict[str, float], str]:
        """With a beam; and the signatures, without which nobody can compare."""
        search, tag = Search(width=how.pop("beam", Search.width)), how.pop("tag", None)
        if how:
            raise ValueError(f"--{min(how)} means nothing for the task {self.name}")
        examples = [replace(pair, tag=pair.tag or tag) for pair in examples]
        said = self.say(model, examples, search)
        scores, below = score_texts(examples, said, data)
        if few_words(examples):
            below += (
                "\nBLEU counts runs of 4 words, and most targets have fewer: look at the others"
            )
        return scores | self.perplexity(model, examples), below

    def say(self, model: Translator, examples: Sequence[Pair], search: Search) -> list[str]:
        """A translation for each example; a source that stands there twice is translated once."""
        asked = {(pair.source, pair.tag): pair for pair in examples}
        found = translate(model, list(asked.values()), search)
        said = dict(zip(asked, (one.text for one in found), strict=True))
        return [said[pair.source, pair.tag] for pair in examples]

    def perplexity(self, model: Translator, examples: Sequence[Pair]) -> dict[str, float]:
        rows = [model.rows(pair) for pair in examples]
        total, count = 0.0, 0
        with model.answering():
            for _, some in in_order(rows, [row.length for row in rows], model.budget):
                loss = model.loss(model.collate(some).to(model.device))
                total, count = total + loss.total.item(), count + loss.count
        return {"perplexity": perplexity(total, count)}

    def predict(self, model: Translator, examples: Sequence[Pair]) -> tuple[list[Any], list[Any]]:
        raise ValueError("a translator translates: unspool translate RUN FILE")


def score_text(
    name: str, examples: Sequence[Pair], said: Sequence[str], data: TranslateData
) -> float:
    """One score of translations."""
    targets = [target_of(pair) for pair in examples]
    if name == "bleu":
        return bleu(targets, said, tokenize=data.tokenize).score
    if name == "chrf":
        return chrf(targets, said).score
    wrong = error_rates(*by_source(examples, said)).whole
    return wrong if name == "error" else 1 - wrong


def score_texts(
    examples: Sequence[Pair], said: Sequence[str], data: TranslateData
) -> tuple[dict[str, float], str]:
    """All scores of translations, and the signatures of those that have one."""
    targets = [target_of(pair) for pair in examples]
    by_words, by_letters = bleu(targets, said, tokenize=data.tokenize), chrf(targets, said)
    rates = error_rates(*by_source(examples, said))
    scores = {
        "bleu": by_words.score,
        "chrf": by_letters.score,
        "exact": 1 - rates.whole,
        "error": rates.whole,
        "error_words": rates.words,
    }
    return scores, f"BLEU|{by_words.signature}\nchrF|{by_letters.signature}"


def by_source(examples: Sequence[Pair], said: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """The right answers of each source, any of which will do, and what was said for it."""
    right: dict[tuple[str, str | None], list[str]] = {}
    answers: dict[tuple[str, str | None], str] = {}
    for pair, text in zip(examples, said, strict=True):
        right.setdefault((pair.source, pair.tag), []).append(target_of(pair))
        answers[pair.source, pair.tag] = text
    return list(right.values()), list(answers.values())


def few_words(examples: Sequence[Pair]) -> bool:
    """Are most targets too short for BLEU, which counts runs of 4 words?"""
    return 2 * sum(len(target_of(pair).split()) < 4 for pair in examples) > len(examples)


def source_of(pair: Pair) -> str:
    return pair.source
