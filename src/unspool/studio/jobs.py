"""Work that takes longer than a question may: it goes on, and is asked after.

A job that is no longer polled stops and is forgotten; the next poll begins it anew.
"""

import math
import threading
import time
import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from unspool.studio.cancel import Cancelled, cancelled_if

MOST = 6  # jobs that are remembered
# Seconds without a question after which a job ends: a browser lets a page that is hidden ask
# once a minute only.
UNASKED = 90.0
LEFT = 5.0  # the same where another job begins: pages ask several times a second


@dataclass
class Job:
    """Work in a thread of its own. `shown` is what there is to see so far."""

    shown: Any = None
    done: bool = False
    error: str = ""
    ended: threading.Event = field(default_factory=threading.Event)
    asked: float = field(default_factory=time.monotonic)  # when it was last polled

    def unwanted(self) -> bool:
        return time.monotonic() - self.asked > UNASKED


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
                run = threading.Thread(
                    target=self._run, args=(key, job, work), name="job", daemon=True
                )
                run.start()
            self.jobs[key].asked = time.monotonic()
            return self.jobs[key]

    def wait(self) -> None:
        """Until every job has ended; none is given up meanwhile."""
        jobs = list(self.jobs.values())
        for job in jobs:
            job.asked = math.inf
        for job in jobs:
            job.ended.wait()

    def _make_room(self) -> None:
        """What has ended is forgotten, the oldest first; what nobody asks after is given up."""
        for job in self.jobs.values():
            if time.monotonic() - job.asked > LEFT:
                job.asked = -math.inf
        for key in [key for key, job in self.jobs.items() if job.done]:
            if len(self.jobs) < MOST:
                return
            del self.jobs[key]
        if len(self.jobs) >= MOST:
            raise ValueError(f"{MOST} searches and races are going on: wait for one of them to end")

    def _run(self, key: Hashable, job: Job, work: Callable[[Job], Any]) -> None:
        try:
            with cancelled_if(job.unwanted):
                job.shown = work(job)
            job.done = True
        except Cancelled:
            with self.lock:
                del self.jobs[key]
        except ValueError as error:
            job.error, job.done = str(error), True
        except Exception as error:
            job.error = f"something went wrong here: {type(error).__name__}: {error}"
            job.done = True
            traceback.print_exc()  # the server's own output has the rest
        finally:
            job.ended.set()
