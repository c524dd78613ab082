"""Settings from anybody: YAML that grows, sizes without an end, values of the wrong kind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.attack import refused
from tests.hostile.folders import edit

Mailed = Callable[..., Path]

ALIASES = "a: &a [x, x]\nb: &b [*a, *a]\n" + "".join(
    f"{chr(99 + k)}: &{chr(99 + k)} [*{chr(98 + k)}, *{chr(98 + k)}]\n" for k in range(20)
)
# What config.yaml holds, and what the one error says.
TEXTS = {
    "aliases": (ALIASES, "aliases are not read"),
    "lists in lists": ("[" * 5000, "nested over 20 levels deep"),
    "names in names": ("".join(f"{' ' * k}a:\n" for k in range(300)), "nested over 20 levels"),
    "an object of Python": ("!!python/object/apply:os.system [touch stolen]\n", "cannot be read"),
    "a name twice": ("version: 2\nversion: 3\n", "version stands here a second time"),
    "a list": ("- 1\n- 2\n", "settings are names with values"),
    "a number": ("7\n", "settings are names with values"),
    "nothing": ("", "has version None"),
    "bytes": ("\x00\x01\x02", "cannot be read as YAML"),
    "two documents": ("version: 2\n---\nversion: 2\n", "cannot be read as YAML"),
    "a list for a name": ("? [a, b]\n: 1\n", "cannot be read"),
    "a tab": ("version:\n\t2\n", "cannot be read as YAML"),
    "a merge": ("<<: {version: 2}\n", "no task"),
    "a date": ("version: 2026-01-01\n", "has version 2026-01-01"),
    "a number of 6,000 digits": (f"version: {'9' * 6000}\n", "config.yaml"),
    "no task": ("version: 2\n", "no task"),
    "two megabytes": ("# " + "x" * (2 << 20), "at most"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_settings_that_are_none(mailed: Mailed, name: str) -> None:
    text, said = TEXTS[name]
    run = mailed()
    (run / "config.yaml").write_text(text)
    assert said in refused("score", run, text="def", inside=[run])


# A setting of the mailed run, its value, and what the one error says.
VALUES: list[tuple[str, Any, str]] = [
    ("model.hidden", 2**52, "cannot be built"),
    ("model.hidden", 10**30, "lies below"),
    ("model.hidden", -1, "at least 1"),
    ("model.hidden", True, "a whole number"),
    ("model.hidden", [1, 2], "a whole number"),
    ("model.hidden", float("nan"), "a whole number"),
    ("model.layers", 10**12, "at most 1,000"),
    ("model.layers", 1000, "it asks for 1,000 layers"),
    ("model.embedding", 2**40, "cannot be built"),
    ("model.sizes", {"proj": 3}, "proj"),
    ("model.sizes", {str(k): k for k in range(2000)}, "size"),
    ("model.sizes", 3, "names with values"),
    ("model.cell", {"h": 1}, "a built-in name or equations"),
    ("model.cell", "h' = __import__('os').system('true')", "config.yaml"),
    ("model.units", "sentences", "one of"),
    ("model.dropout", "much", "a number"),
    ("model.dropout", 1e400, "neither infinite"),
    ("model.dropout", -0.5, "model.dropout"),
    ("model.lines", "perhaps", "true or false"),
    ("model.wings", 2, "there is no setting model.wings"),
    ("model", "lstm", "names with values"),
    ("data", 7, "names with values"),
    ("train.epochs", 10**40, "lies below"),
    ("train.device", "/dev/sda", "cpu, cuda or mps"),
    ("task", ["lm"], "task"),
    ("task", "x" * 10**5, "task"),
    ("task", "classify", "config.yaml"),
    ("version", 3, "reads 1 to 2"),
]


@pytest.mark.parametrize(("setting", "value", "said"), VALUES)
def test_values_that_are_none(mailed: Mailed, setting: str, value: Any, said: str) -> None:
    run = mailed()
    edit(run, **{setting: value})
    assert said in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize(
    ("task", "setting", "said"),
    [
        ("classify", "model.readers", "at most 100"),
        ("classify", "model.queries", "model.queries"),
        ("classify", "model.ngrams", "do not go with"),
        ("translate", "model.decoder_layers", "at most 1,000"),
        ("translate", "model.heads", "heads"),
        ("translate", "model.attention_size", "model.attention_size"),
        ("tag", "model.characters", "cannot be built"),
        ("tag", "model.character_hidden", "cannot be built"),
    ],
)
def test_numbers_without_an_end(mailed: Mailed, task: str, setting: str, said: str) -> None:
    run = mailed(task)
    edit(run, **{setting: 10**9})
    command = {"classify": "predict", "tag": "predict", "translate": "translate"}[task]
    assert said in refused(command, run, text="def\tx\n", inside=[run])


def test_readers_and_layers_together(mailed: Mailed) -> None:
    run = mailed("classify")
    edit(run, **{"model.readers": 100, "model.layers": 1000})
    assert "it asks for 100,000 layers" in refused("predict", run, text="def\n", inside=[run])
