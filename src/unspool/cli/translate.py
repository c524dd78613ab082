"""`unspool translate`: a line in, a line out."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from unspool.cli.app import Json, app
from unspool.cli.use import Format, MaxLine, Run, Source, settings, speaking
from unspool.data.files import ending
from unspool.data.pairs import ENDINGS
from unspool.draw import alignment_text
from unspool.models.search import Search, Translated, noisy_channel, translate
from unspool.models.translator import Translator
from unspool.text.printable import show
from unspool.train import load
from unspool.train.runs import load_config
from unspool.train.tasks import find_task


@app.command(name="translate")
def translate_command(
    run: Run,
    file: Source = "-",
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses kept at each step.")] = Search.width,
    nbest: Annotated[int, typer.Option(min=1, help="Translations of each line.")] = Search.nbest,
    tag: Annotated[
        str | None, typer.Option(help="The language asked for, where a line brings no tag.")
    ] = None,
    normalise: Annotated[
        str, typer.Option(help="Of scores by length: mean, gnmt or none.")
    ] = Search.normalise,
    alpha: Annotated[
        float | None, typer.Option(help=f"The exponent of gnmt, {Search.alpha} if not given.")
    ] = None,
    align: Annotated[bool, typer.Option("--align", help="Show what each symbol looked at.")] = (
        False
    ),
    language: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Rerank by a language model (with --channel)."),
    ] = None,
    channel: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A translator of the other direction.")
    ] = None,
    channel_tag: Annotated[
        str | None, typer.Option(help="The language of the sources, if that one has tags.")
    ] = None,
    direct: Annotated[float, typer.Option(help="Weight of the model's own score there.")] = 0.0,
    format: Format = "auto",
    max_line: MaxLine = None,
    as_json: Json = False,
) -> None:
    """Translate a file line by line: one line comes out for each that went in."""
    model = translating(run)
    if alpha is not None and normalise != "gnmt":
        raise ValueError(f"--alpha is for --normalise gnmt, not {normalise}: drop one of them")
    search = Search(beam, nbest, normalise, Search.alpha if alpha is None else alpha)
    if (language is None) != (channel is None):
        raise ValueError("Bayes' rule needs both: --language for p(y), --channel for p(x | y)")
    if align and model.settings.attention == "none":
        raise ValueError(f"{run} has no attention, so there is no alignment to show: drop --align")
    if channel_tag is not None and channel is None:
        raise ValueError("--channel-tag is what --channel is told: name that run too")
    if direct and language is None:
        raise ValueError("--direct is for Bayes' rule: it needs --language and --channel")
    if format == "auto" and ending(file) not in ENDINGS:
        format = "lines"  # a tab in a text makes no table of it
    config = settings(run, format, max_line=max_line)
    sources = find_task("translate").read(file, config, answers=False).examples
    with progress(len(sources)) as advance:
        wide = search if language is None else replace(search, nbest=beam)
        found = translate(model, sources, wide, tag=tag, on_done=advance)
    if language is not None and channel is not None:
        there, back = speaking(language), translating(channel)
        orders = noisy_channel(found, there, back, direct=direct, tag=channel_tag)
        found = [reranked(*both) for both in zip(found, orders, strict=True)]
    for number, one in enumerate(found, 1):
        one = replace(one, best=one.best[:nbest])
        if as_json:
            print(as_object(model, one, align))
        else:
            show(as_text(model, one, f"{number}\t" if nbest > 1 else "", align))


def as_text(model: Translator, found: Translated, number: str, align: bool) -> str:
    """The text alone, or with several the line's number and the score before each."""
    lines = [
        f"{number}{one.score:.4f}\t{one_line(one.text)}" if number else one_line(one.text)
        for one in found.best
    ]
    if align:
        said = found.best[0].tokens
        weights = model.alignment(found.source, said)
        lines.append(alignment_text(*model.symbols(found.source, said), weights))
    return "\n".join(lines)


def as_object(model: Translator, found: Translated, align: bool) -> str:
    best = []
    for one in found.best:
        shown: dict[str, Any] = {
            "text": one.text,
            "score": one.score,
            "log_prob": one.log_prob,
            "finished": one.finished,
        }
        if align:
            read, said = model.symbols(found.source, one.tokens)
            weights = model.alignment(found.source, one.tokens).tolist()
            shown["alignment"] = {"source": read, "target": said, "weights": weights}
        best.append(shown)
    whole = {"source": found.source.source, "translations": best}
    return json.dumps(whole, ensure_ascii=False)


def one_line(text: str) -> str:
    """A translation never becomes two lines."""
    return " ".join(text.splitlines()) if len(text.splitlines()) > 1 else text.rstrip("\r\n")


def reranked(found: Translated, order: Sequence[Any]) -> Translated:
    """The same translations in the order that Bayes' rule gives them."""
    return replace(found, best=[replace(one.hypothesis, score=one.score) for one in order])


def translating(run: Path) -> Translator:
    model = load(run)
    if not isinstance(model, Translator):
        raise ValueError(f"{run} holds no translator: its task is {load_config(run).task}")
    return model


@contextmanager
def progress(total: int) -> Iterator[Callable[[int], None] | None]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("translating", total=total)
        yield lambda done: bar.advance(task, done)
