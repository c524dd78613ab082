"""Small files of a run that would take much time or memory, and values that do not fit together."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.attack import attack, refused
from tests.hostile.folders import edit, put_header, sign
from unspool.train.checkpoint import pack, read_packed

Mailed = Callable[..., Path]
BRACKETS = b"[" + b"[]," * 15_000_000 + b"[]]"


def add(run: Path, name: str, content: bytes) -> None:
    """A further file with a checksum."""
    (run / name).write_bytes(content)
    sign(run, name)


def test_a_vocabulary_of_brackets(mailed: Mailed) -> None:
    run = mailed()
    add(run, "vocab/more.json", BRACKETS)
    assert "more.json is damaged: it has" in refused("score", run, text="def", inside=[run])


def test_files_that_nobody_has_named_are_not_read(mailed: Mailed) -> None:
    run = mailed()
    (run / "vocab/more.json").write_bytes(BRACKETS)
    for number in range(1000):
        (run / f"vocab/a{number}.json").write_text("{")
    (run / "vocab/more.safetensors").write_bytes(BRACKETS)
    assert attack("score", run, text="def", inside=[run]).status == 0


def test_more_names_than_a_run_has(mailed: Mailed) -> None:
    run = mailed()
    names = {f"vocab/a{number}.json": "0" * 64 for number in range(10_000)}
    (run / "checksums.json").write_text(json.dumps(names))
    assert "checksums.json is damaged" in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize("name", ["../secret", "vocab/../../secret", "vocab/a/b.json", "/secret"])
def test_names_of_elsewhere_are_not_read(mailed: Mailed, secret: Path, name: str) -> None:
    run = mailed()
    names = json.loads((run / "checksums.json").read_text()) | {name: "0" * 64}
    (run / "checksums.json").write_text(json.dumps(names))
    assert attack("score", run, text="def", inside=[run], never=[secret]).status == 0


@pytest.mark.parametrize("name", ["model.safetensors", "vocab/ngram.safetensors"])
def test_a_header_of_brackets(mailed: Mailed, name: str) -> None:
    run = mailed()
    put_header(run / name, {"__metadata__": {"unspool": BRACKETS.decode()}})
    assert name in refused("score", run, text="def", inside=[run])


def test_a_large_file_that_takes_no_room(mailed: Mailed) -> None:
    run = mailed()
    path = run / "vocab/ngram.safetensors"
    size = 3 << 30
    header = {"a": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + size)
    assert "was not copied in full" in refused("score", run, text="def", inside=[run])


def test_a_number_in_base_60(mailed: Mailed) -> None:
    run = mailed()
    with (run / "config.yaml").open("a") as file:
        file.write("more: 1" + ":1" * 30_000 + "\n")
    assert "there is no setting more" in refused("score", run, text="def", inside=[run])


def test_a_setting_of_many_values(mailed: Mailed) -> None:
    run = mailed()
    with (run / "config.yaml").open("a") as file:
        file.write("more: [" + "a, " * 20_000 + "a]\n")
    assert "config.yaml" in refused("score", run, text="def", inside=[run])


def test_a_line_of_the_log_with_much_beside_its_numbers(mailed: Mailed) -> None:
    run = mailed("classify")
    line = b'{"step": 1, "epoch": 1, "loss": 1.0, "lr": 1.0, "gradient_norm": 1.0, "seconds": 1'
    with (run / "metrics.jsonl").open("ab") as log:
        log.write(line + b', "more": ' + BRACKETS[: 20 << 20] + b"]}\n")
        log.write(line + b', "more": "<b>more</b>"}\n')
    outcome = attack("report", run, inside=[run])
    assert outcome.status == 0
    assert "1 of its lines are damaged" in " ".join(outcome.output.split())
    assert "<b>more" not in (run / "report.html").read_text()


def test_a_folder_of_classes_with_a_fifo(mailed: Mailed, tmp_path: Path) -> None:
    run, folder = mailed("classify"), tmp_path / "classes"
    folder.mkdir()
    (folder / "a.txt").write_text("some\ntexts\n")
    os.mkfifo(folder / "b.txt")
    edit(run, **{"data.train": str(folder), "data.format": "folder"})
    assert "b.txt" in refused("train", "--resume", run, inside=[run])


ASSETS: dict[str, tuple[str, str, Any, str]] = {
    "a scale of nothing": ("classify", "scale", [0, 0], "spread above 0"),
    "a scale below 0": ("classify", "scale", [0, -1], "spread above 0"),
    "n-grams of no model": ("classify", "ngrams", [[5] * 3000], "runs of at most 0"),
    "half a letter for a label": ("classify", "labels", ["\ud800", "b"], "surrogate"),
    "classes of no model": ("lm", "classes", ["", "a"], "classes"),
}


@pytest.mark.parametrize("name", ASSETS)
def test_assets_that_do_not_fit(mailed: Mailed, name: str) -> None:
    task, file, value, said = ASSETS[name]
    run = mailed(task)
    add(run, f"vocab/{file}.json", json.dumps(value).encode())
    command = "score" if task == "lm" else "predict"
    assert said in refused(command, run, text="def\n", inside=[run])


def test_classes_without_lines(mailed: Mailed) -> None:
    run = mailed()
    edit(run, **{"model.lines": True, "model.classes": True})
    assert "classes" in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize("value", [-0.5, 1.5, float("nan")])
def test_counts_that_are_no_shares(mailed: Mailed, value: float) -> None:
    run = mailed()
    path = run / "vocab/ngram.safetensors"
    counts = read_packed(path)
    counts["levels"][1][1][0] = value
    add(run, "vocab/ngram.safetensors", pack(counts))
    assert "no shares of probability" in refused("score", run, text="def", inside=[run])


def test_escapes_of_a_terminal_are_shown_and_not_sent(mailed: Mailed) -> None:
    run = mailed()
    with (run / "config.yaml").open("a") as file:
        file.write('"\\e[31m\\a\\e]0;title\\a": 1\n')
    said = refused("score", run, text="def", inside=[run])
    assert "\x1b" not in said
    assert "\x07" not in said
    assert r"\x1b[31m\x07" in said


def test_what_an_earlier_attempt_left_does_no_harm(tmp_path: Path) -> None:
    """A training that was killed before its first checkpoint may have had other vocabularies."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"a{k % 5} b{k}\tb{k} a{k % 5}\n" for k in range(40)))
    command = ["train", "translate", pairs, "--units", "words", "--hidden", "4", "--epochs", "1"]
    out = tmp_path / "run"
    assert attack(*command, "--out", out, inside=[tmp_path]).status == 0
    shutil.rmtree(out / "checkpoints")
    (out / "model.safetensors").unlink()
    assert attack(*command, "--joint", "--out", out, inside=[tmp_path]).status == 0
    assert (out / "vocab/source.json").exists()  # of the first one; this one has "text"
    assert attack("translate", out, text="a1 b1\n").status == 0


def test_a_finished_run_without_its_checkpoints_is_not_overwritten(mailed: Mailed) -> None:
    run = mailed("classify")
    shutil.rmtree(run / "checkpoints")
    before = (run / "model.safetensors").read_bytes()
    said = refused("train", "classify", "builtin:words", "--out", run, inside=[run])
    assert "holds a run already" in said
    assert (run / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("target", ["fifo", "/dev/null"])
def test_a_report_does_not_replace_what_is_no_file(
    mailed: Mailed, tmp_path: Path, target: str
) -> None:
    run, path = mailed("classify"), tmp_path / target
    if target == "fifo":
        os.mkfifo(path)
    assert "is no plain file" in refused("report", run, "-o", path, inside=[run])
