"""How long the studio takes to colour a long text, in a headless browser.

    python benchmarks/studio.py [--characters 100000] [--rounds 7] [--json FILE]

Times run from the start of the layout until after the frame in which the colours are there, as the
page itself measures them ("colour text"). Beside it stands the plain way, one element for each
character, in the same browser.
"""

import argparse
import json
import random
import statistics
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from unspool.data.python_source import python_source
from unspool.studio.app import make_app
from unspool.studio.browser import find_browser, quiet
from unspool.studio.desk import Desk
from unspool.studio.guard import make_guard
from unspool.studio.params import UnknownQuestion
from unspool.studio.questions import ask
from unspool.studio.server import HOST, listen, running

SIZE = 512  # units of the line that colours it

# One element for each character, coloured; until the frame after the next is there.
PLAIN = """([text, values]) => new Promise((done) => {
    const begun = performance.now();
    const box = document.createElement("pre");
    box.style.cssText = "width:900px;white-space:pre-wrap";
    for (let k = 0; k < text.length; k++) {
        const one = document.createElement("span");
        one.textContent = text[k];
        one.style.backgroundColor = `rgb(${255 - 200 * values[k]},${255 - 150 * values[k]},255)`;
        box.append(one);
    }
    document.body.replaceChildren(box);
    requestAnimationFrame(() => setTimeout(() => {
        document.body.replaceChildren();
        done(performance.now() - begun);
    }));
})"""


class Stand:
    """A run that answers at once: the text, and random values for each unit."""

    def __init__(self, text: str):
        self.text = text

    def ask(self, question: str, params: dict[str, Any]) -> Any:
        layers = [{"title": "layer 1", "lines": [{"name": "h", "size": SIZE}]}]
        if question == "run":
            about = {"name": "benchmark", "task": "lm", "trained": True, "views": ["text"]}
            return ask(Desk(), "run", {}) | about | {"examples": [self.text[:80]]}
        if question == "text":
            marks = {"marks": [], "answer": "", "layers": layers, "ranked": False}
            return {"symbols": list(params["text"])} | marks
        if question == "unit":
            draw = random.Random(params["unit"])
            values = [round(draw.uniform(-1, 1), 4) for _ in params["text"]]
            return {"values": values, "low": -1.0, "high": 1.0}
        if question in ("neighbours", "trajectory", "units", "property"):
            raise ValueError("not part of this measurement")
        raise UnknownQuestion(question)


def measures(page: Page, count: int) -> list[float]:
    """The page's own measurements of a text of so many symbols."""
    code = """count => performance.getEntriesByName("colour text")
        .filter(e => e.detail.symbols === count).map(e => e.duration)"""
    return page.evaluate(code, count)


def measure(page: Page, link: str, text: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds: of the text painted for the first time, of another unit's colours over it."""
    first, again, plain = [], [], []
    draw = random.Random(0)
    for _ in range(rounds):
        page.goto("about:blank")
        page.goto(f"{link}#/text")
        page.locator('[data-role="text-input"]').fill(text)
        page.wait_for_function(
            """count => performance.getEntriesByName("colour text")
                .some(e => e.detail.symbols === count)""",
            arg=len(text),
            timeout=60_000,
        )
        page.wait_for_timeout(1000)
        first.append(measures(page, len(text))[0])
        for unit in range(1, 4):
            before = len(measures(page, len(text)))
            page.locator('[data-role="unit"]').fill(str(unit))
            page.wait_for_function(
                """([count, before]) => performance.getEntriesByName("colour text")
                    .filter(e => e.detail.symbols === count).length > before""",
                arg=[len(text), before],
                timeout=60_000,
            )
            again.append(measures(page, len(text))[-1])
        page.goto("about:blank")
        plain.append(page.evaluate(PLAIN, [text, [draw.random() for _ in text]]))
    return {"first": first, "another unit": again, "an element each": plain}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--characters", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="also write the figures there")
    given = parser.parse_args()
    browser = find_browser()
    if browser is None:
        raise SystemExit("there is no Chromium or Chrome here: install one, or name it in CHROMIUM")
    text = python_source(given.characters)
    with sync_playwright() as playwright, listen(HOST, 0) as listening:
        guard = make_guard(HOST, listening.getsockname()[1])
        with running(make_app(Stand(text), guard), listening):
            shown = playwright.chromium.launch(
                executable_path=browser, args=quiet(f"http://{HOST}")
            )
            page = shown.new_page(viewport={"width": 1280, "height": 900})
            found = measure(page, guard.link, text, given.rounds)
            version = shown.version
            shown.close()
    print(f"{len(text):,} characters, Chromium {version}, headless; milliseconds")
    for name, times in found.items():
        middle = statistics.median(times)
        ratio = statistics.median(found["an element each"]) / middle
        print(f"    {name:<16} median {middle:7.1f}  worst {max(times):7.1f}  {ratio:5.1f}x")
    if given.json is not None:
        about = {"characters": len(text), "chromium": version, "milliseconds": found}
        given.json.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
