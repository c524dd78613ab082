"""Small trained runs, and copies of them to be tampered with."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.folders import SECRET
from tests.studio import runs

KINDS = {
    "lm": runs.language,
    "classify": runs.classifier,
    "translate": runs.translator,
    "tag": runs.tagger,
}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The run of a task, trained when it is first asked for."""
    made: dict[str, Path] = {}

    def run(task: str) -> Path:
        if task not in made:
            made[task] = KINDS[task](tmp_path_factory.mktemp(task))
        return made[task]

    return run


@pytest.fixture
def mailed(trained: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a run, as it might come by mail."""

    def copy(task: str = "lm") -> Path:
        return Path(shutil.copytree(trained(task), tmp_path / "run"))

    return copy


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that no attack may read or write."""
    path = tmp_path / "secret"
    path.write_text(SECRET)
    return path
