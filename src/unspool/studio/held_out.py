"""Text that a run's model was not trained on."""

from unspool.data.builtin import PREFIX
from unspool.studio.desk import Desk
from unspool.train.log import Reporter
from unspool.train.run_folder import read_sample, text_of
from unspool.train.runs import read_data
from unspool.train.tasks import find_task


class NoHeldOut(ValueError):
    """There is no text to look at; the message says how to give one."""


def held_out(desk: Desk) -> list[str]:
    """Texts to look at: the given one, else those that the run has kept, else built-in data.

    A run may come from somebody else, so the files that its settings name are not read here: the
    error names them, and the user may give one.
    """
    if desk.text is not None:
        return [desk.text]
    return desk.keep("held-out", lambda: _read(desk))


def _read(desk: Desk) -> list[str]:
    texts = read_sample(desk.folder)
    if texts:
        return texts
    config = desk.config
    named = config.data.dev or config.data.train
    if not config.data.train.startswith(PREFIX) or not named.startswith(PREFIX):
        raise NoHeldOut(
            f"the run has kept no held-out texts, and the file that its settings name ({named}) is "
            "read only if you ask for it: --file FILE"
        )
    _, dev = read_data(find_task(config.task), config, Reporter())
    return [text_of(example) for example in dev]
