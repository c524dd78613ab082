"""Every snippet of the README and the docs runs, and every shown output is what comes out."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENV = os.environ | {"OMP_NUM_THREADS": "1"}  # tests run side by side, one process a core
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_snippets_run(page: Path, tmp_path: Path) -> None:
    """All of a page in one process, from top to bottom; warnings are errors there too."""
    code = "\n".join(blocks(page, "python"))
    # torch.compile warns of the first release of Python 3.13
    allowed = "ignore:Guards may run slower:RuntimeWarning"
    command = [sys.executable, "-W", "error", "-W", allowed, "-c", code]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=ENV
    )
    assert result.returncode == 0, result.stderr
    shown = re.findall(r"^# (.*\(\d.*)$", code, re.M)  # outputs shown as comments
    for line in shown:
        assert line in result.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_print_what_is_shown(page: Path) -> None:
    for block in blocks(page, "console"):
        first, expected = block.split("\n", 1)
        assert first.startswith("$ unspool ")
        code = "from unspool.cli import main; main()"
        command = [sys.executable, "-c", code, *shlex.split(first)[2:]]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (result.stdout + result.stderr).rstrip() == expected.rstrip()


def test_the_readme_lists_every_cell() -> None:
    import unspool as us

    text = (ROOT / "README.md").read_text()
    exported = {k for k, v in vars(us.cells).items() if isinstance(v, us.CellType)}
    assert exported == set(re.findall(r"`(\w+)`", text.split("## The cells")[1])) & exported


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
