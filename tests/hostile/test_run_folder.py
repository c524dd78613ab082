"""Links, devices and paths in a run folder from somebody else: nothing outside is touched."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.attack import attack, refused
from tests.hostile.folders import SECRET, edit, plant

Mailed = Callable[..., Path]

RESUME = ("train", "--resume")
# Every file of a run, with a command that reads it.
FILES = {
    "config.yaml": ("score",),
    "checksums.json": ("score",),
    "model.safetensors": ("score",),
    "vocab/text.json": ("score",),
    "vocab/ngram.safetensors": ("score",),
    "held_out.json": ("report",),
    "metrics.jsonl": ("report",),
    "data.json": RESUME,
    "checkpoints/last": RESUME,
}


@pytest.mark.parametrize("kind", ["a link", "a FIFO", "a folder", "a socket"])
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_plain_file_is_not_read(
    mailed: Mailed, secret: Path, name: str, kind: str
) -> None:
    run = mailed()
    plant(run / name, kind, secret)
    said = refused(*FILES[name], run, text="def", inside=[run], never=[secret])
    assert f"{name} is {kind}" in said
    assert secret.read_text() == SECRET


@pytest.mark.parametrize("kind", ["a link", "a FIFO"])
def test_a_checkpoint_that_is_no_plain_file_is_not_read(
    mailed: Mailed, secret: Path, kind: str
) -> None:
    run = mailed()
    for path in (run / "checkpoints").glob("step-*"):
        plant(path, kind, secret)
    said = refused(*RESUME, run, inside=[run], never=[secret])
    assert f"is {kind}" in said


@pytest.mark.parametrize("name", ["vocab", "checkpoints"])
def test_a_folder_of_a_run_is_no_link(mailed: Mailed, tmp_path: Path, name: str) -> None:
    run, elsewhere = mailed(), tmp_path / "elsewhere"
    os.rename(run / name, elsewhere)
    (run / name).symlink_to(elsewhere)
    before = {path.name: path.read_bytes() for path in elsewhere.iterdir()}
    command = ("score",) if name == "vocab" else RESUME
    assert f"{name} is a link" in refused(*command, run, text="def", inside=[run])
    assert {path.name: path.read_bytes() for path in elsewhere.iterdir()} == before


def test_a_device_is_not_read(mailed: Mailed) -> None:
    """Writing devices needs a privilege, so this is a link to one, as for anybody."""
    run = mailed()
    plant(run / "vocab/text.json", "a link", Path("/dev/zero"))
    assert "is a link" in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("config.yaml", "at most"),
        ("vocab/text.json", "at most"),
        ("vocab/ngram.safetensors", "no header"),
        ("model.safetensors", "no header"),
    ],
)
def test_a_file_without_an_end_is_not_read(mailed: Mailed, name: str, said: str) -> None:
    """A file of a terabyte takes no room on the disk if nothing is in it."""
    run = mailed()
    os.truncate(run / name, 0)
    os.truncate(run / name, 1 << 40)
    assert said in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize("name", ["report.html", ".report.html.unfinished"])
def test_a_report_replaces_a_link_and_does_not_follow_it(
    mailed: Mailed, secret: Path, name: str
) -> None:
    run = mailed("translate")
    plant(run / name, "a link", secret)
    assert attack("report", run, inside=[run]).status == 0
    assert secret.read_text() == SECRET
    assert stat.S_ISREG(os.lstat(run / "report.html").st_mode)


def test_a_picture_replaces_a_link_and_does_not_follow_it(secret: Path, tmp_path: Path) -> None:
    from unspool.train.durable import write_durably

    plant(tmp_path / "cell.png", "a link", secret)
    write_durably(tmp_path / "cell.png", b"png")
    assert secret.read_text() == SECRET
    assert not (tmp_path / "cell.png").is_symlink()


@pytest.mark.parametrize("name", ["metrics.jsonl", ".lock", "checkpoints", "vocab"])
def test_training_on_does_not_write_through_a_link(
    mailed: Mailed, secret: Path, tmp_path: Path, name: str
) -> None:
    run, target = mailed("classify"), secret
    edit(run, **{"train.epochs": 3})
    if name in ("checkpoints", "vocab"):
        target = tmp_path / "strangers"
        os.rename(run / name, target)
        (run / name).symlink_to(target)
    else:
        plant(run / name, "a link", secret)
    names = os.listdir(tmp_path / "strangers") if target.is_dir() else []
    assert "is a link" in refused(*RESUME, run, inside=[run], never=[secret])
    assert secret.read_text() == SECRET
    assert not target.is_dir() or os.listdir(target) == names


def test_training_on_does_not_write_through_a_hard_link(mailed: Mailed, secret: Path) -> None:
    run = mailed("classify")
    edit(run, **{"train.epochs": 3})
    (run / "metrics.jsonl").unlink()
    os.link(secret, run / "metrics.jsonl")
    assert attack(*RESUME, run, inside=[run]).status == 0
    assert secret.read_text() == SECRET


def test_weights_replace_a_link(mailed: Mailed, secret: Path) -> None:
    run = mailed("classify")
    edit(run, **{"train.epochs": 2})
    plant(run / "model.safetensors", "a link", secret)
    assert attack(*RESUME, run, inside=[run]).status == 0
    assert secret.read_text() == SECRET


def test_damaged_weights_are_written_anew_from_the_checkpoint(mailed: Mailed) -> None:
    """Also where the run had come to its end, and no better epoch follows."""
    run = mailed("classify")
    weights = run / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    outcome = attack(*RESUME, run, inside=[run])
    assert "model.safetensors is damaged" in " ".join(outcome.output.split())
    assert weights.read_bytes() == whole


def test_curves_are_not_written_through_a_link(mailed: Mailed, tmp_path: Path) -> None:
    run, elsewhere = mailed("classify"), tmp_path / "elsewhere"
    edit(run, **{"train.epochs": 2, "train.tensorboard": True})
    elsewhere.mkdir()
    (run / "tensorboard").symlink_to(elsewhere)
    assert "tensorboard is a link" in refused(*RESUME, run, inside=[run])
    assert not list(elsewhere.iterdir())


def test_a_new_run_is_not_written_through_links(mailed: Mailed, secret: Path) -> None:
    """A folder without a run in it, with links where the files of one will be."""
    run = mailed("classify")
    out = run.parent / "out"
    out.mkdir()
    (out / "vocab").symlink_to(run.parent)
    data = run.parent / "words.tsv"
    data.write_text("".join(f"{'ab' * n}\tx\n{'ba' * n}\ty\n" for n in range(1, 30)))
    said = refused("train", "classify", data, "--out", out, "--epochs", "1", inside=[out])
    assert "vocab is a link" in said


@pytest.mark.parametrize("name", ["data.train", "data.dev"])
@pytest.mark.parametrize("kind", ["file", "/dev/zero", "FIFO"])
def test_looking_reads_no_file_that_the_settings_name(
    mailed: Mailed, secret: Path, tmp_path: Path, name: str, kind: str
) -> None:
    run = mailed("translate")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    target = {"file": secret, "/dev/zero": Path("/dev/zero"), "FIFO": fifo}[kind]
    edit(run, **{name: str(target)})
    (run / "held_out.json").unlink()
    assert attack("report", run, inside=[run], never=[target]).status == 0
    report = (run / "report.html").read_text()
    assert SECRET.strip() not in report
    assert str(tmp_path) not in report


@pytest.mark.parametrize("kind", ["/dev/zero", "FIFO"])
def test_training_on_reads_no_device(mailed: Mailed, tmp_path: Path, kind: str) -> None:
    run, target = mailed("classify"), tmp_path / "fifo"
    os.mkfifo(target)
    target = Path("/dev/zero") if kind == "/dev/zero" else target
    edit(run, **{"data.train": str(target)})
    assert "no plain file" in refused(*RESUME, run, inside=[run], never=[target])


@pytest.mark.parametrize("name", ["model.vectors", "model.context"])
def test_looking_reads_neither_vectors_nor_other_runs(
    mailed: Mailed, secret: Path, name: str
) -> None:
    run = mailed("tag")
    edit(run, **{name: str(secret)})
    attack("predict", run, text="the\ndog\n", inside=[run], never=[secret])


@pytest.mark.parametrize("cell", ["/etc/passwd", "secret", "-", "../secret"])
def test_a_cell_is_never_a_file(mailed: Mailed, secret: Path, cell: str) -> None:
    run = mailed()
    edit(run, **{"model.cell": cell})
    said = refused("score", run, text="def", inside=[run], never=[secret, Path("/etc/passwd")])
    assert "a built-in name or equations" in said
