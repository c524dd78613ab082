"""Parameters that follow from a seed, wherever and whenever they are drawn."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_one_at_a_time = threading.Lock()
_counting = threading.Lock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """What is drawn inside follows from the seed; afterwards the generator is as it was.

    torch has one generator for all threads, so one block runs at a time.
    """
    with _one_at_a_time, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """torch's operators inside use one thread, and afterwards as many as before.

    Decompositions of a matrix (QR) have other last bits for each number of threads.
    """
    with _counting:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
