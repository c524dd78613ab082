"""Work that takes longer than a question may: it goes on, and is asked after."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

MOST = 4  # jobs that are remembered


@dataclass
class Job:
    """Work in a thread of its own. `shown` is what there is to see so far."""

    shown: Any = None
    done: bool = False
    error: str = ""
    stopped: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def show(self, value: Any) -> None:
        """Called by the work; ends it here if nobody wants it any more."""
        self.shown = value
        if self.stopped:
            raise Stopped


class Stopped(Exception):
    """The work is no longer wanted."""


class Jobs:
    """One job for each key: the first to ask starts it, the others see how far it is."""

    def __init__(self) -> None:
        self.jobs: dict[Hashable, Job] = {}
        self.lock = threading.Lock()

    def see(self, key: Hashable, work: Callable[[Job], Any], start: Any) -> Job:
        """The job of this key, begun now if it has not been; `start` is shown at first."""
        with self.lock:
            if key not in self.jobs:
                while len(self.jobs) >= MOST:  # the oldest is forgotten
                    self.jobs.pop(next(iter(self.jobs))).stopped = True
                self.jobs[key] = Job(start)
                run = threading.Thread(target=self._run, args=(key, work), name="job", daemon=True)
                run.start()
            return self.jobs[key]

    def wait(self) -> None:
        """Until every job has ended."""
        for job in list(self.jobs.values()):
            job.ended.wait()

    def _run(self, key: Hashable, work: Callable[[Job], Any]) -> None:
        job = self.jobs[key]
        try:
            job.shown = work(job)
        except Stopped:
            pass
        except ValueError as error:
            job.error = str(error)
        except Exception as error:
            job.error = f"something went wrong here: {type(error).__name__}: {error}"
            raise  # the server's own output has the rest
        finally:
            job.done = True
            job.ended.set()
