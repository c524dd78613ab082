"""Text that a run's model was not trained on."""

from typing import Any

from unspool.studio.desk import Desk
from unspool.train.log import Reporter
from unspool.train.runs import read_data
from unspool.train.tasks import find_task


class NoHeldOut(ValueError):
    """The data that a run measures itself by is not there any more."""


def held_out(desk: Desk) -> list[str]:
    """Texts: the one that was given, else those that the run measures itself by."""
    if desk.text is not None:
        return [desk.text]
    return desk.keep("held-out", lambda: _read(desk))


def _read(desk: Desk) -> list[str]:
    config = desk.config
    try:
        _, dev = read_data(find_task(config.task), config, Reporter())
    except (ValueError, OSError) as error:
        raise NoHeldOut(
            f"the run's own data cannot be read again ({error}): give held-out text, --file FILE"
        ) from None
    return [text_of(example) for example in dev]


def text_of(example: Any) -> str:
    if hasattr(example, "words"):
        return " ".join(example.words)
    return example.source if hasattr(example, "source") else example.text
