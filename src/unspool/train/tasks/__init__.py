"""The tasks: one file each, and their table."""

import difflib

from unspool.train.tasks.classify import Classify
from unspool.train.tasks.lm import Language
from unspool.train.tasks.tag import Tag
from unspool.train.tasks.task import Config, Task
from unspool.train.tasks.translate import Translate

TASKS: dict[str, Task] = {t.name: t for t in (Classify(), Tag(), Language(), Translate())}


def find_task(name: str) -> Task:
    if name in TASKS:
        return TASKS[name]
    close = difflib.get_close_matches(name, TASKS, 1)
    meant = f"did you mean {close[0]}? " if close else ""
    raise ValueError(f"there is no task {name!r}; {meant}The tasks are {', '.join(TASKS)}")


__all__ = ["TASKS", "Config", "Task", "find_task"]
