"""Commands that use a trained model: evaluate, predict, generate, score."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from unspool.cli.app import Json, app
from unspool.data.files import read_text
from unspool.metrics import bits_per_character, perplexity
from unspool.models.language_model import LanguageModel
from unspool.models.speak import Score, Wish, generate, parts, score
from unspool.text.printable import show
from unspool.train import load
from unspool.train.runs import load_config
from unspool.train.tasks import Config, find_task

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained model.")]
Source = Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for standard input.")]


Format = Annotated[str, typer.Option(help="Of the file, if its name does not tell.")]
Name = Annotated[str | None, typer.Option(help="As in training, if it differs.")]
MaxLine = Annotated[
    int | None, typer.Option(min=0, help="Characters of the longest line that is read; 0: any.")
]


def settings(run: Path, format: str, **columns: Any) -> Config:
    """The run's, but for how this file is to be read."""
    config = load_config(run)
    given = {name: value for name, value in columns.items() if value is not None}
    known = {item.name for item in fields(config.data)}
    for name in given:
        if name not in known:
            name = name.replace("_", "-")
            raise ValueError(f"--{name} means nothing for the task {config.task}")
    return replace(config, data=replace(config.data, format=format, **given))


@app.command()
def evaluate(
    run: Run,
    file: Source,
    format: Format = "auto",
    text: Name = None,
    label: Name = None,
    column: Name = None,
    columns: Name = None,
    max_line: MaxLine = None,
    target: Annotated[
        str | None, typer.Option(help="Of a translator: the right answers, one a line.")
    ] = None,
    tokenize: Annotated[str | None, typer.Option(help="sacreBLEU's tokenizer.")] = None,
    tag: Annotated[
        str | None, typer.Option(help="Of a translator: for examples that bring no tag.")
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Of a translator; 1 is greedy.")] = None,
    as_json: Json = False,
) -> None:
    """Measure a model on a file with the right answers."""
    named = {"text": text, "label": label, "column": column, "columns": columns}
    config = settings(run, format, **named, target=target, tokenize=tokenize, max_line=max_line)
    model = load(run)
    task = find_task(config.task)
    examples = task.read(file, config, beside=target or "").examples
    how = {k: v for k, v in (("beam", beam), ("tag", tag)) if v is not None}
    scores, details = task.evaluate(model, examples, config.data, **how)
    if as_json:
        print(json.dumps(scores | ({"details": details} if details else {})))
        return
    for name, value in scores.items():
        print(f"{name:<24} {value:.4f}")
    if details:
        show(f"\n{details}")


@app.command()
def predict(
    run: Run,
    file: Source = "-",
    scores: Annotated[bool, typer.Option("--scores", help="With probabilities.")] = False,
    format: Format = "auto",
    text: Name = None,
    label: Name = None,
    column: Name = None,
    max_line: MaxLine = None,
    as_json: Json = False,
) -> None:
    """Label a file: the same format comes out, with the model's answers in it."""
    config = settings(run, format, text=text, label=label, column=column, max_line=max_line)
    model, task = load(run), find_task(config.task)
    if scores and getattr(config.model, "target", "") == "number":
        raise ValueError("a number has no probabilities: drop --scores")
    source = task.read(file, config, answers=False)
    answers, shares = task.predict(model, source.examples)
    if as_json:
        for example, answer, share in zip(source.examples, answers, shares, strict=True):
            given = {k: v for k, v in asdict(example).items() if k in ("text", "words")}
            found = {"label" if isinstance(answer, str) else "tags": answer}
            print(json.dumps(given | found | ({"scores": share} if scores else {})))
        return
    if not hasattr(source, "fill"):
        raise ValueError("built-in data has no file to fill in: add --json")
    for line in source.fill(answers, [_shown(share) for share in shares] if scores else None):
        show(line)


def _shown(scores: Any) -> Any:
    """Probabilities as text: of one label the highest first, of tags one each."""
    if isinstance(scores, dict):
        best = sorted(scores.items(), key=lambda pair: -pair[1])
        return " ".join(f"{name}={share:.4f}" for name, share in best[:5])
    return [f"{share:.4f}" for share in scores]


@app.command(name="generate")
def generate_command(
    run: Run,
    prompt: Annotated[str, typer.Option(help="What the text begins with.")] = "",
    count: Annotated[int, typer.Option(min=1, help="How many texts.")] = 1,
    length: Annotated[int, typer.Option(min=0, help="At most so many symbols each.")] = 200,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest; 1 draws.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Draw from the k likeliest.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw from the likeliest share.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another number, another text.")] = 0,
    kind: Annotated[str | None, typer.Option("--class", help="For a model of classes.")] = None,
    as_json: Json = False,
) -> None:
    """Let a language model write."""
    wish = Wish(prompt, count, length, temperature, top_k, top_p, seed, kind)
    texts = generate(speaking(run), wish)
    if as_json:
        print(json.dumps(texts, ensure_ascii=False))
        return
    for text in texts:
        show(text)


@app.command(name="score")
def score_command(
    run: Run,
    file: Source = "-",
    kind: Annotated[str | None, typer.Option("--class", help="For a model of classes.")] = None,
    as_json: Json = False,
) -> None:
    """Log-probability and rank of every symbol of a text, and its perplexity."""
    model, text = speaking(run), read_text(file)
    if as_json:
        found = list(_scored(model, text, kind))
        print(json.dumps(_summary(found, text) | {"tokens": [asdict(one) for one in found]}))
        return
    found = []
    print(f"{'log p':>9} {'rank':>6}  symbol")
    for one in _scored(model, text, kind):
        found.append(one)
        print(f"{one.log_prob:>9.4f} {one.rank:>6}  {json.dumps(one.token, ensure_ascii=False)}")
    for name, value in _summary(found, text).items():
        print(f"{name:<24} {value:.4f}" if isinstance(value, float) else f"{name:<24} {value}")


def _scored(model: LanguageModel, text: str, kind: str | None) -> Iterator[Score]:
    for _, part in parts(model, text):
        yield from score(model, part, kind)


def _summary(found: Sequence[Score], text: str) -> dict[str, Any]:
    if not found:
        raise ValueError("there is nothing to score: the text is empty")
    nats = -math.fsum(one.log_prob for one in found)
    within = Counter(min(k for k in (1, 10, 100, 10**9) if one.rank <= k) for one in found)
    return {
        "log_probability": -nats,
        "perplexity": perplexity(nats, len(found)),
        "bits_per_character": bits_per_character(nats, max(1, len(text))),
        "symbols": len(found),
        "likeliest": within[1],
        "within_10": within[1] + within[10],
        "within_100": within[1] + within[10] + within[100],
    }


def speaking(run: Path) -> LanguageModel:
    model = load(run)
    if not isinstance(model, LanguageModel):
        raise ValueError(f"{run} holds no language model: its task is {load_config(run).task}")
    return model
