"""Translating from the command line, as a person does; the demo."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.test_commands import fine, run, wrong

PAIRS = [("ab", "ba"), ("abc", "cba"), ("b", "b"), ("cab", "bac"), ("ca", "ac"), ("bb", "bb")] * 4
SMALL = ["--units", "characters", "--hidden", "8", "--embedding", "6", "--cell", "gru"]
SHORT = ["--epochs", "2", "--batch", "60", "--measure", "exact"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A translator from a table, its reverse from parallel files, a language model of lines."""
    folder = tmp_path_factory.mktemp("translate")
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    for name, side in (("source", 0), ("target", 1)):
        (folder / f"{name}.txt").write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
    fine("train", "translate", str(folder / "pairs.tsv"), *out(folder, "t"), *SMALL, *SHORT)
    both = ["--source", str(folder / "target.txt"), "--target", str(folder / "source.txt")]
    fine("train", "translate", *both, *out(folder, "r"), *SMALL, *SHORT)
    lines = ["--lines", "--epochs", "1", "--hidden", "6", "--embedding", "4", "--cell", "gru"]
    fine("train", "lm", str(folder / "target.txt"), *out(folder, "l"), *lines)
    return folder


def out(folder: Path, name: str) -> list[str]:
    return ["--out", str(folder / name)]


def test_a_line_comes_out_for_each_that_goes_in(folder: Path) -> None:
    lines = ["ab", "", "unknown: ☃", "abc" * 400, "   ", "ab"]
    shown = fine("translate", str(folder / "t"), stdin="\n".join(lines) + "\n").split("\n")
    assert len(shown) == len(lines) + 1
    assert shown[0] == shown[5]
    file = folder / "some.txt"
    file.write_text("\n".join(lines), encoding="utf-8")
    assert fine("translate", str(folder / "t"), str(file)).split("\n") == shown
    assert fine("translate", str(folder / "t"), stdin="") == ""


def test_several_translations_of_a_line(folder: Path) -> None:
    some = ["translate", str(folder / "t"), "--beam", "4", "--nbest", "3"]
    rows = [line.split("\t") for line in fine(*some, stdin="ab\nb\n").splitlines()]
    assert [row[0] for row in rows] == ["1"] * 3 + ["2"] * 3
    objects = [json.loads(x) for x in fine(*some, "--json", stdin="ab\nb\n").splitlines()]
    assert [one["source"] for one in objects] == ["ab", "b"]
    texts = [one["text"] for found in objects for one in found["translations"]]
    assert texts == [row[2] for row in rows]
    for one in objects:  # what a limit cut off comes last
        ranks = [(not found["finished"], -found["score"]) for found in one["translations"]]
        assert ranks == sorted(ranks)


def test_a_blank_line_is_one_of_several_too(folder: Path) -> None:
    some = ["translate", str(folder / "t"), "--beam", "2", "--nbest", "2"]
    rows = fine(*some, stdin="ab\n\nb\n").splitlines()
    assert [row.split("\t")[0] for row in rows] == ["1", "1", "2", "3", "3"]
    assert rows[2] == "2\t0.0000\t"


def test_the_alignment_is_shown(folder: Path) -> None:
    shown = fine("translate", str(folder / "t"), "--align", "--beam", "1", stdin="ab\n")
    assert "<end>" in shown
    found = json.loads(fine("translate", str(folder / "t"), "--align", "--json", stdin="ab\n"))
    aligned = found["translations"][0]["alignment"]
    assert aligned["source"] == ["a", "b", "<end>"]
    assert all(abs(sum(row) - 1) < 1e-5 for row in aligned["weights"])
    assert len(aligned["weights"]) == len(aligned["target"])


def test_bayes_reranks(folder: Path) -> None:
    both = ["--language", str(folder / "l"), "--channel", str(folder / "r")]
    plain = ["translate", str(folder / "t"), "--beam", "3", "--nbest", "3"]
    texts = {line.split("\t")[2] for line in fine(*plain, stdin="ab\n").splitlines()}
    rows = [line.split("\t") for line in fine(*plain, *both, stdin="ab\n").splitlines()]
    assert {row[2] for row in rows} == texts
    scores = [float(row[1]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert "needs both" in wrong("translate", str(folder / "t"), "--language", str(folder / "l"))


def test_evaluate_prints_scores_and_signatures(folder: Path) -> None:
    shown = fine("evaluate", str(folder / "t"), str(folder / "pairs.tsv"), "--tokenize", "char")
    for name in ("bleu", "chrf", "exact", "error", "error_words", "perplexity"):
        assert re.search(rf"^{name} +\d", shown, re.MULTILINE)
    assert "tok:char" in shown
    assert "version:" in shown
    files = [str(folder / "source.txt"), "--target", str(folder / "target.txt"), "--json"]
    found = json.loads(fine("evaluate", str(folder / "t"), *files, "--beam", "1"))
    alone = json.loads(
        fine("evaluate", str(folder / "t"), str(folder / "pairs.tsv"), "--beam", "1", "--json")
    )
    assert found == alone


def test_tables_are_read_as_such(folder: Path) -> None:
    """By the file's name; a tab in plain lines is a character."""
    (folder / "some.tsv").write_text("ab\tba\nb\tb\n")
    (folder / "plain.txt").write_text("ab\nb\n")
    files = [str(folder / name) for name in ("some.tsv", "plain.txt")]
    table, plain = (fine("translate", str(folder / "t"), file) for file in files)
    assert table == plain
    own = wrong("evaluate", str(folder / "t"), str(folder / "some.tsv"), "--target", "x.txt")
    assert "a table with targets of its own" in own
    assert "needs --language" in wrong("translate", str(folder / "t"), "--direct", "0.5")
    assert "--normalise gnmt" in wrong("translate", str(folder / "t"), "--alpha", "0.5")
    assert "name that run too" in wrong("translate", str(folder / "t"), "--channel-tag", "en")


def test_the_answers_are_those_that_are_named(folder: Path) -> None:
    """Also where the sources are the run's own dev data, which have answers of their own."""
    own, other = str(folder / "source.txt"), str(folder / "target.txt")
    files = ["--source", own, "--target", own, "--dev", own, "--dev-target", own]
    fine("train", "translate", *files, *out(folder, "d"), *SMALL, *SHORT)
    (folder / "copy.txt").write_text((folder / "source.txt").read_text())
    shown = [
        fine("evaluate", str(folder / "d"), name, "--target", other, "--beam", "1")
        for name in (own, str(folder / "copy.txt"))
    ]
    assert shown[0] == shown[1]


def test_a_run_goes_on_with_the_files_it_had(folder: Path) -> None:
    config = (folder / "r" / "config.yaml").read_text()
    assert f"target: {folder}/source.txt" in config
    assert "best epoch" in fine("train", "--resume", str(folder / "r"))


def test_mistakes_are_answered(folder: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("a\nb\n")
    files = ["--source", str(folder / "source.txt"), "--target", str(short)]
    found = wrong("train", "translate", *files, "--out", str(tmp_path / "x"))
    assert "has 24 lines and" in found
    assert "has 2:" in found
    assert "where are the translations" in wrong("train", "translate", "--source", "a.txt")
    assert "where are the sources" in wrong("train", "translate", "--target", "a.txt")
    assert "tokenize is one of" in wrong("train", "translate", "a.tsv", "--tokenize", "foo")
    assert "drop --target" in wrong(
        "train", "translate", "builtin:dates", "--target", "a", "--out", str(tmp_path / "y")
    )
    assert "model.project=true" in wrong(
        "train", "translate", str(folder / "pairs.tsv"), "--attention", "dot", "--out", "z"
    )
    assert "unspool translate" in wrong("predict", str(folder / "t"), str(folder / "source.txt"))
    assert "holds no translator" in wrong("translate", str(folder / "l"), str(short))
    assert "has learned no tags" in wrong("translate", str(folder / "t"), str(short), "--tag", "x")
    assert "widen the beam" in wrong("translate", str(folder / "t"), str(short), "--nbest", "9")
    assert "--beam means nothing" in wrong(
        "evaluate", str(folder / "l"), str(folder / "target.txt"), "--beam", "2"
    )
    assert run("translate", str(folder / "t"), "--beam", "0").exit_code != 0


def test_the_demo_leaves_a_model_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short one: what it learns is the business of the real one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["unspool.data.builtin"], "TRAINING_DATES", 300)
    shown = fine("demo", "--epochs", "1")
    assert "without a mistake" in shown
    assert "runs/dates/report.html" in shown
    assert (tmp_path / "runs" / "dates" / "report.html").stat().st_size < 2_000_000
    found = json.loads(fine("demo", "--epochs", "1", "--json"))
    assert found["run"] == "runs/dates-2"
    assert len(found["translations"]) == 8
