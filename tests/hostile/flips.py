"""Flips a bit in the files of a run, one at a time: python -m tests.hostile.flips --times 20

After each flip the run is used (score or predict, report, resume). The damage must be named, or
do no harm: the command ends with an error, or says something of the file, or gives what it gives
for an undamaged run. A number that is another one in config.yaml or metrics.jsonl is an edit,
and those are allowed.
"""

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from tests.hostile import attack as harness
from tests.hostile.attack import Outcome, attack
from tests.hostile.folders import edit
from tests.studio import runs

TASKS = {
    "lm": (runs.language, "score"),
    "classify": (runs.classifier, "predict"),
    "tag": (runs.tagger, "predict"),
    "translate": (runs.translator, "translate"),
}
EDITABLE = ("config.yaml", "metrics.jsonl")


def files(run: Path) -> list[Path]:
    """The files of a run, by their place in it."""
    return sorted(path.relative_to(run) for path in run.rglob("*") if path.is_file())


def prepared(folder: Path, task: str) -> Path:
    """A trained run with an epoch left, so that it can be resumed."""
    run = TASKS[task][0](folder)
    epochs = yaml.safe_load((run / "config.yaml").read_text())["train"]["epochs"]
    edit(run, **{"train.epochs": epochs + 1})
    return run


def used(run: Path, task: str, use: str) -> tuple[Outcome, Any]:
    """What a command prints of a run, and its result: what it prints, or what it writes."""
    if use == "report":
        outcome = attack("report", run, inside=[run])
        page = run / "report.html"
        text = page.read_text() if page.exists() else ""
        return outcome, re.sub(r'"quiet":[0-9.e-]+', "", text)  # how long ago the log was written
    if use == "resume":
        outcome = attack("train", "--resume", run, inside=[run])
        weights = run / "model.safetensors"
        return outcome, weights.read_bytes() if weights.exists() else None
    outcome = attack(TASKS[task][1], run, text="def\n", inside=[run])
    return outcome, outcome.output


def flip(path: Path, draw: random.Random) -> bool:
    """Flips a bit; whether a file that may be edited now says another number."""
    data = bytearray(path.read_bytes())
    before = bytes(data)
    bit = draw.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    return path.name in EDITABLE and _values(path, before) == _values(path, data)


def _values(path: Path, data: bytes | bytearray) -> Any:
    """The values in a file of settings or a log, with 0 for every number; a new object, equal to
    no other, if the file cannot be read."""
    try:
        if path.suffix == ".yaml":
            return _blank(yaml.safe_load(bytes(data).decode()))
        return [_blank(json.loads(line)) for line in bytes(data).split(b"\n") if line]
    except (ValueError, yaml.YAMLError):
        return object()


def _blank(value: Any) -> Any:
    """The value with 0 for every number in it."""
    if isinstance(value, dict):
        return {key: _blank(item) for key, item in value.items()}
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return 0 if is_number else value


def verdict(whole: tuple[Outcome, Any], damaged: tuple[Outcome, Any], path: Path) -> str:
    """How a command took the damage: "refused", "named", "harmless" or "silent"."""
    outcome, result = damaged
    if outcome.status:
        return "refused" if "error: " in outcome.output else "silent"
    if any(name and name in outcome.output for name in (path.name, path.parent.name)):
        return "named"
    return "harmless" if (outcome.status, result) == (whole[0].status, whole[1]) else "silent"


def attempt(
    run: Path, whole: tuple[Outcome, Any], task: str, use: str, path: Path, seed: int
) -> str:
    """Flips one bit of a copy of the run and uses it; returns how the damage was taken."""
    draw = random.Random(f"{task} {use} {path} {seed}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(run, Path(folder) / "run"))
        edited = flip(copy / path, draw)
        taken = verdict(whole, used(copy, task, use), path)
    return "edited" if edited and taken == "silent" else taken


def undamaged(run: Path, task: str, use: str) -> tuple[Outcome, Any]:
    """What a copy of the run gives that nobody has touched."""
    with tempfile.TemporaryDirectory() as folder:
        return used(Path(shutil.copytree(run, Path(folder) / "run")), task, use)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="Flips for each file and use.")
    args = parser.parse_args()
    harness.SECONDS = 60.0  # kernels may have to be compiled first
    counts: Counter[str] = Counter()
    for task in TASKS:
        with tempfile.TemporaryDirectory() as folder:
            run = prepared(Path(folder), task)
            for use in ("use", "report", "resume"):
                whole = undamaged(run, task, use)
                for path in files(run):
                    for seed in range(args.times):
                        taken = attempt(run, whole, task, use, path, seed)
                        counts[taken] += 1
                        if taken == "silent":
                            print(f"silent: {task} {use} {path} {seed}", flush=True)
                print(f"{task} {use}: {dict(counts)}", flush=True)
    sys.exit(counts["silent"] > 0)


if __name__ == "__main__":
    main()
