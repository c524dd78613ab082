from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page

from tests.studio.conftest import StubDesk, no_browser
from unspool.studio import browser as own
from unspool.studio.app import Desk
from unspool.studio.browser import find_browser, screenshot

Studio = Callable[[Desk], str]
RUN = {
    "name": "a run <b>", "task": "", "cell": "gru", "equations": "h' = x", "trained": False,
    "parameters": 0, "settings": {}, "layers": [], "tags": [], "classes": [], "examples": [],
    "views": [], "cells": [],
}  # fmt: skip
# Grey, then after two seconds green, or blue in the dark; and a red corner at the lower right.
PICTURE = """<!doctype html><html data-height="%d"><meta charset="utf-8"><style>
body { background: #888 } body.done { background: #0f0 }
@media (prefers-color-scheme: dark) { body.done { background: #00f } }
p { position: fixed; bottom: 0; right: 0; width: 20px; height: 20px; margin: 0; background: red }
</style><p></p><script>setTimeout(() => document.body.className = "done", 2000)</script>"""


@pytest.mark.parametrize("dark", [False, True])
def test_a_picture_shows_the_page_when_it_is_done(
    chromium: Path, tmp_path: Path, dark: bool
) -> None:
    written, picture = tmp_path / "a report.html", tmp_path / "picture.png"
    written.write_text(PICTURE % 400)
    picture.write_text("an older file")
    screenshot(chromium, written.as_uri(), picture, 700, 500, dark=dark)
    with Image.open(picture) as seen:
        assert seen.size == (700, 500)
        seen = seen.convert("RGB")
        assert seen.getpixel((350, 250)) == ((0, 0, 255) if dark else (0, 255, 0))
        assert seen.getpixel((699, 499)) == (255, 0, 0)
        assert seen.getpixel((670, 470)) != (255, 0, 0)


def test_a_picture_is_as_tall_as_the_page(chromium: Path, tmp_path: Path) -> None:
    written, picture = tmp_path / "report.html", tmp_path / "picture.png"
    written.write_text(PICTURE % 900)
    screenshot(chromium, written.as_uri(), picture, 300, 200)
    with Image.open(picture) as seen:
        assert seen.size == (300, 900)


def test_what_is_not_our_page_gets_no_picture(chromium: Path, tmp_path: Path) -> None:
    """The browser's own error page, which it shows with status 0, among them."""
    picture, other = tmp_path / "picture.png", tmp_path / "other.html"
    picture.write_text("an older file")
    other.write_text("<!doctype html><p>another page")
    for page in (tmp_path / "nothing.html", other):
        with pytest.raises(ValueError, match=rf"{page.name}: .*is the file there, and readable"):
            screenshot(chromium, page.as_uri(), picture, 300, 200)
    assert picture.read_text() == "an older file"


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_browser_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "picture.png"
    broken = script(tmp_path / "broken", "echo no display here >&2; echo no dbus here >&2; exit 3")
    with pytest.raises(ValueError, match=r"status 3\. no display here$"):
        screenshot(broken, "file:///", picture, 300, 200)
    with pytest.raises(ValueError, match="cannot be started: No such file"):
        screenshot(tmp_path / "none", "file:///", picture, 300, 200)
    with pytest.raises(ValueError, match="0 by 200 pixels"):
        screenshot(broken, "file:///", picture, 0, 200)
    monkeypatch.setattr(own, "TIMEOUT", 0.2)
    slow = script(tmp_path / "slow", "echo still thinking >&2; exec sleep 60")
    with pytest.raises(ValueError, match=r"not done after 0\.2 seconds\. still thinking"):
        screenshot(slow, "file:///", picture, 300, 200)
    assert not picture.exists()


def test_the_browser_is_found_by_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() is None
    chrome = script(tmp_path / "google-chrome", "exit 0")
    assert find_browser() == chrome
    chromium = script(tmp_path / "chromium", "exit 0")
    assert find_browser() == chromium
    monkeypatch.setenv("CHROMIUM", str(chrome))
    assert find_browser() == chrome
    monkeypatch.setenv("CHROMIUM", "netscape")
    with pytest.raises(ValueError, match="CHROMIUM is netscape, and no such program is there"):
        find_browser()


def test_a_missing_browser_is_an_error_where_all_must_be_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        no_browser()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        no_browser()


def test_the_page_loads_and_says_which_run_it_shows(studio: Studio, page: Page) -> None:
    page.goto(studio(StubDesk(run=RUN)))
    page.get_by_text("a run <b>").first.wait_for()
    assert page.title()


def test_the_policy_lets_no_other_script_run(
    studio: Studio, page: Page, trouble: list[str]
) -> None:
    page.goto(studio(StubDesk(run=RUN)))
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = 'inline'";
        document.body.append(script);
        document.body.insertAdjacentHTML("beforeend", "<img src='x' onerror='window.ran = 1'>");
        const style = document.createElement("style");
        style.textContent = "body { display: none }";
        document.body.append(style);
    }""")
    page.wait_for_timeout(300)
    assert page.evaluate("window.ran") is None
    assert page.evaluate("getComputedStyle(document.body).display") != "none"
    assert sum("Content Security Policy" in said for said in trouble) >= 3
    trouble.clear()


def test_no_other_page_can_ask_or_frame_the_studio(
    studio: Studio, page: Page, trouble: list[str]
) -> None:
    """A page of another origin, here of another studio, with its own policy taken away."""
    url, asked = studio(StubDesk(run=RUN)), []
    other = studio(StubDesk(secret=lambda params: asked.append(params)))
    page.route(
        url,
        lambda route: route.fulfill(body="<title>evil</title>", content_type="text/html"),
    )
    page.goto(url)
    assert page.title() == "evil"
    outcome = page.evaluate(
        """async (other) => {
            const tries = [
                {method: "POST", body: "{}", headers: {"Content-Type": "application/json"}},
                {method: "POST", body: "{}", mode: "no-cors"},
                {method: "POST", body: "{}", credentials: "include"},
            ];
            const seen = [];
            for (const how of tries) {
                try {
                    const answer = await fetch(other + "api/secret", how);
                    seen.push(answer.type === "opaque" ? "opaque" : await answer.text());
                } catch (error) { seen.push("refused"); }
            }
            return seen;
        }""",
        other,
    )
    assert set(outcome) <= {"refused", "opaque"}
    assert not asked
    page.evaluate(
        """(other) => {
            const frame = document.createElement("iframe");
            frame.src = other;
            document.body.append(frame);
        }""",
        other,
    )
    page.wait_for_timeout(500)
    assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"]
    trouble.clear()


def test_what_goes_wrong_in_a_page_is_noticed(
    studio: Studio, page: Page, trouble: list[str]
) -> None:
    page.goto(studio(StubDesk(run=RUN)))
    assert not trouble
    for harm, noticed in (
        ("console.error('one bad thing')", "the console: one bad thing"),
        ("setTimeout(() => { throw new Error('another') })", "an error: "),
        ("alert('boo')", "a dialog: boo"),
        ("void fetch('http://192.0.2.1/').catch(() => 0)", "Content Security Policy"),
        ("location.href = 'http://192.0.2.1/'", "a request to http://192.0.2.1/"),
    ):
        page.evaluate(f"() => {{ {harm} }}")
        page.wait_for_timeout(200)
        assert any(noticed in said for said in trouble), (harm, trouble)
        trouble.clear()
