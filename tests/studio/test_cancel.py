"""Computations that nobody waits for any more end, and leave everything as it was."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from tests.studio.conftest import Desks
from unspool.studio import jobs
from unspool.studio.cancel import Cancelled, cancelled_if, check
from unspool.studio.desk import Desk
from unspool.studio.jobs import Job, Jobs
from unspool.studio.questions import ask

LONG = 20.0  # seconds: a busy machine is slow, and no reason to fail


def until_cancelled(_: Job) -> None:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        check()
        time.sleep(0.01)
    raise AssertionError("it was not cancelled")


def after(checks: int) -> Callable[[], bool]:
    """Nobody waits any more once it was asked so many times."""
    asked = count()
    return lambda: next(asked) >= checks


def test_a_check_outside_ends_nothing() -> None:
    check()
    with cancelled_if(lambda: True):
        with cancelled_if(lambda: False):
            check()
        with pytest.raises(Cancelled):
            check()
    check()


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("gradients", {"cells": ["elman", "gru"], "steps": 3, "hidden": 3}),
    ("relu", {"hidden": 3, "steps": 3}),
    ("cell", {"equations": "gru", "input": 3, "hidden": 3}),
]


@pytest.mark.parametrize(("question", "params"), QUESTIONS)
def test_answers_are_worked_out_in_parts(question: str, params: dict[str, Any]) -> None:
    with cancelled_if(after(1)), pytest.raises(Cancelled):
        ask(Desk(), question, params)


def test_a_translation_ends_between_two_steps(desks: Desks) -> None:
    desk, params = desks("translator"), {"text": "eins zwei drei", "width": 3}
    whole = ask(desk, "translate", params)
    for checks in (1, 50, 100):
        with cancelled_if(after(checks)), pytest.raises(Cancelled):
            ask(desk, "translate", params)
    assert ask(desk, "translate", params) == whole


def test_what_is_made_for_two_is_made_if_one_goes_away() -> None:
    desk, begun, gone = Desk(), threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        until_cancelled(Job())
        return 1

    def first() -> int:
        with cancelled_if(gone.is_set):
            return desk.keep("key", slow)

    with ThreadPoolExecutor(2) as pool:
        left = pool.submit(first)
        assert begun.wait(LONG)
        with cancelled_if(after(1)), pytest.raises(Cancelled):
            desk.keep("key", lambda: 2)  # who waits for it may go away too
        stays = pool.submit(desk.keep, "key", lambda: 3)
        gone.set()
        assert stays.result(LONG) == 3
        with pytest.raises(Cancelled):
            left.result(LONG)


def test_a_new_job_ends_those_that_were_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "LEFT", 0.0)
    all_jobs = Jobs()
    left = all_jobs.see("left", until_cancelled, None)
    assert all_jobs.see("new", lambda job: "done", None).ended.wait(LONG)
    assert left.ended.wait(LONG)
    assert (left.done, left.error) == (False, "")
    assert list(all_jobs.jobs) == ["new"]
    assert all_jobs.see("left", lambda job: "begun anew", None).ended.wait(LONG)
    assert all_jobs.jobs["left"].shown == "begun anew"


def test_what_is_waited_for_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "UNASKED", 0.1)
    all_jobs, waited = Jobs(), threading.Event()

    def work(job: Job) -> str:
        assert waited.wait(LONG)
        time.sleep(0.3)  # more than it may go unasked
        check()
        return "done"

    job = all_jobs.see("key", work, None)
    threading.Timer(0.05, waited.set).start()
    all_jobs.wait()
    assert (job.done, job.shown) == (True, "done")
