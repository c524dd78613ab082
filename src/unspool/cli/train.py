"""`unspool train`: one command a task, with an option for every setting."""

import inspect
import json
import os
import sys
import typing
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Annotated, Any

import typer

from unspool.cli.app import Json, app
from unspool.data.errors import PREFIX, no_such
from unspool.train import Fitted, Interrupted, make_config, reporter, resume
from unspool.train.config import assignment, config_text, options, read_config
from unspool.train.runs import FILES, config_plain, load_config, sections, spread, train
from unspool.train.tasks import TASKS, Task

PANELS = {"data": "The data", "model": "The model", "train": "The training"}
group = typer.Typer(no_args_is_help=True, help="Train a model on a file.")
app.add_typer(group, name="train")

Resume = Annotated[
    Path | None, typer.Option("--resume", metavar="RUN", help="Go on with a run that was stopped.")
]


def option(item: Field[Any], kind: Any, about: str, default: Any, panel: str) -> Any:
    """A setting as an option of the command line; None is "not given"."""
    if typing.get_origin(kind) is typing.Literal:
        about = f"{about} One of {', '.join(filter(None, typing.get_args(kind)))}."
        kind = str
    shown = "" if default in ("", None) else f" (default: {str(default).lower()})"
    flag = "--" + item.name.replace("_", "-")
    names = [f"{flag}/--no-{flag[2:]}"] if kind is bool else [flag]
    hint = typer.Option(*names, help=about + shown, rich_help_panel=panel, show_default=False)
    return Annotated[kind | None, hint]


def signature(task: Task) -> inspect.Signature:
    """The command's own options, then one for each setting of the task."""
    given = inspect.signature(start).parameters
    found = [p for name, p in given.items() if name not in ("task", "settings")]
    training = task.training()
    for section, kind in sections(task).items():
        for item, bare, about in options(kind):
            if (section, item.name) == ("data", "train") or typing.get_origin(bare) is dict:
                continue  # the argument DATA; and --set model.sizes.proj=64
            default = None if item.default is MISSING else item.default
            default = getattr(training, item.name) if section == "train" else default
            hint = option(item, bare, about, default, PANELS[section])
            kind_of = inspect.Parameter.KEYWORD_ONLY
            found.append(inspect.Parameter(item.name, kind_of, default=None, annotation=hint))
    return inspect.Signature([p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in found])


def start(
    task: Task,
    settings: dict[str, Any],
    data: Annotated[str, typer.Argument(help="The training data.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help="The folder to leave it in.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Settings from a YAML file.")
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="A setting by its full name."),
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print every setting, and train nothing.")
    ] = False,
    from_run: Annotated[
        Path | None, typer.Option("--from", metavar="RUN", help="Start from a trained model.")
    ] = None,
    resume: Resume = None,
    as_json: Json = False,
) -> None:
    """Settings come from the defaults, then --config, then --set, then the options."""
    if resume is not None:
        given = [name for name, value in (("DATA", data), ("--out", out)) if value]
        if given or config or set or from_run or settings or print_config:
            raise ValueError("--resume goes on with the run's own settings: give nothing else")
        if load_config(resume).task != task.name:
            raise ValueError(f"{resume} is a run of another task: {load_config(resume).task}")
        go_on(resume, as_json)
        return
    layers = [read_config(config)] if config else []
    layers += [assignment(text) for text in set or ()]
    own = spread(task, settings | ({"train": data} if data else {}))
    made = make_config(task.name, *layers, own)
    if print_config:
        plain = config_plain(made)
        print(json.dumps(plain) if as_json else config_text(plain), end="" if not as_json else "\n")
        return
    check_places(task, made.data, out)
    assert out is not None
    changed = [f"model.{name}" for layer in (*layers, own) for name in layer.get("model", ())]
    if from_run is not None and changed:
        raise ValueError(
            f"--from takes the model as it was trained: drop {', '.join(sorted(changed))}"
        )
    report = reporter()
    finish(out, lambda: train(made, out, start=from_run, report=report), as_json)


def check_places(task: Task, data: Any, out: Path | None) -> None:
    """Refuses missing data and a missing or impossible place for the run, all in one message.

    Files that are not there alone are left to their reader, which knows more about them.
    """
    problems = []
    if not data.train:
        problems.append(f"which data? unspool train {task.name} DATA --out RUN")
    if out is None:
        problems.append("where to? --out RUN names the folder that the run is left in")
    elif out.exists() and not out.is_dir():
        problems.append(f"{out} is a file: a run is left in a folder, so name another with --out")
    if problems:
        paths = {getattr(data, name, "") for name in FILES} - {"", "-"}
        missing = sorted(p for p in paths if not p.startswith(PREFIX) and not os.path.exists(p))
        raise ValueError("\n".join([*(str(no_such(path)) for path in missing), *problems]))


def go_on(run: Path, as_json: bool) -> None:
    report = reporter()
    finish(run, lambda: resume(run, report=report), as_json)


def finish(out: Path, work: Any, as_json: bool) -> None:
    """Says what came of it, or how to go on after an interruption."""
    try:
        fitted: Fitted = work()
    except Interrupted as stop:
        print(f"{stop}; go on with: unspool train --resume {out}", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps({"run": str(out), "steps": fitted.standing.step, **fitted.scores}))
        return
    print(f"best epoch: {fitted.standing.best_epoch + 1}")
    for name, value in fitted.scores.items():
        print(f"{name:<24} {value:.4f}")
    print(f"the model is in {out}")


@group.callback(invoke_without_command=True)
def train_group(context: typer.Context, resume: Resume = None, as_json: Json = False) -> None:
    """Train a model on a file, or go on with a run that was stopped."""
    if resume is not None:
        if context.invoked_subcommand:
            raise ValueError("--resume needs no task: unspool train --resume RUN")
        go_on(resume, as_json)
    elif not context.invoked_subcommand:
        print(context.get_help())


def _command(task: Task) -> Any:
    own = set(inspect.signature(start).parameters)

    def command(**given: Any) -> None:
        settings = {k: v for k, v in given.items() if k not in own and v is not None}
        start(task, settings, **{k: v for k, v in given.items() if k in own})

    command.__signature__ = signature(task)  # type: ignore[attr-defined]
    command.__doc__ = f"{(task.__doc__ or '').strip()}\n\n{start.__doc__}"
    return command


for _task in TASKS.values():
    group.command(_task.name)(_command(_task))
