"""Settings: read, checked, and written so that they are read the same."""

from collections import Counter
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from unspool.train.config import assignment, config_text, from_plain, merge, read_config, to_plain
from unspool.train.runs import config_plain, make_config, sections
from unspool.train.tasks import TASKS, find_task


@dataclass(frozen=True)
class Inner:
    rate: Annotated[float, "A rate."] = 0.1
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Outer:
    count: int = 3
    on: bool = False
    name: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    inner: Inner = Inner()


def test_there_and_back(tmp_path: Path) -> None:
    made = Outer(4, True, "x: y\nz", {"proj": 2}, Inner(1e-7, "b"))
    path = tmp_path / "c.yaml"
    path.write_text(config_text(to_plain(made)))
    assert from_plain(Outer, read_config(path)) == made


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"cuont": 1}, "there is no setting cuont; did you mean count?"),
        ({"inner": {"rat": 1}}, r"there is no setting inner\.rat; did you mean inner\.rate?"),
        ({"zzz": 1}, "there is no setting zzz; there are count, on, name, sizes, inner"),
        ({"count": "many"}, "count is a whole number, not 'many'"),
        ({"count": 1.5}, r"count is a whole number, not 1\.5"),
        ({"count": True}, "count is a whole number, not True"),
        ({"on": "perhaps"}, "on is true or false, not 'perhaps'"),
        ({"name": [1]}, r"name is text, not \[1\]"),
        ({"inner": {"rate": "fast"}}, r"inner\.rate is a number, not 'fast'"),
        ({"inner": {"kind": "c"}}, r"inner\.kind is one of a, b, not 'c'"),
        ({"inner": 3}, "inner: settings are names with values, not 3"),
        ({"sizes": 3}, r"sizes is names with values, as in sizes\.proj=64, not 3"),
        ({"sizes": {"proj": "x"}}, r"sizes\.proj is a whole number"),
    ],
)
def test_mistakes_are_named(plain: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        from_plain(Outer, plain)


def test_numbers_as_yaml_gives_them() -> None:
    assert from_plain(Outer, {"inner": {"rate": "1e-3"}}).inner.rate == 1e-3
    assert from_plain(Outer, {"inner": {"rate": 2}}).inner.rate == 2.0


def test_assignments() -> None:
    assert assignment("a.b.c=3") == {"a": {"b": {"c": 3}}}
    assert assignment("a=x=y") == {"a": "x=y"}
    assert assignment("a=h' = tanh(x)") == {"a": "h' = tanh(x)"}
    for wrong in ("a", "=3", "a..b=3"):
        with pytest.raises(ValueError, match="a setting is NAME=VALUE"):
            assignment(wrong)
    below = {"a": {"b": 1, "c": 2}, "d": 3}
    assert merge(below, {"a": {"b": 9}, "e": 4}) == {"a": {"b": 9, "c": 2}, "d": 3, "e": 4}
    assert below == {"a": {"b": 1, "c": 2}, "d": 3}


@pytest.mark.parametrize("task", TASKS)
def test_no_short_name_means_two_settings(task: str) -> None:
    names = Counter(i.name for kind in sections(find_task(task)).values() for i in fields(kind))
    assert not [name for name, count in names.items() if count > 1]


@pytest.mark.parametrize("task", TASKS)
def test_the_settings_of_a_task_there_and_back(task: str, tmp_path: Path) -> None:
    made = make_config(task, {"model": {"cell": "s' = tanh(W @ x + U @ s)"}, "train": {"lr": 1e-5}})
    path = tmp_path / "c.yaml"
    path.write_text(config_text(config_plain(made)))
    assert make_config(task, read_config(path)) == made


def test_settings_of_another_kind() -> None:
    with pytest.raises(ValueError, match="no task 'clasify'; did you mean classify"):
        make_config("clasify")
    with pytest.raises(ValueError, match="for another task than tag"):
        make_config("tag", {"task": "lm"})
    with pytest.raises(ValueError, match="there is no setting modle; they begin with data"):
        make_config("tag", {"modle": {}})


def test_a_cell_in_a_file_is_kept_as_its_equations(tmp_path: Path) -> None:
    file = tmp_path / "mine.cell"
    file.write_text("s' = tanh(W @ x + U @ s)")
    made = make_config("tag", {"model": {"cell": str(file)}})
    assert made.model.cell == "s' = tanh(W @ x + U @ s)\n# cell: mine"
    with pytest.raises(ValueError, match="did you mean lstm"):
        make_config("tag", {"model": {"cell": "lstn"}})
