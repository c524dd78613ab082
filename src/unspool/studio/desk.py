"""The desk: a run, opened, and what has been worked out about it so far."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from unspool.inspect.reading import Reading, read
from unspool.studio.cancel import check
from unspool.studio.jobs import Jobs
from unspool.train.fit import WEIGHTS
from unspool.train.plain_file import is_plain
from unspool.train.runs import load, load_config
from unspool.train.tasks import Config

SMALL, LARGE = 16, 4  # things that were worked out, and may be asked for again
LOOK = 0.2  # seconds after which who waits for another looks whether he is still waited for

T = TypeVar("T")


@dataclass
class Slot:
    """A thing that is being made, or was."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    made: bool = False
    value: Any = None


class Desk:
    """`ask(Desk("runs/names"), "text", {"text": "Nguyen"})`; without a run, cells alone.

    `text` is held-out text to search units in, instead of the run's own, and `labels` are labels
    of it to search for, one a character or one a symbol.
    """

    def __init__(
        self,
        run: str | Path | None = None,
        *,
        text: str | None = None,
        labels: Sequence[float] | None = None,
    ):
        if labels is not None and text is None:
            raise ValueError("labels are those of a text: give the text too")
        self.run = None if run is None else Path(run)
        self.text, self.labels = text, labels
        self.jobs = Jobs()
        self._lock, self._loading = threading.Lock(), threading.Lock()
        self._small: OrderedDict[Hashable, Slot] = OrderedDict()
        self._large: OrderedDict[Hashable, Slot] = OrderedDict()
        self._model: tuple[Any, Any] | None = None
        if self.run is not None:
            load_config(self.run)  # says at once that a folder is no run

    @property
    def folder(self) -> Path:
        if self.run is None:
            raise ValueError("no run is open: start the studio with one, unspool studio RUN")
        return self.run

    @property
    def config(self) -> Config:
        return load_config(self.folder)

    @property
    def trained(self) -> bool:
        return self.run is not None and is_plain(self.run / WEIGHTS)

    @property
    def version(self) -> Any:
        """Changes when training has written better weights."""
        about = (self.folder / WEIGHTS).stat() if self.trained else None
        return None if about is None else (about.st_mtime_ns, about.st_size)

    def model(self) -> Any:
        """The run's model with its newest weights."""
        with self._loading:
            version = self.version
            if self._model is None or self._model[0] != version:
                model = load(self.folder)
                for part in model.modules():  # so that a search over many steps can be cancelled
                    part.register_forward_pre_hook(lambda *_: check())
                self._model = (version, model)
            return self._model[1]

    def keep(self, key: Hashable, make: Callable[[], T], large: bool = False) -> T:
        """What was made for this key, with these weights; who asks meanwhile waits for it.

        Few things are kept that are `large`: as much as a line over a whole text.
        """
        kept, most = (self._large, LARGE) if large else (self._small, SMALL)
        with self._lock:
            full = (key, self.version if self.run is not None else None)
            slot = kept.setdefault(full, Slot())
            kept.move_to_end(full)
            while len(kept) > most:
                kept.popitem(last=False)
        while not slot.lock.acquire(timeout=LOOK):
            check()
        try:
            if not slot.made:
                check()
                slot.value = make()
                slot.made = True
            return slot.value
        finally:
            slot.lock.release()

    def read(self, text: str, kind: str = "", gradients: bool = False) -> Reading:
        """The text as the model reads it."""
        return read(self.model(), text, kind=kind, gradients=gradients)

    def reading(self, text: str, kind: str = "", gradients: bool = False) -> Reading:
        """The same, kept to be asked again."""
        key = ("reading", text, kind, gradients)
        return self.keep(key, lambda: self.read(text, kind, gradients), large=True)
