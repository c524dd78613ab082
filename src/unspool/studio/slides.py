"""A report as pictures, one for each of its views, taken by the machine's own browser."""

from collections.abc import Callable, Sequence
from pathlib import Path

from unspool.studio.browser import find_browser, screenshot

WIDTH, HEIGHT = 1400, 800  # pixels; a taller view makes a taller picture


def slides(
    report: Path,
    views: Sequence[str],
    folder: Path,
    *,
    dark: bool = False,
    tell: Callable[[str], None] = lambda what: None,
) -> list[Path]:
    """Writes VIEW.png for each of these views of a report into the folder."""
    browser = find_browser()
    if browser is None:
        raise ValueError(
            "pictures are taken by a browser, and there is no Chromium or Chrome here: install "
            "one, or name it in CHROMIUM; the report itself needs none"
        )
    folder.mkdir(parents=True, exist_ok=True)
    taken = []
    for view in views:
        tell(f"picture of {view}")
        path, link = folder / f"{view}.png", f"{report.resolve().as_uri()}#/{view}"
        screenshot(browser, link, path, WIDTH, HEIGHT, dark=dark)
        taken.append(path)
    return taken
