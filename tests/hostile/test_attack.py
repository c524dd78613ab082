"""The harness itself: each of its limits has been reached once."""

import os
from pathlib import Path

import pytest

from tests.hostile import attack as harness
from tests.hostile.attack import attack, refused, watched


def test_an_error_is_one_line_with_status_1(tmp_path: Path) -> None:
    assert "is not a run" in refused("report", tmp_path)


def test_what_is_opened_is_seen(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    with watched() as opened:
        link.write_text("x")
        link.read_text()
        link.unlink()
        os.replace(real, tmp_path / "other")
    assert opened.read == {real}
    assert opened.written == {real, link}


def test_limits_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(work: str) -> None:
        monkeypatch.setattr(harness, "main", lambda: exec(work, {"path": tmp_path / "secret"}))
        attack("x", never=[tmp_path / "secret"])

    (tmp_path / "secret").write_text("s")
    with pytest.raises(AssertionError, match="MB"):
        run("b'x' * 600_000_000")
    with pytest.raises(AssertionError, match="was written"):
        run("path.with_name('new').write_text('x')")
    with pytest.raises(AssertionError, match="was opened"):
        run("path.read_text()")
    with pytest.raises(AssertionError, match="Traceback"):
        run("print('Traceback (most recent call last)')")
    monkeypatch.setattr(harness, "SECONDS", 0.01)
    with pytest.raises(AssertionError, match="seconds"):
        run("import time; time.sleep(1)")
    monkeypatch.setattr(harness, "HANG", 1)
    with pytest.raises(AssertionError, match="it hangs"):
        run("import time; time.sleep(30)")
