"""A run: from a file to a trained model in a folder, and back from the folder to the model.

config.yaml          every setting, and the format's version
vocab/*.json         symbols and labels
model.safetensors    the best weights
metrics.jsonl        what training said
data.json            what the training data was, to know it again
checkpoints/         what a killed run goes on from
"""

import difflib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from unspool.cells.find import check_lasting
from unspool.data.builtin import PREFIX
from unspool.train.checkpoint import Checkpoints, pack, unpack
from unspool.train.config import config_text, from_plain, merge, read_config, to_plain
from unspool.train.durable import write_durably
from unspool.train.fit import CHECKPOINTS, WEIGHTS, Fitted, fit
from unspool.train.log import Reporter
from unspool.train.settings import Training
from unspool.train.tasks import Config, Task, find_task

VERSION = 1
FILES = ("train", "dev", "source", "target", "dev_target")  # settings that name files
CONFIG, VOCAB, DATA = "config.yaml", "vocab", "data.json"
START = f"{CHECKPOINTS}/start.safetensors"


def make_config(task: str, *layers: dict[str, Any]) -> Config:
    """The task's defaults with settings laid over them, the last on top."""
    kind = find_task(task)
    plain: dict[str, Any] = {"train": to_plain(kind.training())}
    for layer in layers:
        plain = merge(plain, layer)
    plain.pop("version", None)
    if plain.pop("task", task) != task:
        raise ValueError(f"these settings are for another task than {task}")
    unknown = set(plain) - {"data", "model", "train"}
    if unknown:
        raise ValueError(
            f"there is no setting {min(unknown, key=str)}; they begin with data., model. or train."
        )
    return Config(
        task,
        from_plain(kind.data, plain.get("data", {}), "data"),
        from_plain(kind.model, plain.get("model", {}), "model"),
        from_plain(Training, plain["train"], "train"),
    )


def sections(task: Task) -> dict[str, type]:
    return {"data": task.data, "model": task.model, "train": Training}


def spread(task: Task, settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Settings by their short names, each in the section that has it: no name is in two."""
    found: dict[str, dict[str, Any]] = {}
    names = {i.name: part for part, kind in sections(task).items() for i in fields(kind)}
    for name, value in settings.items():
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {close[0]}?" if close else f": {', '.join(names)}"
            raise ValueError(f"the task {task.name} has no setting {name}{hint}")
        found.setdefault(names[name], {})[name] = value
    return found


def run(
    task: str,
    data: str | Path,
    *,
    out: str | Path,
    start: str | Path | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Fitted:
    """`run("classify", "names.tsv", out="runs/names", hidden=256)`: trains, by short names."""
    found = spread(find_task(task), {"train": str(data), **settings})
    return train(make_config(task, found), out, start=start, report=report)


def config_plain(config: Config) -> dict[str, Any]:
    return {"version": VERSION, **to_plain(config)}


def train(
    config: Config,
    out: str | Path,
    *,
    start: str | Path | None = None,
    report: Reporter | None = None,
) -> Fitted:
    """Trains by the settings and leaves a run folder; `start` is a run whose model goes on."""
    out, report = Path(out), report or Reporter()
    if (out / CONFIG).exists() and Checkpoints(out / CHECKPOINTS).paths():
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
    begin(model, config, {"examples": fingerprint(examples), "dev": fingerprint(dev)}, out)
    return _fit(task, config, model, (examples, dev), out, report)


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
    task = find_task(config.task)
    examples, dev = read_data(task, config, report)
    named = ", ".join(filter(None, (config.data.train, config.data.dev)))
    if read_json(out / DATA) != {"examples": fingerprint(examples), "dev": fingerprint(dev)}:
        raise ValueError(
            f"the data of {out} ({named}) are not what they were "
            "when the run began; to train the model further on other data start a new run from "
            f"this one (--from {out})"
        )
    model = on_device(build_model(out, config), config.train.device)
    model.load_state_dict(unpack((out / START).read_bytes(), out / START))
    return _fit(task, config, model, (examples, dev), out, report, resume=True)


def _fit(
    task: Task,
    config: Config,
    model: Any,
    data: tuple[list[Any], list[Any]],
    out: Path,
    report: Reporter,
    resume: bool = False,
) -> Fitted:
    examples, dev = data
    batches = task.batches(model, examples, config)
    beside = task.baseline(model, dev)

    def measure() -> dict[str, float]:
        return task.measure(model, dev, config.data) | beside

    return fit(model, batches, config.train, dev=measure, out=out, resume=resume, report=report)


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
        raise ValueError(f"{config.data.train}: too little to hold a tenth out: give dev data")
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


def begin(model: Any, config: Config, data: dict[str, str], out: Path) -> None:
    """Everything that a run has before its first step. config.yaml comes last: with it the
    folder is a run that can be resumed."""
    (out / VOCAB).mkdir(parents=True, exist_ok=True)
    (out / START).parent.mkdir(exist_ok=True)
    for name, asset in model.assets().items():
        text = json.dumps(asset, ensure_ascii=False, indent=0)
        write_durably(out / VOCAB / f"{name}.json", text.encode("utf-8", "surrogatepass"))
    for name, extra in model.extras().items():
        write_durably(out / VOCAB / f"{name}.safetensors", pack(extra))
    write_durably(out / DATA, json.dumps(data).encode())
    write_durably(out / START, pack(model.state_dict()))
    write_durably(out / CONFIG, config_text(config_plain(config)).encode())


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8", "surrogatepass"))
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def load_config(out: Path) -> Config:
    if not (out / CONFIG).is_file():
        raise ValueError(f"{out} is not a run: it has no {CONFIG}")
    plain = read_config(out / CONFIG)
    if plain.get("version") != VERSION:
        raise ValueError(
            f"{out / CONFIG} has version {plain.get('version')}; this unspool reads {VERSION}"
        )
    model = plain.get("model", {})
    if not isinstance(model, dict):
        raise ValueError(f"{out / CONFIG}: model is names with values, not {model!r}")
    check_lasting(model.get("cell", ""))
    if model.get("decoder_cell"):
        check_lasting(model["decoder_cell"])
    return make_config(str(plain.get("task")), plain)


def build_model(out: Path, config: Config) -> Any:
    """The run's model with weights as at the start."""
    assets = {path.stem: read_json(path) for path in sorted((out / VOCAB).glob("*.json"))}
    try:
        model: Any = find_task(config.task).kind.build(config.model, assets)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{out / VOCAB} is damaged, or not that of {CONFIG}: {error}") from None
    extras = sorted((out / VOCAB).glob("*.safetensors"))
    model.take_extras({path.stem: unpack(path.read_bytes(), path) for path in extras})
    return model


def load(run: str | Path) -> Any:
    """The trained model of a run folder, with its best weights, ready to use."""
    run = Path(run)
    model = build_model(run, load_config(run))
    path = run / WEIGHTS
    if not path.is_file():
        raise ValueError(f"{run} has no trained weights yet: its first epoch has not ended")
    try:
        model.load_state_dict(unpack(path.read_bytes(), path))
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit {run / CONFIG}: {error}") from None
    return model.eval()
