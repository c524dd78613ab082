"""The standard library of the running interpreter, as text to model."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path

LEFT_OUT = {
    "__pycache__", "dist-packages", "idlelib", "lib2to3", "site-packages", "test", "tests",
}  # fmt: skip


def python_source(limit: int | None = None) -> str:
    """All modules in the order of their paths, joined with a newline; the first `limit` characters.

    The same for the same release of Python: tests, installed packages and what the build wrote
    (paths and flags of that machine) are left out. Files that are not UTF-8 are too.
    """
    if limit is not None and limit < 0:
        raise ValueError(f"limit is a number of characters, 0 or more, or None; got {limit}")
    root = Path(sysconfig.get_path("stdlib"))
    texts: list[str] = []
    length = 0
    for path in _modules(root):
        if limit is not None and length >= limit:
            break
        try:
            text = path.read_text(encoding="utf-8-sig")  # line ends become \n, a mark is dropped
        except UnicodeDecodeError:
            continue
        texts.append(text)
        length += len(text) + 1
    if not texts and limit != 0:
        raise ValueError(
            f"no module's source lies in {root}, where this Python has its standard library: "
            "use a Python that is installed with its source, or give a file of your own"
        )
    return "\n".join(texts)[:limit]


def _modules(root: Path) -> Iterator[Path]:
    """By the parts of the path, so that the order is the same on every system."""
    found = (path.relative_to(root) for path in root.rglob("*.py"))
    for path in sorted(found, key=lambda path: path.parts):
        folders = path.parts[:-1]
        built = path.parts[0].startswith(("_sysconfigdata", "config-"))
        if not built and not LEFT_OUT.intersection(folders):
            yield root / path
