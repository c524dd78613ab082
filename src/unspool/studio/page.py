"""The built page: one file of markup, one of script, one of style."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("page")
INDEX, SCRIPT, STYLE = "index.html", "page.js", "page.css"


@dataclass(frozen=True)
class Page:
    """The texts of the three files; the index asks for the other two by their names."""

    index: str
    script: str
    style: str


def read_page(folder: Path = FOLDER) -> Page:
    """The page as it was built; what is missing is said, and how to build it."""
    return Page(*(_read(folder / name) for name in (INDEX, SCRIPT, STYLE)))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"the studio's page cannot be read: {path}: {reason}. In a copy of the source, build "
            "it with `npm ci` and `npm run build` in studio/; else install Unspool again"
        ) from error
