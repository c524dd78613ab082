"""Commands that look inside a run: a page to ask, and a report to keep."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unspool.cli.app import app
from unspool.cli.use import Run
from unspool.data.files import read_text
from unspool.text.printable import message

if TYPE_CHECKING:
    from unspool.studio.desk import Desk

File = Annotated[
    str | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="Held-out text to search units in, if the run's own data is not to be used.",
    ),
]


Labels = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Labels of --file to search units for, a number a line."),
]


def open_desk(run: Path | None, file: str | None, labels: Path | None) -> "Desk":
    from unspool.inspect.properties import read_labels
    from unspool.studio.desk import Desk

    if file is not None and run is None:
        raise ValueError("--file is text for a run's model to read: name the run too")
    if labels is not None and file is None:
        raise ValueError("--labels are those of a text: name it with --file")
    text = None if file is None else read_text(file)
    return Desk(run, text=text, labels=None if labels is None else read_labels(labels).tolist())


@contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """On a terminal, a line that says what is worked on."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading the run") as status:
        yield lambda what: status.update(f"working on: {what}")


@app.command()
def report(
    run: Run,
    text: Annotated[
        list[str] | None,
        typer.Option(help="A text to show the model on; give it again for more."),
    ] = None,
    file: File = None,
    labels: Labels = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Default: RUN/report.html.")
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Also a picture of each view, for slides."),
    ] = None,
) -> None:
    """Write one file that shows what a model does: it opens anywhere, and needs no network."""
    from unspool.studio.report import write_report
    from unspool.studio.slides import slides

    desk = open_desk(run, file, labels)
    path = out or run / "report.html"
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no plain file: name one to write the report to")
    if png is not None and png.exists() and not png.is_dir():
        raise ValueError(f"--png is a folder to put pictures into, and {png} is a file")
    with working() as tell:
        written = write_report(desk, path, text or [], tell=tell)
        pictures = [] if png is None else slides(path, written.views, png, tell=tell)
    print(f"The report is {path} ({path.stat().st_size / 1e6:.1f} MB): open it in a browser.")
    for note in written.notes:
        print(message(note), file=sys.stderr)
    for picture in pictures:
        print(f"    {picture}")


@app.command()
def studio(
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="A run's folder; without it, cells.")
    ] = None,
    file: File = None,
    labels: Labels = None,
    host: Annotated[str, typer.Option(help="Where to listen; elsewhere it asks for a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int | None, typer.Option(help="Default: 8765, or any that is free.")] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="What others call this machine, with --host.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page.")] = True,
) -> None:
    """Look inside a run, or at cells, in the browser: live curves, gates, beams, gradients."""
    from unspool.studio.questions import Answers
    from unspool.studio.server import serve

    desk = open_desk(run, file, labels)
    serve(Answers(desk), host=host, port=port, names=name or (), open_browser=browser)
