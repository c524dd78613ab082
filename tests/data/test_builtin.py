"""Built-in data by name, and that it is the same wherever it is drawn."""

import os
import subprocess
import sys
from datetime import date

import pytest

from unspool.data.builtin import BUILTIN, builtin, builtin_for
from unspool.data.dates import part_of
from unspool.data.labelled import Labelled
from unspool.data.names import name_pairs
from unspool.data.pairs import Pair
from unspool.data.tagged import Tagged

DIGEST = """
import hashlib
from unspool.data.builtin import BUILTIN, builtin
from unspool.data.grammar import agreement_pairs
from unspool.data.split import split, unique
words = builtin("words", 0)
found = [builtin(name + ":dev" * name.startswith("dates"), 7) for name in BUILTIN]
found += [agreement_pairs(200, 7), split(unique(words), seed=7, by=lambda word: word.label)]
print(*(hashlib.sha256(repr(each).encode()).hexdigest() for each in found))
"""


def test_two_processes_draw_the_same() -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
        )
        for seed in ("1", "2")
    ]
    one, other = (run.communicate()[0] for run in runs)
    assert [run.returncode for run in runs] == [0, 0]
    assert one == other
    assert len(one.split()) == len(BUILTIN) + 2


def test_names_give_their_examples() -> None:
    assert all(isinstance(example, Tagged) for example in builtin("grammar", 1))
    assert len(builtin("builtin:grammar", 1)) == 10_000
    assert builtin("grammar", 1) != builtin("grammar", 2)
    words = builtin("words")
    assert all(isinstance(example, Labelled) for example in words)
    assert len({example.label for example in words}) == 30  # as the description says
    assert len(builtin("python")) == 2_000_000


def test_options_stand_behind_colons() -> None:
    assert builtin("builtin:names") == builtin("names:de") == name_pairs("de", "en")
    assert builtin("names:fr:it") == name_pairs("fr", "it")
    found = builtin("builtin:dates:test", 1)
    assert all(isinstance(example, Pair) and example.tag is None for example in found)
    assert {part_of(date.fromisoformat(example.target)) for example in found} == {"test"}
    assert all(example.tag for example in builtin("dates-tagged:dev", 1))
    for name, form in [("grammar:3", "builtin:grammar"), ("names:de:", "names:SOURCE:TARGET")]:
        with pytest.raises(ValueError, match=f"'{name}' has options .* form is .*{form}$"):
            builtin(name)


def test_only_what_fits_a_task_is_given() -> None:
    assert builtin_for("translator", "builtin:names:fr:it") == name_pairs("fr", "it")
    fitting = "take builtin:dates or builtin:dates-tagged or builtin:names"
    with pytest.raises(ValueError, match=f"builtin:words is not for a translator: {fitting}"):
        builtin_for("translator", "builtin:words")


def test_each_says_its_task_in_one_line() -> None:
    tasks = {"classifier", "language model", "tagger", "translator"}
    assert {task for task, _, _ in BUILTIN.values()} == tasks
    assert all("\n" not in told and len(told) < 90 for _, told, _ in BUILTIN.values())


def test_unknown_names_are_told_all_and_the_nearest() -> None:
    known = "There are " + ", ".join(f"builtin:{name}" for name in BUILTIN)
    with pytest.raises(ValueError, match=f"'gramar'. Did you mean builtin:grammar\\? {known}"):
        builtin("gramar")
    with pytest.raises(ValueError, match=f"no built-in data is called 'zzz'. {known}"):
        builtin("builtin:zzz".removeprefix("builtin:"))
