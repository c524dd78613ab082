"""The tasks: one file each, and their table."""

import difflib

from unspool.train.tasks.classify import Classify
from unspool.train.tasks.lm import Language
from unspool.train.tasks.tag import Tag
from unspool.train.tasks.task import Config, Task

TASKS: dict[str, Task] = {task.name: task for task in (Classify(), Tag(), Language())}


def find_task(name: str) -> Task:
    if name in TASKS:
        return TASKS[name]
    close = difflib.get_close_matches(name, TASKS, 1)
    meant = f"did you mean {close[0]}? " if close else ""
    raise ValueError(f"there is no task {name!r}; {meant}The tasks are {', '.join(TASKS)}")


__all__ = ["TASKS", "Config", "Task", "find_task"]
