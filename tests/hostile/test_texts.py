"""Vocabularies, logs and lists of a mailed run: JSON that is not what training writes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.attack import attack, refused
from tests.hostile.folders import edit, sign
from unspool.train.log import odd_lines, parse_metrics

Mailed = Callable[..., Path]

JSON = {
    "nothing": b"",
    "no JSON": b"{",
    "brackets": b"[" * 100_000,
    "names in names": b'{"a":' * 100_000,
    "bytes": b"\xff\xfe\x00",
    "a number": b"7",
    "null": b"null",
    "a long number": b"9" * 6000,
    "a number without an end": b"1e999999",
    "not a number": b"NaN",
    "a text": b'"abc"',
    "a list of lists": b"[[1], [2]]",
    "an empty list": b"[]",
    "an empty object": b"{}",
    "numbers for names": b'{"1": 2}',
    "half a pair of surrogates": b'["\\ud800"]',
}


@pytest.mark.parametrize("name", JSON)
def test_a_vocabulary_that_is_none(mailed: Mailed, name: str) -> None:
    """Its checksum is right: an attacker can write that too."""
    run = mailed()
    (run / "vocab/text.json").write_bytes(JSON[name])
    sign(run, "vocab/text.json")
    assert "vocab" in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize("task", ["classify", "tag", "translate"])
@pytest.mark.parametrize("name", ["a number", "an empty list", "a list of lists", "null"])
def test_each_vocabulary_of_a_task(mailed: Mailed, task: str, name: str) -> None:
    run = mailed(task)
    command = "translate" if task == "translate" else "predict"
    valid = {"a number": ["longest"], "an empty list": ["tags"] if task == "translate" else []}
    for path in sorted((run / "vocab").glob("*.json")):
        if path.stem in valid.get(name, []):
            continue
        before = path.read_bytes()
        path.write_bytes(JSON[name])
        sign(run, f"vocab/{path.name}")
        assert str(run) in refused(command, run, text="def\n", inside=[run])
        path.write_bytes(before)
        sign(run, f"vocab/{path.name}")


@pytest.mark.parametrize("name", JSON)
def test_checksums_that_are_none(mailed: Mailed, name: str) -> None:
    run = mailed()
    (run / "checksums.json").write_bytes(JSON[name])
    assert "checksums.json" in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize("name", sorted(JSON.keys() - {"an empty list"}))
def test_held_out_texts_that_are_none(mailed: Mailed, name: str) -> None:
    run = mailed()
    (run / "held_out.json").write_bytes(JSON[name])
    sign(run, "held_out.json")
    outcome = attack("report", run, inside=[run])
    assert "held_out.json" in outcome.output or name == "half a pair of surrogates"


# A line of metrics.jsonl that no training writes. It is left out, and the others are shown.
LINES = {
    **JSON,
    "no step": b'{"epoch": 1, "loss": 2.0}',
    "a step that is text": b'{"step": "1", "epoch": 1, "loss": 2.0}',
    "a loss that is a list": b'{"step": 1, "epoch": 1, "loss": [2.0]}',
    "a loss of 6,000 digits": b'{"step": 1, "epoch": 1, "loss": ' + b"9" * 6000 + b"}",
    "scores that are text": b'{"step":1,"epoch":1,"mean_loss":1.0,"dev":"x","best":true}',
    "a score that is a list": b'{"step":1,"epoch":1,"mean_loss":1.0,"dev":{"a":[1]},"best":true}',
    "best that is a number": b'{"step":1,"epoch":1,"mean_loss":1.0,"dev":{},"best":2}',
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_the_log_that_is_none(name: str) -> None:
    whole = b'{"step": 1, "epoch": 1, "loss": 2.0, "lr": 0.1, "gradient_norm": 1.0, "seconds": 1}'
    assert len(parse_metrics(b"\n".join([whole, LINES[name], whole]))) == 2


def test_a_report_of_a_log_of_odd_lines(mailed: Mailed) -> None:
    run = mailed("classify")
    with (run / "metrics.jsonl").open("ab") as log:
        log.write(b"\n".join(LINES.values()) + b"\n")
    outcome = attack("report", run, inside=[run])
    assert outcome.status == 0
    note = f"metrics.jsonl: {len(LINES)} of its lines are damaged, and left out"
    assert note in " ".join(outcome.output.split())


def test_epochs_are_measured_by_the_same_scores() -> None:
    """A bit may have flipped in the name of a score."""
    epoch = '{"step": %d, "epoch": 1, "mean_loss": 1.0, "dev": {"%s": 0.5}, "best": true}'
    log = "\n".join(epoch % line for line in ((1, "accuracy"), (2, "acburacy"), (3, "accuracy")))
    assert [line["step"] for line in parse_metrics(log.encode())] == [1, 3]
    assert odd_lines(log.encode()) == [2]


@pytest.mark.parametrize("name", JSON)
def test_data_of_a_run_that_are_none(mailed: Mailed, name: str) -> None:
    """data.json is in the checkpoint too, so training goes on."""
    run = mailed("classify")
    edit(run, **{"train.epochs": 2})
    (run / "data.json").write_bytes(JSON[name])
    outcome = attack("train", "--resume", run, inside=[run])
    assert "data.json" in outcome.output


def test_a_pointer_to_elsewhere(mailed: Mailed, secret: Path) -> None:
    run = mailed("classify")
    (run / "checkpoints/last").write_text("../../secret\n")
    assert attack("train", "--resume", run, inside=[run], never=[secret]).status == 0


def test_markup_in_texts_stays_text(mailed: Mailed) -> None:
    run = mailed("classify")
    texts = ["</script><script>alert(1)</script>", "<!--", "\u2028"]
    (run / "held_out.json").write_text(json.dumps(texts))
    sign(run, "held_out.json")
    assert attack("report", run, inside=[run]).status == 0
    assert "<script>alert(1)" not in (run / "report.html").read_text()
