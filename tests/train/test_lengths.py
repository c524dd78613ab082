"""Long examples: refused, cut or left out, and what the longest one costs."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.train.toy import classify, crf, language, translate
from unspool.data.labelled import Labelled
from unspool.train import lengths
from unspool.train.log import Reporter
from unspool.train.runs import make_config, read_data, resume, train
from unspool.train.tasks import Config, find_task

LIMIT = {"max_length": 3, "too_long": "cut"}


class Heard(Reporter):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def changed(config: Config, **data: object) -> Config:
    return replace(config, data=replace(config.data, **data))  # type: ignore[arg-type]


def long_row(folder: Path, words: int) -> Config:
    """The toy classifier with one long text on line 41."""
    config = classify(folder)
    path = Path(config.data.train)
    path.write_text(path.read_text() + "long " * words + "\tcar\n")
    return changed(config, dev=str(path))


def test_a_long_example_is_refused_cut_or_left_out(tmp_path: Path) -> None:
    config = changed(long_row(tmp_path, 50), max_length=10)
    with pytest.raises(ValueError, match=r"toy\.tsv, line 41: the example has 50 symbols") as error:
        train(config, tmp_path / "refused")
    assert "--too-long cut or --too-long drop" in str(error.value)
    assert not (tmp_path / "refused").exists()
    for how, done in (("cut", "cut"), ("drop", "left out")):
        heard = Heard()
        train(changed(config, too_long=how), tmp_path / how, report=heard)
        for what in ("train on", "measure by"):
            assert f"1 example to {what}: longer than 10 symbols, {done}" in heard.said
        resume(tmp_path / how)  # the data are known again, uncut


@pytest.mark.parametrize("make", [classify, crf, translate])
def test_examples_are_cut_to_their_symbols(tmp_path: Path, make: object) -> None:
    config = make(tmp_path)  # type: ignore[operator]
    task = find_task(config.task)
    examples, _ = read_data(task, config, Reporter())
    model = task.learn(config, examples)
    for example in examples:
        for symbols in (1, 2, 100):
            short = task.cut(model, example, symbols)
            assert task.length(model, short) == min(symbols, task.length(model, example))


def test_a_limit_of_pairs_and_streams_means_what_it_can(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="half a pair is no translation"):
        changed(translate(tmp_path), **LIMIT)
    with pytest.raises(ValueError, match="--max-length is for lines"):
        train(changed(language(tmp_path), **LIMIT), tmp_path / "run")
    with pytest.raises(ValueError, match="--too-long drop needs --max-length"):
        make_config("classify", {"data": {"too_long": "drop"}})


def test_memory_is_said_before_the_first_batch_and_refused_where_it_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, heard = long_row(tmp_path, 3000), Heard()
    train(config, tmp_path / "said", report=heard)
    (said,) = [text for text in heard.said if "of memory" in text]
    assert "toy.tsv, line 41: the longest example to train on has 3,000 symbols" in said
    monkeypatch.setattr(lengths, "memory", lambda: 1e4)
    with pytest.raises(ValueError, match=r"this machine has 0 MB: set a limit, such as --max-len"):
        train(config, tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


def test_measuring_draws_no_random_numbers(tmp_path: Path) -> None:
    config = long_row(tmp_path, 3000)
    task = find_task("classify")
    examples, _ = read_data(task, config, Reporter())
    model = task.learn(config, examples)
    before = torch.get_rng_state()
    lengths.check_memory(task, model, examples, examples, config, Reporter())
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("cell", ["lstm", "gru", "elman"])
def test_the_estimate_is_what_a_long_row_keeps(tmp_path: Path, cell: str) -> None:
    """Measured on short rows, and compared with a row of 3,000 symbols."""
    config = long_row(tmp_path, 3000)
    config = replace(config, model=replace(config.model, cell=cell))
    task = find_task("classify")
    examples, _ = read_data(task, config, Reporter())
    model = task.learn(config, examples)
    row = next(e for e in examples if isinstance(e, Labelled) and len(e.text) > 1000)
    guess = lengths.extrapolated(lengths.measured(task, model, row), 3000)
    model.train()
    true = lengths.saved_bytes(model, task.batch(model, [row]))
    assert guess == pytest.approx(true, rel=0.1)
