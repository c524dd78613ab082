"""The command line's frame: the application, its entry point, and what commands share."""

import io
import sys
import warnings
from typing import Annotated

import typer

import unspool
from unspool.text.printable import message

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Recurrent sequence models whose equations are the program.",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """The entry point: a user's mistake becomes one message, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")  # data is, whatever the terminal's habit
    warnings.formatwarning = lambda text, *_, **__: f"warning: {message(str(text))}\n"
    try:
        app()
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(f"error: {message(str(error))}", file=sys.stderr)
        sys.exit(1)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(unspool.__version__)
        raise typer.Exit
