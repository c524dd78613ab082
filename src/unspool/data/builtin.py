"""The built-in data by name, as the command line gives it: `builtin:grammar`.

What stands behind another colon is an option, as in `builtin:names:de:en`; each has a default.
"""

import difflib
from collections.abc import Callable
from inspect import signature
from typing import Any

from unspool.data.cldr import words
from unspool.data.dates import dates
from unspool.data.errors import PREFIX
from unspool.data.grammar import grammar
from unspool.data.names import name_pairs
from unspool.data.python_source import python_source

TRAINING_DATES = 40_000


def _dates(tagged: bool) -> Callable[..., Any]:
    def draw(seed: int, part: str = "train") -> Any:
        count = TRAINING_DATES if part == "train" else 2_000
        return dates(count, seed, part=part, tagged=tagged)

    return draw


# name: (task, description, function of the seed and the options). Where nothing is drawn, every
# seed is the same.
BUILTIN: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "dates": (
        "translator",
        "40,000 dates in 30 languages and as 2026-11-16; :dev and :test are other dates",
        _dates(tagged=False),
    ),
    "dates-tagged": (
        "translator",
        "the same with the language as a tag, and in numbers alone too, such as 3/4/2026",
        _dates(tagged=True),
    ),
    "grammar": (
        "tagger",
        "10,000 English sentences with agreement over a distance, every word tagged",
        lambda seed: grammar(10_000, seed),
    ),
    "names": (
        "translator",
        "names of countries, languages and currencies, :de:en or between any two languages",
        lambda seed, source="de", target="en": name_pairs(source, target),
    ),
    "python": (
        "language model",
        "the first 2,000,000 characters of the source of Python's standard library",
        lambda seed: python_source(2_000_000),
    ),
    "words": (
        "classifier",
        "names of countries, languages and currencies in 30 languages, to tell the language",
        lambda seed: words(),
    ),
}


def builtin_for(task: str, name: str, seed: int = 0) -> Any:
    """The examples of a name, if they are of this task."""
    plain, _ = _parsed(name)
    if BUILTIN[plain][0] != task:
        fitting = [PREFIX + known for known, (kind, *_) in BUILTIN.items() if kind == task]
        raise ValueError(f"{name} is not for a {task}: take {' or '.join(fitting)}")
    return builtin(name, seed)


def builtin(name: str, seed: int = 0) -> Any:
    """The examples of a name, with or without `builtin:`: a list, or one text for "python"."""
    plain, options = _parsed(name)
    return BUILTIN[plain][2](seed, *options)


def _parsed(name: str) -> tuple[str, list[str]]:
    plain, *options = name.removeprefix(PREFIX).split(":")
    if plain not in BUILTIN:
        close = difflib.get_close_matches(plain.lower(), BUILTIN, 1)
        hint = f"Did you mean {PREFIX}{close[0]}? " if close else ""
        known = ", ".join(PREFIX + known for known in BUILTIN)
        raise ValueError(f"no built-in data is called {name!r}. {hint}There are {known}")
    taken = list(signature(BUILTIN[plain][2]).parameters)[1:]  # the first is the seed
    if len(options) > len(taken) or not all(options):
        form = PREFIX + plain + "".join(f":{option.upper()}" for option in taken)
        raise ValueError(f"{name!r} has options that mean nothing: the whole form is {form}")
    return plain, options
