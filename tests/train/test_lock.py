"""One training at a time writes to a folder, and a killed one leaves no lock behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.train.toy import classify
from unspool.train import resume
from unspool.train.config import config_text
from unspool.train.lock import LOCK, locked
from unspool.train.runs import config_plain, train

CODE = """
import sys
from unspool.cli import main
sys.argv[1:] = ["train", "classify", "--config", sys.argv[1], "--out", sys.argv[2]]
main()
"""


def started(settings: Path, out: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", CODE, str(settings), str(out)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )  # fmt: skip


def settings_of(folder: Path, **train_settings: object) -> Path:
    path = folder / "settings.yaml"
    path.write_text(config_text(config_plain(classify(folder, **train_settings))))
    return path


def test_of_two_processes_one_is_refused_and_a_kill_frees_the_folder(tmp_path: Path) -> None:
    settings, out = settings_of(tmp_path, epochs=100_000, save_steps=1), tmp_path / "run"
    first = started(settings, out)
    try:
        while not list(out.glob("checkpoints/step-*")):
            assert first.poll() is None, first.communicate()[0]
            time.sleep(0.05)
        second = started(settings, out)
        said, _ = second.communicate(timeout=120)
        assert second.returncode == 1
        assert f"error: another process is training in {out}" in said
        with pytest.raises(ValueError, match="another process is training"):
            resume(out)
        assert first.poll() is None  # and goes on
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate()
    assert (out / LOCK).exists()
    with locked(out, print):  # the file alone is no lock
        pass
    assert not (out / LOCK).exists()


def test_threads_are_refused_too(tmp_path: Path) -> None:
    with locked(tmp_path, print), pytest.raises(ValueError, match="another process is training"):
        train(classify(tmp_path), tmp_path)
