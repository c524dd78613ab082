"""A run: from a file to a trained model in a folder, and on from where it was stopped."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from unspool.cells.find import find_cell, lasting_name, warn_of_slips
from unspool.data.builtin import PREFIX
from unspool.train.checkpoint import Checkpoints, DamagedFile, read_packed
from unspool.train.fit import CHECKPOINTS, WEIGHTS, Fitted, fit
from unspool.train.lengths import check_memory, limited
from unspool.train.lock import locked
from unspool.train.log import Reporter
from unspool.train.plain_file import is_plain
from unspool.train.resolve import config_plain, make_config, sections, spread
from unspool.train.run_folder import (
    CONFIG,
    DATA,
    START,
    begin,
    build_model,
    checksums,
    load,
    load_config,
    read_assets,
    read_extras,
    read_value,
    take_extras,
    take_weights,
    to_json,
)
from unspool.train.tasks import Config, Task, find_task

KEPT_VOCABULARY = 16 << 20  # bytes of vocabularies that every checkpoint has too
FILES = ("train", "dev", "source", "target", "dev_target")  # settings that name files
__all__ = [
    "CONFIG", "config_plain", "load", "load_config", "make_config", "read_data", "resume", "run",
    "sections", "spread", "train",
]  # fmt: skip

CELLS = ("cell", "decoder_cell")


def run(
    task: str,
    data: str | Path,
    *,
    out: str | Path,
    start: str | Path | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Fitted:
    """`run("classify", "names.tsv", out="runs/names", hidden=256)`: trains, by short names.

    `cell` and `decoder_cell` may be cell types, whose equations and name go into the run folder.
    """
    settings |= {name: lasting_name(settings[name]) for name in CELLS if settings.get(name)}
    found = spread(find_task(task), {"train": str(data), **settings})
    return train(make_config(task, found), out, start=start, report=report)


def train(
    config: Config,
    out: str | Path,
    *,
    start: str | Path | None = None,
    report: Reporter | None = None,
) -> Fitted:
    """Trains by the settings and leaves a run folder; `start` is a run whose model goes on."""
    out, report = Path(out), report or Reporter()
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: a run is left in a folder, so name another")
    if start is None:
        cells = (getattr(config.model, name, "") for name in CELLS)
        warn_of_slips(find_cell(which) for which in dict.fromkeys(cells) if which)
    new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        with locked(out, report.say):
            return _train(config, out, start, report)
    finally:
        if new and not any(out.iterdir()):  # it ended before there was anything to keep
            out.rmdir()


def _train(config: Config, out: Path, start: str | Path | None, report: Reporter) -> Fitted:
    trained = Checkpoints(out / CHECKPOINTS).paths() or os.path.lexists(out / WEIGHTS)
    if is_plain(out / CONFIG) and trained:
        raise ValueError(f"{out} holds a run already: resume it, or choose another folder")
    task = find_task(config.task)
    torch.manual_seed(config.train.seed)
    if start is None:
        examples, dev = read_data(task, config, report)
        model = task.learn(config, examples)
    else:
        model = load(start)
        if not isinstance(model, task.kind):
            raise ValueError(f"{start} holds no model for the task {config.task}")
        config = replace(config, model=model.settings)
        examples, dev = read_data(task, config, report)
        task.adapt(model, examples)
        for _ in task.batches(model, examples, config).epoch(0):
            pass  # a label that the model does not know is found now, not in the middle
    model = on_device(model, config.train.device)
    config = replace(config, model=model.settings, data=lasting(config.data))
    data = {"examples": fingerprint(examples), "dev": fingerprint(dev)}
    examples, dev = within_limits(task, config, model, (examples, dev), report)
    begin(model, config, data, dev, out)
    return _fit(task, config, model, (examples, dev), data, out, report)


def within_limits(
    task: Task, config: Config, model: Any, data: tuple[list[Any], list[Any]], report: Reporter
) -> tuple[list[Any], list[Any]]:
    """The examples without those that are too long; those that are left must fit in memory."""
    examples, dev = (
        limited(task, model, some, config, report, what)
        for some, what in zip(data, ("train on", "measure by"), strict=True)
    )
    check_memory(task, model, examples, dev, config, report)
    return examples, dev


def lasting(data: Any) -> Any:
    """The same files named from anywhere: a run is resumed in other folders too."""
    paths = {name: getattr(data, name, "") for name in FILES}
    files = {k: v for k, v in paths.items() if v and v != "-" and not v.startswith(PREFIX)}
    return replace(data, **{name: str(Path(path).absolute()) for name, path in files.items()})


def resume(out: str | Path, *, report: Reporter | None = None) -> Fitted:
    """Goes on with a run that was stopped, to the same end."""
    out, report = Path(out), report or Reporter()
    config = load_config(out)
    if "-" in (getattr(config.data, name, "") for name in FILES):
        raise ValueError(f"{out} read its data from standard input, and that is gone: use a file")
    check_data_files(config.data, out)
    with locked(out, report.say):
        return _resume(config, out, report)


def _resume(config: Config, out: Path, report: Reporter) -> Fitted:
    """What never changes is read from its files, or, where those are damaged, from a checkpoint;
    the weights of the start are needed only where there is no checkpoint."""
    checkpoint, problems = Checkpoints(out / CHECKPOINTS).read()
    for problem in problems:
        report.say(f"{problem}; trying the one before it")
    kept = checkpoint.get("run", {}) if checkpoint else {}
    data = _intact(lambda: read_value(out, DATA, checksums(out)), kept.get("data"), report)
    assets = _intact(lambda: read_assets(out), kept.get("vocab"), report)
    task = find_task(config.task)
    examples, dev = read_data(task, config, report)
    named = ", ".join(filter(None, (config.data.train, config.data.dev)))
    now = {"examples": fingerprint(examples), "dev": fingerprint(dev)}
    if data != now:
        raise ValueError(
            f"the data of {out} ({named}) are not what they were "
            "when the run began; to train the model further on other data start a new run from "
            f"this one (--from {out})"
        )
    if checkpoint is None:
        path, weights = out / START, read_packed(out / START)
    else:
        path, weights = out / CHECKPOINTS, checkpoint.get("model")
    if not isinstance(weights, dict):
        raise DamagedFile(f"{path} is damaged: it holds no weights")
    shapes = {name: tuple(value.shape) for name, value in weights.items()}
    model = build_model(out, config, assets, shapes)
    try:
        take_extras(model, read_extras(out), out)
    except DamagedFile as error:
        report.say(f"{error}; it is counted anew from the training data")
        task.adapt(model, examples)
    take_weights(model, weights, path)
    model = on_device(model, config.train.device)
    examples, dev = within_limits(task, config, model, (examples, dev), report)
    return _fit(task, config, model, (examples, dev), now, out, report, resume=checkpoint or {})


def _intact(read: Callable[[], Any], kept: Any, report: Reporter) -> Any:
    """What a file has; where it is damaged, what a checkpoint has kept of it."""
    try:
        return read()
    except (DamagedFile, OSError) as error:
        if kept is None:
            raise
        report.say(f"{error}; the checkpoint has it too")
        return kept


def check_data_files(data: Any, out: Path) -> None:
    """Refuses settings that name something else than plain files or folders: a run may come from
    somebody else, and a device has no end."""
    for name in FILES:
        path = getattr(data, name, "")
        named = path and not path.startswith(PREFIX) and os.path.exists(path)
        if named and not (os.path.isfile(path) or os.path.isdir(path)):
            raise ValueError(f"data.{name} of {out} is {path}, which is no plain file")


def _fit(
    task: Task,
    config: Config,
    model: Any,
    examples: tuple[list[Any], list[Any]],
    data: dict[str, str],
    out: Path,
    report: Reporter,
    resume: dict[str, Any] | bool = False,
) -> Fitted:
    train_on, dev = examples
    batches = task.batches(model, train_on, config)
    beside = task.baseline(model, dev)
    assets = model.assets()
    small = len(to_json(assets)) <= KEPT_VOCABULARY
    keep = {"data": data} | ({"vocab": assets} if small else {})

    def measure() -> dict[str, float]:
        return task.measure(model, dev, config.data) | beside

    settings = config.train
    return fit(
        model, batches, settings, dev=measure, out=out, resume=resume, report=report, keep=keep
    )


def on_device(model: Any, device: str) -> Any:
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        raise ValueError(f"train.device={device} is not there: {first}") from None


def read_data(task: Task, config: Config, report: Reporter) -> tuple[list[Any], list[Any]]:
    """The examples to train on and those to measure by; says what it found."""
    if not config.data.train:
        raise ValueError("no training data is named: give a file")
    file = task.read(config.data.train, config, beside=getattr(config.data, "target", ""))
    scheme = getattr(file, "scheme", None)
    if scheme is not None:
        report.say(f"{config.data.train}: the tags are {scheme}; the model learns IOB2")
    if config.data.dev:
        beside = getattr(config.data, "dev_target", "")
        dev_file = task.read(config.data.dev, config, beside=beside)
        task.check(file, dev_file)
        return file.examples, dev_file.examples
    train, dev = task.held_out(file.examples, config)
    if not train or not dev:
        count = len(train) + len(dev)
        raise ValueError(
            f"{config.data.train}: {count:,} different example{'s are' if count != 1 else ' is'} "
            "too little to hold a tenth out: add examples, or give some to measure by with --dev"
        )
    repeats = len(file.examples) - len(train) - len(dev)
    note = f" ({repeats:,} repeats left out)" if repeats > 0 else ""
    if len(file.examples) > 1:
        report.say(f"{len(train):,} examples to train on, {len(dev):,} held out{note}")
    else:
        report.say("the last tenth of the text is held out")
    return train, dev


def fingerprint(examples: Sequence[Any]) -> str:
    """Of what the examples say, not of where they stand: a file may be moved."""
    found = hashlib.sha256()
    for example in examples:
        parts = [value for name, value in vars(example).items() if name != "where"]
        found.update(repr(parts).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
