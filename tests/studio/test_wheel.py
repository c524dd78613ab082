"""What people install: it brings the page, and building it takes no Node."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.studio.raw import request

ROOT = Path(__file__).parent.parent.parent
CODE = """
import unspool
from unspool.studio.server import serve
print(unspool.__file__, flush=True)
serve(None, port=0, open_browser=False)
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    options += ["--disable-pip-version-check", "--wheel-dir", str(folder)]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, str(ROOT)],
        env={**os.environ, "PATH": str(folder / "nothing")},
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_wheel_has_the_page_and_nothing_that_builds_it(unpacked: Path) -> None:
    page = unpacked / "unspool" / "studio" / "page"
    assert {path.name for path in page.iterdir()} >= {"index.html", "page.css", "page.js"}
    for path in page.iterdir():
        assert path.read_bytes() == (ROOT / "src" / path.relative_to(unpacked)).read_bytes()
    names = {path.name for path in unpacked.rglob("*")}
    assert not names & {"node_modules", "package.json", "tests", "__pycache__"}
    assert not list(unpacked.rglob("*.ts*"))


def test_what_is_installed_serves_the_page(unpacked: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CODE],
        cwd=unpacked,
        env={**os.environ, "PYTHONPATH": str(unpacked), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert Path(process.stdout.readline().strip()).is_relative_to(unpacked)
            url = process.stdout.readline().split()[1]
            for path, file in (("/", "index.html"), ("/page.js",) * 2, ("/page.css",) * 2):
                answer = request(url, path=path)
                found = unpacked / "unspool" / "studio" / "page" / file.strip("/")
                assert (answer.status, answer.body) == (200, found.read_bytes())
        finally:
            process.kill()
