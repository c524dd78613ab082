"""A checkpoint is there in full, or the one before it is."""

import errno
import os
import random
from pathlib import Path

import pytest
import torch

from unspool.train.checkpoint import Checkpoints, pack
from unspool.train.durable import UNFINISHED, write_durably


def checkpoints_in(folder: Path) -> Checkpoints:
    """Of small values, which are not those of a training."""
    return Checkpoints(folder, check=lambda value: None)


def step_of(value: dict[str, int] | None) -> int | None:
    return None if value is None else value["step"]


def written(folder: Path, steps: int) -> Checkpoints:
    checkpoints = checkpoints_in(folder)
    for step in range(1, steps + 1):
        checkpoints.write(step, {"step": step, "weights": torch.randn(20)})
    return checkpoints


def test_the_newest_is_read_and_two_are_kept(tmp_path: Path) -> None:
    checkpoints = written(tmp_path, 4)
    value, problems = checkpoints.read()
    assert (step_of(value), problems) == (4, [])
    assert len(list(tmp_path.glob("*.safetensors"))) == 2


def test_none_at_all(tmp_path: Path) -> None:
    assert checkpoints_in(tmp_path / "nowhere").read() == (None, [])


def test_any_flipped_bit_is_found_and_the_older_one_used(tmp_path: Path) -> None:
    checkpoints = written(tmp_path, 2)
    newest = checkpoints.paths()[0]
    good = newest.read_bytes()
    draw = random.Random(0)
    for _ in range(30):
        data = bytearray(good)
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        newest.write_bytes(data)
        value, problems = checkpoints.read()
        assert step_of(value) == 1
        assert len(problems) == 1
        assert newest.name in problems[0]


def test_two_good_ones_are_kept_after_a_damaged_one(tmp_path: Path) -> None:
    checkpoints = written(tmp_path, 2)
    checkpoints.paths()[0].write_bytes(b"rubbish")
    assert step_of(checkpoints.read()[0]) == 1
    checkpoints.write(2, {"step": 2})
    checkpoints.paths()[0].write_bytes(b"rubbish")
    assert step_of(checkpoints.read()[0]) == 1


def test_equal_values_are_equal_files() -> None:
    value = {"a": torch.ones(3), "b": [1, {"c": 2.5}], "d": "text"}
    assert len({pack(value) for _ in range(20)}) == 1


def test_a_file_cut_short_is_found(tmp_path: Path) -> None:
    checkpoints = written(tmp_path, 2)
    newest = checkpoints.paths()[0]
    newest.write_bytes(newest.read_bytes()[:-5])
    assert step_of(checkpoints.read()[0]) == 1


@pytest.mark.parametrize("pointer", [b"", b"nonsense", b"\xff\xfe"])
def test_a_lost_pointer_does_no_harm(tmp_path: Path, pointer: bytes) -> None:
    checkpoints = written(tmp_path, 3)
    (tmp_path / "last").write_bytes(pointer)
    assert step_of(checkpoints.read()[0]) == 3


def test_a_kill_before_the_pointer_leaves_the_older_one(tmp_path: Path) -> None:
    """The pointer comes last: until it names the new file the old one is meant."""
    checkpoints = written(tmp_path, 2)
    older = checkpoints.paths()[1]
    (tmp_path / "last").write_text(older.name)
    assert step_of(checkpoints.read()[0]) == 1


def test_what_a_kill_left_is_swept_up(tmp_path: Path) -> None:
    (tmp_path / f".step-1{UNFINISHED}").write_bytes(b"half")
    written(tmp_path, 1)
    assert not list(tmp_path.glob(f".*{UNFINISHED}"))


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_is_reported_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    checkpoints = written(tmp_path, 2)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(OSError, match="No space left on device; what was there before"):
            checkpoints.write(3, {"step": 3})
    assert step_of(checkpoints.read()[0]) == 2
    assert not list(tmp_path.glob(f".*{UNFINISHED}"))


def test_a_file_that_is_replaced_is_old_or_new(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_durably(path, b"old")
    write_durably(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]
