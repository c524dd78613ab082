"""The training loop: it stops, resumes and speaks as it should."""

import itertools
import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.train.toy import classify, labelled, language
from unspool.models.model import Loss
from unspool.train import Interrupted, Training, TrainingStopped, fit
from unspool.train.checkpoint import Checkpoints
from unspool.train.log import Reporter, Update
from unspool.train.runs import load, resume, train


class Line(nn.Module):
    """y = w x, learned from x alone."""

    device = torch.device("cpu")

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Linear(1, 1, bias=False)

    def loss(self, batch: torch.Tensor, carried: Any = None) -> Loss:
        return Loss(((self.w(batch) - 3 * batch) ** 2).sum(), len(batch))


class Points:
    """Four batches an epoch, the same at any time."""

    def epoch(self, number: int) -> list[torch.Tensor]:
        draw = torch.Generator().manual_seed(number)
        return list(torch.randn(4, 8, 1, generator=draw))


class Halt(Reporter):
    """Stops the run after a step, as a kill would."""

    class Killed(BaseException):
        pass

    def __init__(self, step: int, how: str = "kill"):
        self.step, self.how = step, how

    def update(self, seen: Update) -> None:
        if seen.step == self.step:
            if self.how == "kill":
                raise Halt.Killed
            signal.raise_signal(signal.SIGINT)


def test_it_learns() -> None:
    fitted = fit(Line(), Points(), Training(lr=0.1, epochs=50, clip=0.0))
    assert fitted.model.w.weight.item() == pytest.approx(3.0, abs=1e-3)
    assert fitted.standing.step == 200


def test_the_weights_that_did_best_are_left() -> None:
    model, scores, kept = Line(), iter([0.3, 0.9, 0.5]), []

    def dev() -> dict[str, float]:
        kept.append(model.w.weight.item())
        return {"accuracy": next(scores)}

    fitted = fit(model, Points(), Training(epochs=3), dev=dev)
    assert fitted.scores == {"accuracy": 0.9}
    assert model.w.weight.item() == kept[1]


@pytest.mark.parametrize(("name", "best"), [("perplexity", 1), ("f1", 0)])
def test_of_a_loss_the_lowest_is_best(name: str, best: int) -> None:
    scores = iter([0.9, 0.3, 0.5])
    fitted = fit(Line(), Points(), Training(epochs=3), dev=lambda: {name: next(scores)})
    assert fitted.standing.best_epoch == best


def test_where_the_first_score_is_the_same_the_next_decides() -> None:
    model, scores, kept = Line(), iter([(0.0, 9.0), (0.0, 5.0), (0.0, 7.0)]), []

    def dev() -> dict[str, float]:
        kept.append(model.w.weight.item())
        return dict(zip(("exact", "perplexity"), next(scores), strict=True))

    fitted = fit(model, Points(), Training(epochs=3), dev=dev)
    assert fitted.scores["perplexity"] == 5.0
    assert model.w.weight.item() == kept[1]


def test_it_stops_early() -> None:
    scores = itertools.chain([0.5, 0.6], itertools.repeat(0.1))
    settings = Training(epochs=50, patience=3)
    fitted = fit(Line(), Points(), settings, dev=lambda: {"f1": next(scores)})
    assert fitted.standing.epoch == 5


def test_a_loss_that_is_not_finite_stops_with_advice() -> None:
    class Broken(Line):
        def loss(self, batch: torch.Tensor, carried: Any = None) -> Loss:
            return Loss(super().loss(batch).total * torch.inf, 1)

    with pytest.raises(TrainingStopped) as stop:
        fit(Broken(), Points(), Training())
    assert "step 0: the loss is inf" in str(stop.value)
    assert "w.weight" in str(stop.value)
    assert "lower learning rate" in str(stop.value)


def test_memory_that_runs_out_names_the_batch(tmp_path: Path) -> None:
    class Greedy(Line):
        def loss(self, batch: torch.Tensor, carried: Any = None) -> Loss:
            return Loss(torch.empty(2**60).sum(), 1)

    class Sized:
        size = (70, 30)

    class Data:
        def epoch(self, number: int) -> list[Sized]:
            return [Sized()]

    with pytest.raises(TrainingStopped, match="out of memory on a batch of 30 rows of 70 steps"):
        fit(Greedy(), Data(), Training())


@pytest.mark.parametrize("make", [classify, language])
@pytest.mark.parametrize(
    "settings",
    [
        {"average": "ema", "average_decay": 0.9},
        {"optimiser": "asgd", "average_epochs": 1, "schedule": "plateau", "every": 1, "lr": 0.5},
        {"average": "epochs", "average_epochs": 2, "schedule": "step", "warmup": 3},
    ],
)
def test_a_resumed_run_ends_with_the_same_bits(
    tmp_path: Path, make: Any, settings: dict[str, Any]
) -> None:
    config = make(tmp_path, **({"save_steps": 2, "log_every": 1} | settings))
    whole = train(config, tmp_path / "whole")
    steps = whole.standing.step
    for step in (1, steps // 2, steps - 1):
        out = tmp_path / f"broken{step}"
        with pytest.raises(Halt.Killed):
            train(config, out, report=Halt(step))
        torch.randn(1000)  # whatever happened in between
        again = resume(out)
        same_end(whole, again)
        assert records(out) == records(tmp_path / "whole")
    values = [Checkpoints(tmp_path / n / "checkpoints").read()[0] for n in ("whole", "broken1")]
    assert str(values[0]["optimiser"]) == str(values[1]["optimiser"])


def same_end(a: Any, b: Any) -> None:
    for (name, p), q in zip(a.model.named_parameters(), b.model.parameters(), strict=True):
        assert p.equal(q), name
    assert a.scores == b.scores


def records(run: Path) -> list[dict[str, Any]]:
    """metrics.jsonl without the clock."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k != "seconds"} for line in lines]


def test_the_state_is_carried_within_an_epoch_and_cut_from_the_graph() -> None:
    seen = []

    class Carrying(Line):
        def loss(self, batch: torch.Tensor, carried: Any = None) -> Loss:
            seen.append(carried)
            return Loss(super().loss(batch).total, 1, (self.w(batch),))

    fit(Carrying(), Points(), Training(epochs=2))
    assert [state is None for state in seen] == [True, False, False, False] * 2
    assert not any(state[0].requires_grad for state in seen if state is not None)


def test_ctrl_c_saves_and_resumes(tmp_path: Path) -> None:
    config = language(tmp_path)
    whole = train(config, tmp_path / "whole")
    with pytest.raises(Interrupted, match="stopped at step 5; everything up to here is saved"):
        train(config, tmp_path / "broken", report=Halt(5, "interrupt"))
    assert Checkpoints(tmp_path / "broken" / "checkpoints").read()[0]["standing"]["step"] == 5
    same_end(whole, resume(tmp_path / "broken"))


def test_a_damaged_checkpoint_is_reported_and_the_older_one_used(tmp_path: Path) -> None:
    said: list[str] = []

    class Hear(Reporter):
        def say(self, text: str) -> None:
            said.append(text)

    config = classify(tmp_path, save_steps=2)
    whole = train(config, tmp_path / "whole")
    with pytest.raises(Halt.Killed):
        train(config, tmp_path / "broken", report=Halt(9))
    newest = Checkpoints(tmp_path / "broken" / "checkpoints").paths()[0]
    data = bytearray(newest.read_bytes())
    data[-1] ^= 1
    newest.write_bytes(data)
    same_end(whole, resume(tmp_path / "broken", report=Hear()))
    assert any(newest.name in line and "damaged" in line for line in said)
    assert "going on from step 6" in said


def test_other_data_are_not_resumed_on(tmp_path: Path) -> None:
    config = classify(tmp_path)
    with pytest.raises(Halt.Killed):
        train(config, tmp_path / "run", report=Halt(2))
    with open(config.data.train, "a") as file:
        file.write("one more\tcar\n")
    with pytest.raises(ValueError, match="are not what they were when the run began"):
        resume(tmp_path / "run")


def test_other_dev_data_are_not_resumed_on(tmp_path: Path) -> None:
    config, dev = classify(tmp_path), tmp_path / "dev.tsv"
    dev.write_text("a red bus\tcar\n")
    config = replace(config, data=replace(config.data, dev=str(dev)))
    with pytest.raises(Halt.Killed):
        train(config, tmp_path / "run", report=Halt(2))
    dev.write_text("a red pear\tfruit\n")
    with pytest.raises(ValueError, match="are not what they were when the run began"):
        resume(tmp_path / "run")


def test_a_run_is_resumed_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its data are named in full, and known by what they say."""
    labelled(tmp_path)
    monkeypatch.chdir(tmp_path)
    config = classify(tmp_path)
    config = replace(config, data=replace(config.data, train="toy.tsv"))
    with pytest.raises(Halt.Killed):
        train(config, tmp_path / "run", report=Halt(2))
    monkeypatch.chdir("/")
    resume(tmp_path / "run")


def test_devices_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"train\.device is cpu, cuda or mps, not 'gpu'"):
        Training(device="gpu")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match=r"train\.device=cuda is not there: "):
            train(classify(tmp_path, device="cuda"), tmp_path / "run")


def test_a_run_is_never_written_over(tmp_path: Path) -> None:
    train(classify(tmp_path, epochs=1), tmp_path / "run")
    with pytest.raises(ValueError, match="holds a run already"):
        train(classify(tmp_path, epochs=1), tmp_path / "run")


def test_what_is_loaded_answers_as_what_was_trained(tmp_path: Path) -> None:
    model = train(classify(tmp_path), tmp_path / "run").model
    texts = ["a red bus", "", "unheard of words ☃"]
    assert load(tmp_path / "run").predict(texts) == model.predict(texts)


def test_training_goes_on_from_a_trained_model(tmp_path: Path) -> None:
    first = train(classify(tmp_path), tmp_path / "first")
    weights = {name: p.clone() for name, p in first.model.named_parameters()}
    second = train(classify(tmp_path, epochs=1, lr=1e-9), tmp_path / "b", start=tmp_path / "first")
    for name, p in second.model.named_parameters():
        torch.testing.assert_close(p, weights[name], rtol=1e-4, atol=1e-6)


def test_the_curves_for_tensorboard(tmp_path: Path) -> None:
    train(classify(tmp_path, tensorboard=True, epochs=1), tmp_path / "run")
    assert list((tmp_path / "run" / "tensorboard").glob("events.*"))


def test_bfloat16_learns_too(tmp_path: Path) -> None:
    config = classify(tmp_path, precision="bfloat16", epochs=15, lr=0.03)
    assert train(config, tmp_path / "run").scores["accuracy"] > 0.9
