"""The machine's own browser, for pictures of a page as people see it."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from unspool.train.durable import write_durably

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
TIMEOUT = 60.0  # seconds for a picture
PAGE_TIME = 10_000  # milliseconds of the page's own time: it passes as fast as the page allows


def find_browser() -> Path | None:
    """Chromium or Chrome: what CHROMIUM names if it is set, else what is on the path."""
    wanted = os.environ.get("CHROMIUM")
    for name in (wanted,) if wanted else NAMES:
        if found := shutil.which(name):
            return Path(found)
    if wanted:
        raise ValueError(f"CHROMIUM is {wanted}, and no such program is there: mend or unset it")
    return None


def screenshot(
    browser: Path, url: str, path: Path, width: int, height: int, *, dark: bool = False
) -> None:
    """Writes a PNG of one of our pages, once it is done.

    The picture is `width` pixels wide and as tall as the page, but at least `height`. A page of
    ours states its height in `data-height` of its root. Whatever does not is an error, since a
    browser takes a picture of its own error page too and ends with status 0.
    """
    if width < 1 or height < 1:
        raise ValueError(f"a picture of {width} by {height} pixels shows nothing: 1 or more each")
    with tempfile.TemporaryDirectory(prefix="unspool-browser-", ignore_cleanup_errors=True) as own:
        picture, output = Path(own) / "picture.png", Path(own) / "output.txt"
        failure = _run(_command(browser, url, Path(own), (width, height), ["--dump-dom"]), output)
        stated = re.search(r'<html[^>]* data-height="(\d+)"', _text(output))
        if failure or not stated:
            failure = failure or "what it shows is not our page; is the file there, and readable?"
            raise ValueError(
                f"{browser} could not show {url}: {failure} {_last_lines(output)}".rstrip()
            )
        size = (width, max(height, int(stated[1])))
        colours = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
        options = [f"--screenshot={picture}", "--hide-scrollbars", colours]
        failure = _run(_command(browser, url, Path(own), size, options), output)
        if failure or not picture.is_file():
            raise ValueError(
                f"{browser} took no picture of {url}: {failure} {_last_lines(output)}".rstrip()
            )
        write_durably(path, picture.read_bytes())


def _command(
    browser: Path, url: str, own: Path, size: tuple[int, int], options: list[str]
) -> list[str]:
    # A profile that nobody else uses: with the user's own, a browser that is already open would
    # be asked to do the work.
    return [
        str(browser),
        "--headless",
        *options,
        f"--window-size={size[0]},{size[1]}",
        "--force-device-scale-factor=1",
        f"--virtual-time-budget={PAGE_TIME}",
        f"--user-data-dir={own / 'profile'}",
        *quiet(url),
        url,
    ]


def quiet(url: str) -> list[str]:
    """Options with which the browser calls nobody but the host of `url`."""
    rules = "MAP * ~NOTFOUND"
    if host := urlsplit(url).hostname:
        rules += f" , EXCLUDE {host}"
    options = [
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-extensions",
        "--disable-sync",
        "--no-default-browser-check",
        "--no-first-run",
        "--no-proxy-server",
        f"--host-resolver-rules={rules}",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")  # with the sandbox it refuses to run as root
    return options


def _run(command: list[str], output: Path) -> str:
    """Runs the browser with its output in a file; returns why it failed, or ""."""
    # Into a file: a helper process that outlives the browser would keep a pipe open.
    with output.open("wb") as file:
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, timeout=TIMEOUT
            )
        except subprocess.TimeoutExpired:
            return f"it was not done after {TIMEOUT:g} seconds."
        except OSError as error:
            return f"it cannot be started: {error.strerror}."
    return f"it ended with status {done.returncode}." if done.returncode else ""


def _text(output: Path) -> str:
    return output.read_text(encoding="utf-8", errors="replace")


def _last_lines(output: Path) -> str:
    """The browser's last messages; without a desktop it complains about that bus all the time."""
    lines = _text(output).splitlines()
    messages = [line for line in lines if line.strip() and "dbus" not in line]
    return " / ".join(line[:300] for line in messages[-3:] if not line.lstrip().startswith("<"))
