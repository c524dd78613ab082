"""The page that is committed is the one that its source gives."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "src" / "unspool" / "studio" / "page"
LIMIT = 120_000  # bytes, packed


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh copy of the page's source, with what it needs installed."""
    npm = shutil.which("npm")
    if npm is None:
        return stop("no npm on this machine: install Node 20 or newer to build the page")
    copy = tmp_path_factory.mktemp("bundle") / "studio"
    shutil.copytree(ROOT / "studio", copy, ignore=shutil.ignore_patterns("node_modules"))
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    if done.returncode:
        return stop(f"npm cannot install what builds the page: {done.stderr[-400:]}")
    return copy


def stop(said: str) -> Path:
    """Where everything must be checked this is an error, elsewhere a reason to skip."""
    if os.environ.get("CI") == "true":
        pytest.fail(said)
    pytest.skip(said)


def test_a_fresh_build_gives_the_same_bytes(source: Path, tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=source, check=True)
    fresh = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_bytes() for path in BUILT.iterdir()}
    assert fresh.keys() == committed.keys()
    # Names, not the bytes themselves: pytest would compare those for minutes.
    changed = [name for name, data in fresh.items() if data != committed[name]]
    assert not changed, "the source gives another page than the one committed: npm run build"


def test_the_types_are_right(source: Path) -> None:
    done = subprocess.run(["npm", "run", "-s", "check"], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_page_is_small() -> None:
    packed = sum(len(gzip.compress(path.read_bytes(), 9)) for path in BUILT.iterdir())
    assert packed <= LIMIT


def test_the_lock_names_no_host() -> None:
    assert '"resolved"' not in (ROOT / "studio" / "package-lock.json").read_text()
