"""Settings of a task: its defaults with layers of settings laid over them."""

import difflib
from dataclasses import fields
from typing import Any

from unspool.train.config import from_plain, merge, to_plain
from unspool.train.settings import Training
from unspool.train.tasks import Config, Task, find_task

VERSION = 2  # of a run folder; 1 had no checksums


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


def config_plain(config: Config) -> dict[str, Any]:
    return {"version": VERSION, **to_plain(config)}
