"""A cell that is being typed: what follows from an older draft is no longer worked out."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.studio.conftest import StubDesk
from unspool.lab.memory import FirstSymbol
from unspool.studio import jobs
from unspool.studio.cancel import Cancelled, check
from unspool.studio.desk import Desk
from unspool.studio.questions import Answers, ask

Studio = Callable[[Any], str]
LONG = 30.0  # seconds


def until(page: Page, event: threading.Event) -> None:
    """Waits for an event; the page goes on meanwhile, as it does not while Python waits."""
    end = time.monotonic() + LONG
    while not event.is_set():
        assert time.monotonic() < end
        page.wait_for_timeout(20)


def test_typing_on_cancels_the_question(page: Page, studio: Studio) -> None:
    desk, begun, ended = Desk(), threading.Event(), threading.Event()

    def cell(params: dict[str, Any]) -> Any:
        if "slow" not in params["equations"]:
            return ask(desk, "cell", params)
        begun.set()
        end = time.monotonic() + LONG
        try:
            while time.monotonic() < end:
                check()
                time.sleep(0.01)
        except Cancelled:
            ended.set()
            raise

    others = {name: partial(ask, desk, name) for name in ("run", "gradients")}
    page.goto(f"{studio(StubDesk(cell=cell, **others))}#/cell")
    equations = page.locator('[data-role="equations"]')
    equations.fill("h' = tanh(W @ x + slow)")
    until(page, begun)
    assert not ended.is_set()
    equations.fill("h' = tanh(W @ x + U @ h)")
    until(page, ended)
    expect(page.locator('[data-role="derived"]')).to_have_attribute("data-stale", "false")


def test_typing_on_ends_the_race(
    page: Page, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "UNASKED", 5.0)
    monkeypatch.setattr(FirstSymbol, "update", lambda self: time.sleep(0.05) or 1.0)
    desk = Desk()
    page.goto(f"{studio(Answers(desk))}#/cell")
    page.get_by_label("Updates").fill("2000")
    page.get_by_label("Updates").press("Enter")
    page.locator('[data-role="start-race"]').click()
    race = page.locator('[data-role="race"]')
    expect(race).to_have_attribute("data-done", "false")
    (job,) = desk.jobs.jobs.values()
    page.locator('[data-role="equations"]').fill("h' = tanh(W @ x + U @ h)")
    expect(race).to_be_hidden()
    until(page, job.ended)
    assert not job.done
