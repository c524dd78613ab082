"""Training and using models from the command line, as a person does."""

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.train.toy import labelled
from unspool.cli import app
from unspool.equations.errors import EquationWarning

TAGGED = "\n".join("the\tD\ndog\tN\nran\tV\n\na\tD\ncat\tN\nsat\tV\n" for _ in range(8))
ENTITIES = "\n".join("Ann\tI-P\nSmith\tI-P\nran\tO\n\nin\tO\nRome\tI-L\n" for _ in range(8))


def run(*args: str, stdin: str | None = None) -> Result:
    """What a person's own mistake raises, main() prints: see test_cli."""
    return CliRunner().invoke(app, args, input=stdin)


def fine(*args: str, stdin: str | None = None) -> str:
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def wrong(*args: str) -> str:
    result = run(*args)
    assert isinstance(result.exception, ValueError), (result.output, result.exception)
    return str(result.exception)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small trained model of each task."""
    folder = tmp_path_factory.mktemp("runs")
    small = ["--hidden", "6", "--embedding", "5", "--epochs", "3", "--batch", "60", "--cell", "gru"]
    fine("train", "classify", str(labelled(folder)), "--out", str(folder / "c"), *small)
    for name, text in (("t", TAGGED), ("e", ENTITIES)):
        (folder / f"{name}.conll").write_text(text)
        fine("train", "tag", str(folder / f"{name}.conll"), "--out", str(folder / name), *small)
    (folder / "text.txt").write_text("one two three\n" * 40)
    out = ["--out", str(folder / "l")]
    fine("train", "lm", str(folder / "text.txt"), *out, *small, "--set", "data.steps=10")
    lines = ["--lines", "--classes", "--out", str(folder / "n")]
    fine("train", "lm", str(folder / "toy.tsv"), *lines, *small)
    return folder


def test_a_run_folder_is_what_it_says(runs: Path) -> None:
    names = {path.name for path in (runs / "l").iterdir()}
    assert names == {
        "checkpoints", "checksums.json", "config.yaml", "data.json", "held_out.json",
        "metrics.jsonl", "model.safetensors", "vocab",
    }  # fmt: skip
    assert "version: 2" in (runs / "l" / "config.yaml").read_text()
    for line in (runs / "l" / "metrics.jsonl").read_text().splitlines():
        json.loads(line)


def test_odd_equations_are_said_when_a_training_starts(tmp_path: Path) -> None:
    """Once, and not when the run is used."""
    file, out = tmp_path / "odd.cell", tmp_path / "run"
    file.write_text("h' = tanh(W @ x + U @ h)\no = W_o @ x")
    data = labelled(tmp_path)
    small = ["--hidden", "6", "--embedding", "5", "--epochs", "1", "--batch", "60"]
    with pytest.warns(EquationWarning) as caught:
        fine("train", "classify", str(data), "--out", str(out), "--cell", str(file), *small)
    assert [warning.message.args[0].partition(",")[0] for warning in caught] == [  # type: ignore
        "line 2: o is computed"
    ]
    fine("evaluate", str(out), str(data))  # a warning would be an error here
    fine("train", "--resume", str(out))
    fine("train", "classify", str(data), "--from", str(out), "--out", str(tmp_path / "on"))


def test_the_n_grams_stand_beside_every_perplexity(runs: Path) -> None:
    shown = fine("evaluate", str(runs / "l"), str(runs / "text.txt"))
    assert "perplexity " in shown
    assert "perplexity_of_6-grams" in shown


def test_evaluate_shows_scores_and_what_is_confused(runs: Path) -> None:
    shown = fine("evaluate", str(runs / "c"), str(runs / "toy.tsv"))
    assert re.search(r"^accuracy +[01]\.\d{4}$", shown, re.M)
    assert "gold" in shown
    assert "FB1" in fine("evaluate", str(runs / "e"), str(runs / "e.conll"))
    scores = json.loads(fine("evaluate", str(runs / "t"), str(runs / "t.conll"), "--json"))
    assert 0 <= scores["accuracy"] <= 1


def test_predict_gives_the_format_back(runs: Path) -> None:
    out = fine("predict", str(runs / "c"), "-", stdin="a red apple\n\nan old bus\n").split("\n")
    assert len(out) == 4
    assert out[0].split("\t")[0] == "a red apple"
    assert out[1] == ""
    table = "label\tid\ttext\nfruit\t7\ta pear\n"
    (runs / "in.tsv").write_text(table)
    out = fine("predict", str(runs / "c"), str(runs / "in.tsv"), "--scores").split("\n")
    assert out[0] == "label\tid\ttext\tscore"
    assert re.fullmatch(r"(car|fruit)\t7\ta pear\t(car|fruit)=0\.\d+ .*", out[1])
    tags = fine("predict", str(runs / "t"), "-", stdin="the\ndog\n\nran\n").split("\n")
    assert [line.split(" ")[0] for line in tags] == ["the", "dog", "", "ran", ""]


def test_predict_as_json(runs: Path) -> None:
    out = fine("predict", str(runs / "t"), "-", "--json", "--scores", stdin="the\ndog\n")
    found = json.loads(out)
    assert found["words"] == ["the", "dog"]
    assert len(found["tags"]) == len(found["scores"]) == 2


def test_spans_are_written_as_they_were_read(runs: Path) -> None:
    """IOB1 in, IOB2 within, IOB1 out; and it was said."""
    result = run(
        "train", "tag", str(runs / "e.conll"), "--out", str(runs / "again"), "--epochs", "1"
    )
    assert "the tags are IOB1; the model learns IOB2" in result.stderr
    shutil.rmtree(runs / "again")
    out = fine("predict", str(runs / "e"), str(runs / "e.conll"))
    assert out.count("\n\n") == ENTITIES.count("\n\n")


def test_generate_and_score(runs: Path) -> None:
    run_folder = str(runs / "l")
    texts = json.loads(fine("generate", run_folder, "--prompt", "one ", "--count", "2", "--json"))
    assert len(texts) == 2
    assert all(text.startswith("one ") and len(text) == 204 for text in texts)
    shown = fine("score", run_folder, "-", stdin="one two")
    assert re.search(r"^ +-\d+\.\d{4} +\d+  \"o\"$", shown, re.M)
    found = json.loads(fine("score", run_folder, "-", "--json", stdin="one two"))
    assert found["symbols"] == len(found["tokens"]) == 7
    assert fine("generate", str(runs / "n"), "--class", "car", "--length", "5")


@pytest.mark.parametrize("name", ["labels.json", "text.json"])
@pytest.mark.parametrize("damage", ["missing", "not JSON", "{}"])
def test_a_damaged_vocabulary_is_named(runs: Path, tmp_path: Path, name: str, damage: str) -> None:
    shutil.copytree(runs / "c", tmp_path / "run")
    path = tmp_path / "run" / "vocab" / name
    path.unlink()
    if damage != "missing":
        path.write_text(damage)
    message = wrong("predict", str(tmp_path / "run"), str(runs / "toy.tsv"))
    assert str(tmp_path / "run") in message


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["predict", "{c}", "nowhere.tsv"], "no such file"),
        (["predict", "{l}", "{text}"], "a language model continues texts"),
        (["generate", "{c}"], "holds no language model: its task is classify"),
        (["generate", "{n}"], "say which class: one of car, fruit"),
        (["evaluate", "{text}", "x"], "is not a run"),
        (["train", "classify"], "which data?"),
        (["train", "classify", "x.tsv"], "where to? --out RUN"),
        (["train", "classify", "nowhere.tsv", "--out", "x"], "no such file"),
        (["train", "classify", "{tsv}", "--out", "{c}"], "holds a run already"),
        (["train", "tag", "{tsv}", "--set", "model.hiden=3"], "did you mean model.hidden?"),
        (["train", "lm", "x", "--bidirectional", "--out", "x"], "must predict"),
        (["train", "tag", "--resume", "{t}", "--hidden", "3"], "give nothing else"),
        (
            ["train", "tag", "x", "--from", "{t}", "--out", "y", "--hidden", "3"],
            "drop model.hidden",
        ),
        (["train", "tag", "{conll}", "--from", "{c}", "--out", "y"], "no model for the task tag"),
        (["train", "tag", "x", "--config", "nowhere.yaml"], "no such file of settings"),
        (["train", "classify", "builtin:python", "--out", "y"], "is not for a classifier"),
        (["train", "tag", "builtin:words", "--out", "y"], "is not for a tagger"),
        (["train", "tag", "{conll}", "--context", "{c}", "--out", "y"], "a language model without"),
        (["train", "tag", "{conll}", "--context", "{n}", "--out", "y"], "a language model without"),
        (["train", "lm", "{text}", "--steps", "0", "--out", "y"], "data.steps is at least 1"),
        (["train", "lm", "{text}", "--format", "tsv", "--out", "y"], "set model.lines=true too"),
        (["train", "tag", "--resume", "{c}"], "is a run of another task: classify"),
        (["train", "classify", "--resume", "{c}", "--print-config"], "give nothing else"),
        (["train", "tag", "{conll}", "--cell", "lstm_projected", "--out", "y"], "model.sizes.proj"),
        (["predict", "{c}", "{tsv}", "--column", "upos"], "means nothing for the task classify"),
        (["predict", "{t}", "{raw}"], "give one word a line"),
    ],
)
def test_mistakes_are_named(
    runs: Path, args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where the folders go that they name
    known = {name: str(runs / name) for name in "ctln"}
    known |= {"tsv": str(runs / "toy.tsv"), "text": str(runs / "text.txt")}
    known |= {"conll": str(runs / "t.conll"), "raw": str(runs / "raw.conll")}
    (runs / "raw.conll").write_text("the dog walks\na cat sits\n")
    assert message in wrong(*(arg.format(**known) for arg in args))


def test_settings_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("model: {hidden: 1, layers: 2, embedding: 3}\ntrain: {lr: 1e-3}\n")
    found = json.loads(
        fine(
            "train", "tag", "data", "--config", str(file), "--set", "model.layers=20",
            "--set", "model.embedding=30", "--embedding", "300", "--print-config", "--json",
        )
    )  # fmt: skip
    assert (found["model"]["hidden"], found["model"]["layers"]) == (1, 20)
    assert found["model"]["embedding"] == 300
    assert found["train"]["lr"] == 1e-3
    assert found["data"]["train"] == "data"


def test_resume_of_a_finished_run_changes_nothing(runs: Path) -> None:
    before = (runs / "c" / "model.safetensors").read_bytes()
    assert "the model is in" in fine("train", "--resume", str(runs / "c"))
    assert (runs / "c" / "model.safetensors").read_bytes() == before
    assert "accuracy" in json.loads(
        fine("train", "classify", "--resume", str(runs / "c"), "--json")
    )


def test_training_goes_on_from_a_run(runs: Path, tmp_path: Path) -> None:
    args = ["--from", str(runs / "t"), "--out", str(tmp_path / "on"), "--epochs", "1"]
    assert "accuracy" in fine("train", "tag", str(runs / "t.conll"), *args)


def test_the_format_of_training_does_not_bind_later_files(runs: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    fine(
        "train", "classify", str(runs / "toy.tsv"), "--format", "tsv", "--out", out, "--epochs", "1"
    )
    (tmp_path / "x.jsonl").write_text('{"body": "a bus"}\n')
    found = json.loads(fine("predict", out, str(tmp_path / "x.jsonl"), "--text", "body"))
    assert found["label"] in ("car", "fruit")


def test_a_model_of_lines_goes_on_as_one(runs: Path, tmp_path: Path) -> None:
    """--from reads the data by the model's own settings, and counts the n-grams of the new text."""
    rows = [f"new words {k}\t{kind}" for k in range(20) for kind in ("car", "fruit")]
    (tmp_path / "more.tsv").write_text("\n".join(rows))
    args = ["--from", str(runs / "n"), "--out", str(tmp_path / "on"), "--epochs", "1", "--json"]
    on = json.loads(fine("train", "lm", str(tmp_path / "more.tsv"), *args))
    old = fine("evaluate", str(runs / "n"), str(tmp_path / "more.tsv"), "--json")
    assert on["perplexity_of_6-grams"] < json.loads(old)["perplexity_of_6-grams"]
    assert "car" in (tmp_path / "on" / "vocab" / "classes.json").read_text()


def test_a_run_that_never_began_can_be_begun_again(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text("\n".join(f"t{k}\tnew" for k in range(30)))
    args = ["train", "classify", str(tmp_path / "d.tsv"), "--from", str(runs / "c")]
    for _ in range(2):
        assert "the label 'new' is not one" in wrong(*args, "--out", str(tmp_path / "run"))
    train = ["train", "classify", str(runs / "toy.tsv"), "--out", str(tmp_path / "run")]
    fine(*train, "--epochs", "1")


def test_a_run_from_elsewhere_reads_no_files(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "c", tmp_path / "run")
    config = tmp_path / "run" / "config.yaml"
    secret = tmp_path / "secret"
    secret.write_text("my password")
    config.write_text(config.read_text().replace("cell: gru", f"cell: {secret}"))
    message = wrong("predict", str(tmp_path / "run"), str(runs / "toy.tsv"))
    assert "model.cell is a built-in name or equations, not" in message
    assert "password" not in message


def test_every_command_speaks_json() -> None:
    assert {cell["name"] for cell in json.loads(fine("cells", "--json"))} >= {"lstm", "gru"}
    assert json.loads(fine("explain", "gru", "--json"))["states"] == ["h"]
    found = json.loads(fine("bench", "gru", "--shape", "2x1x3", "--rounds", "1", "--json"))
    assert found["milliseconds"]["forward"]["compiled"] > 0
