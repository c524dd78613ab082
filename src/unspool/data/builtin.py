"""The built-in data by name, as the command line gives it: `builtin:grammar`."""

import difflib
from collections.abc import Callable
from typing import Any

from unspool.data.cldr import words
from unspool.data.grammar import grammar
from unspool.data.python_source import python_source

PREFIX = "builtin:"
# name: (task, description, function of the seed). Where nothing is drawn, every seed is the same.
BUILTIN: dict[str, tuple[str, str, Callable[[int], Any]]] = {
    "grammar": (
        "tagger",
        "10,000 English sentences with agreement over a distance, every word tagged",
        lambda seed: grammar(10_000, seed),
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
    found = builtin(name, seed)
    fitting = [PREFIX + known for known, (kind, *_) in BUILTIN.items() if kind == task]
    if PREFIX + name.removeprefix(PREFIX) not in fitting:
        raise ValueError(f"{name} is not for a {task}: take {' or '.join(fitting)}")
    return found


def builtin(name: str, seed: int = 0) -> Any:
    """The examples of a name, with or without `builtin:`: a list, or one text for "python"."""
    plain = name.removeprefix(PREFIX)
    if plain not in BUILTIN:
        close = difflib.get_close_matches(plain.lower(), BUILTIN, 1)
        hint = f"Did you mean {PREFIX}{close[0]}? " if close else ""
        known = ", ".join(PREFIX + known for known in BUILTIN)
        raise ValueError(f"no built-in data is called {name!r}. {hint}There are {known}")
    return BUILTIN[plain][2](seed)
