"""Checkpoints that no training has written: what they hold is checked before it is used.

Every one is whole, with the right checksums, as an attacker can make it. One that is refused is
put aside, and training begins from the start weights.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.hostile.attack import attack
from tests.hostile.folders import edit
from unspool.train.checkpoint import Checkpoints, read_checkpoint

Mailed = Callable[..., Path]
Change = Callable[[dict[str, Any]], None]


def put(*names: str | int, value: Any) -> Change:
    """Puts a value into a nest: `put("standing", "epoch", value="x")`."""

    def change(nest: Any) -> None:
        for name in names[:-1]:
            nest = nest[name]
        nest[names[-1]] = value

    return change


def short_states(shape: tuple[int, ...]) -> Change:
    """The optimiser's state of every parameter becomes a tensor of another shape."""

    def change(value: dict[str, Any]) -> None:
        for state in value["optimiser"]["state"].values():
            state["exp_avg"] = state["exp_avg_sq"] = torch.zeros(shape)

    return change


def drop(*names: str) -> Change:
    def change(nest: Any) -> None:
        for name in names[:-1]:
            nest = nest[name]
        del nest[names[-1]]

    return change


def first_state(name: str, value: Any) -> Change:
    return lambda nest: nest["optimiser"]["state"][0].__setitem__(name, value)


CHANGES: dict[str, Change] = {
    # shapes that make an optimiser read and write elsewhere
    "short states": short_states((1,)),
    "long states": short_states((1000, 1000)),
    "one short state": first_state("exp_avg", torch.zeros(1)),
    "a state of whole numbers": first_state("exp_avg", torch.zeros(1, dtype=torch.int64)),
    "a state without one of its tensors": lambda value: value["optimiser"]["state"][0].pop("step"),
    "a state of another name": first_state("max_exp_avg_sq", torch.zeros(1)),
    "a step that is a vector": first_state("step", torch.zeros(3)),
    "a state of no parameter": lambda value: value["optimiser"]["state"].update({999: {}}),
    "states that are a list": put("optimiser", "state", value=[]),
    "an optimiser that is text": put("optimiser", value="adamw"),
    # parts of other kinds
    "run": put("run", value=5),
    "vocab": put("run", "vocab", value=5),
    "model": put("model", value={"a": 1}),
    "no model": drop("model"),
    "best": put("best", value={"a": torch.zeros(1)}),
    "best that is text": put("best", value="x"),
    "average": put("average", value=[]),
    "mean": put("average", "mean", value=5),
    "epochs": put("average", "epochs", value=[5]),
    "machine": put("machine", value=5),
    "random": put("random", value=5),
    "random numbers": put("random", "cpu", value=torch.zeros(3)),
    # where training stands
    "standing": put("standing", value=5),
    "no standing": drop("standing", "epoch"),
    "epoch that is text": put("standing", "epoch", value="x"),
    "batch that is text": put("standing", "batch", value="x"),
    "batch below 0": put("standing", "batch", value=-3),
    "log that is text": put("standing", "logged", value="x"),
    "log below 0": put("standing", "logged", value=-5),
    "half a step": put("standing", "step", value=1.5),
    "step without an end": put("standing", "step", value=2**200),
    "carried": put("standing", "carried", value=5),
    "best score": put("standing", "best", value="x"),
    "scores": put("standing", "scores", value=5),
    "seconds": put("standing", "seconds", value="x"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_checkpoint_that_no_training_wrote(mailed: Mailed, name: str) -> None:
    run = mailed("classify")
    edit(run, **{"train.epochs": 2})
    (path,) = (run / "checkpoints").glob("step-*")
    value = read_checkpoint(path)
    path.unlink()
    CHANGES[name](value)
    Checkpoints(run / "checkpoints").write(value.get("standing", 1) and 1, value)
    outcome = attack("train", "--resume", run, inside=[run])
    assert "checkpoint" in outcome.output
    assert "damaged" in outcome.output or "does not go with this run" in outcome.output


def test_an_optimiser_keeps_its_own_settings(mailed: Mailed) -> None:
    """Those in a checkpoint are not taken: they follow from config.yaml."""
    run = mailed("classify")
    edit(run, **{"train.epochs": 2})
    (path,) = (run / "checkpoints").glob("step-*")
    value = read_checkpoint(path)
    path.unlink()
    for group in value["optimiser"]["param_groups"]:
        group |= {"betas": ("a", "b"), "eps": "x"}
    Checkpoints(run / "checkpoints").write(1, value)
    assert attack("train", "--resume", run, inside=[run]).status == 0


def test_a_name_in_the_way_of_a_damaged_one(mailed: Mailed) -> None:
    run = mailed("classify")
    (path,) = (run / "checkpoints").glob("step-*")
    path.write_bytes(path.read_bytes()[:-1])
    path.with_suffix(".damaged").mkdir()
    outcome = attack("train", "--resume", run, inside=[run])
    assert outcome.status == 0
    assert "is damaged" in outcome.output
