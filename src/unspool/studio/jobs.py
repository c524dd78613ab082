"""Work that takes longer than a question may: it goes on, and is asked after."""

import threading
import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

MOST = 6  # jobs that are remembered


@dataclass
class Job:
    """Work in a thread of its own. `shown` is what there is to see so far."""

    shown: Any = None
    done: bool = False
    error: str = ""
    ended: threading.Event = field(default_factory=threading.Event)


class Jobs:
    """One job for each key: the first to ask starts it, the others see how far it is."""

    def __init__(self) -> None:
        self.jobs: dict[Hashable, Job] = {}
        self.lock = threading.Lock()

    def see(self, key: Hashable, work: Callable[[Job], Any], start: Any) -> Job:
        """The job of this key, begun now if it has not been; `start` is shown at first."""
        with self.lock:
            if key not in self.jobs:
                self._make_room()
                job = self.jobs[key] = Job(start)
                run = threading.Thread(target=_run, args=(job, work), name="job", daemon=True)
                run.start()
            return self.jobs[key]

    def wait(self) -> None:
        """Until every job has ended."""
        for job in list(self.jobs.values()):
            job.ended.wait()

    def _make_room(self) -> None:
        """What has ended is forgotten, the oldest first; what goes on is not."""
        for key in [key for key, job in self.jobs.items() if job.done]:
            if len(self.jobs) < MOST:
                return
            del self.jobs[key]
        if len(self.jobs) >= MOST:
            raise ValueError(f"{MOST} searches and races are going on: wait for one of them to end")


def _run(job: Job, work: Callable[[Job], Any]) -> None:
    try:
        job.shown = work(job)
    except ValueError as error:
        job.error = str(error)
    except Exception as error:
        job.error = f"something went wrong here: {type(error).__name__}: {error}"
        traceback.print_exc()  # the server's own output has the rest
    finally:
        job.done = True
        job.ended.set()
