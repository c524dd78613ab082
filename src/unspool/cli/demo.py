"""The demo: a translator trained from nothing, and a look at how it aligns."""

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from unspool.cli.app import Json, app
from unspool.cli.look import working
from unspool.draw import alignment_text
from unspool.lab.dates import SETTINGS, TYPED, answered, learn_dates
from unspool.studio.desk import Desk
from unspool.studio.report import write_report
from unspool.train import Interrupted, reporter
from unspool.train.log import clock


@app.command()
def demo(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help="The folder to leave it in.")
    ] = None,
    epochs: Annotated[
        int, typer.Option(min=1, help="How often the data is gone through.")
    ] = SETTINGS["epochs"],
    as_json: Json = False,
) -> None:
    """Train a translator of dates from 30 languages to ISO 8601, and look inside it."""
    folder = out or free(Path("runs/dates"))
    begun = time.monotonic()
    if not as_json:
        print("Dates as 30 languages write them, to ISO 8601: a GRU encoder in both directions,")
        print("a GRU decoder, and attention, character by character.\n", flush=True)
    try:
        found = learn_dates(folder, report=reporter(quiet=as_json), epochs=epochs)
    except Interrupted as stop:
        print(f"{stop}; go on with: unspool train --resume {folder}")
        raise typer.Exit(130) from None
    taken = time.monotonic() - begun
    pairs = [answered(found.model, text) for text in TYPED]
    if as_json:
        said = {pair.source: pair.target for pair in pairs}
        shown = {"exact": found.exact, "seconds": taken, "run": str(folder), "translations": said}
        print(json.dumps(shown, ensure_ascii=False))
        return
    print(f"\nTrained in {clock(taken)}. Of {found.tested:,} dates that no training example has")
    print(f"it writes {found.exact:.1%} without a mistake. Some that you might type:\n")
    for pair in pairs:
        print(f"    {pair.target}   {pair.source}")
    pair = pairs[1]
    print("\nWhat each character looked at while it was written (the darker, the more):\n")
    weights = found.model.alignment(pair).tolist()
    for line in alignment_text(*found.model.symbols(pair), weights).splitlines():
        print(f"    {line}")
    path = folder / "report.html"
    with working() as tell:
        write_report(Desk(folder), path, TYPED[:5], tell=tell)
    command = "unspool" if shutil.which("unspool") else sys.argv[0]
    print(f"\nThe model is in {folder}. How it learned, how it aligns and what it weighed is in")
    print(f"    {path}")
    print("one file that opens in any browser. To ask the model yourself:")
    print(f"    {command} studio {folder}")
    print(f'    echo "1. Mai 2031" | {command} translate {folder} --nbest 3')


def free(wanted: Path) -> Path:
    """The folder, or its name with the next number, so that no run is lost."""
    names = (wanted.with_name(f"{wanted.name}-{k}") for k in range(2, 1_000_000))
    return wanted if not wanted.exists() else next(name for name in names if not name.exists())
