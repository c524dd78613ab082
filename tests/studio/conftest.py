"""A studio on a free port, and a real browser that lets nothing bad go unseen."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Page,
    Route,
    expect,
    sync_playwright,
)

from tests.studio import runs
from unspool.studio.app import Desk, make_app
from unspool.studio.browser import find_browser, quiet
from unspool.studio.desk import Desk as RunDesk
from unspool.studio.guard import Guard, make_guard
from unspool.studio.params import UnknownQuestion
from unspool.studio.server import HOST, listen, running

LOCAL = ("file", "data", "blob", "about")
expect.set_options(timeout=30_000)  # a busy machine is slow, and no reason to fail


class StubDesk:
    """Answers with what it was told to: a value, or a function of the parameters."""

    def __init__(self, **answers: Any):
        self.answers = answers

    def ask(self, question: str, params: dict[str, Any]) -> Any:
        if question not in self.answers:
            raise UnknownQuestion(f"there is no question {question!r}")
        answer = self.answers[question]
        return answer(params) if callable(answer) else answer


@contextmanager
def started(desk: Desk, names: Sequence[str] = ()) -> Iterator[Guard]:
    """A studio on a free port, until the block ends."""
    with listen(HOST, 0) as listening:
        guard = make_guard(HOST, listening.getsockname()[1], names)
        with running(make_app(desk, guard), listening):
            yield guard


Desks = Callable[[str], "RunDesk"]


@pytest.fixture(scope="session")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Desks:
    """A desk for each task of `runs`, trained once."""
    made: dict[str, RunDesk] = {}

    def desk(task: str) -> RunDesk:
        if task not in made:
            made[task] = RunDesk(getattr(runs, task)(tmp_path_factory.mktemp(task)))
        return made[task]

    return desk


@pytest.fixture
def origins() -> set[str]:
    """Of the studios that run in this test: where the browser may go."""
    return set()


@pytest.fixture
def studio(origins: set[str]) -> Iterator[Callable[[Desk], str]]:
    """Starts a studio with a desk; its address is given back, and it ends with the test."""
    with ExitStack() as stack:

        def start(desk: Desk) -> str:
            link = stack.enter_context(started(desk)).link
            origins.add(link.rstrip("/"))
            return link

        yield start
    # Nothing may still compute when Python ends: torch would be torn down beneath it.
    for thread in threading.enumerate():
        if thread.name in ("question", "job"):
            thread.join(60)


def no_browser() -> NoReturn:
    """Where everything must be checked a browser that is missing is an error."""
    said = "no Chromium on this machine: apt-get install chromium"
    if os.environ.get("CI") == "true":
        pytest.fail(said)
    pytest.skip(said)


@pytest.fixture(scope="session")
def chromium() -> Path:
    return find_browser() or no_browser()


@pytest.fixture(scope="session")
def browser(chromium: Path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=quiet(f"http://{HOST}"))
        yield browser
        browser.close()


@pytest.fixture
def trouble() -> list[str]:
    """What the browser met that it should not have. A test that wants some clears it."""
    return []


@pytest.fixture
def page(browser: Browser, origins: set[str], trouble: list[str], studio: object) -> Iterator[Page]:
    """A page in a context of its own; whatever goes wrong in it fails the test at its end.

    It is closed before the studios are: one that ends under a page would count as trouble.
    """
    context = browser.new_context(service_workers="block", viewport={"width": 1280, "height": 900})
    watch(context, origins, trouble)
    yield context.new_page()
    context.close()
    assert not trouble, "\n".join(trouble)


def watch(context: BrowserContext, origins: set[str], trouble: list[str]) -> None:
    """Notes calls to elsewhere, errors, refusals by the policy, and dialogs, in `trouble`."""

    def decide(route: Route) -> None:
        parts = urlsplit(route.request.url)
        if parts.scheme in LOCAL or f"{parts.scheme}://{parts.netloc}" in origins:
            route.continue_()
        else:
            trouble.append(f"a request to {route.request.url}")
            route.abort()

    def close(dialog: Dialog) -> None:
        trouble.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def opened(page: Page) -> None:
        page.on("websocket", lambda socket: trouble.append(f"a socket to {socket.url}"))

    context.route("**/*", decide)
    context.on("page", opened)
    context.on("dialog", close)
    context.on("weberror", lambda error: trouble.append(f"an error: {error.error}"))
    context.on(
        "console",
        lambda said: trouble.append(f"the console: {said.text}") if said.type == "error" else None,
    )
