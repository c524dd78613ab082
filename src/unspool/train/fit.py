"""`fit`: the one training loop.

All that it must remember lies in one value: the weights, the optimiser, the average, the random
numbers, and a `Standing` (where in the data, the carried state, the best score). That value is
what a checkpoint holds; a run that was killed goes on from it and ends with the same bits.
"""

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from unspool.cells.state import detach
from unspool.models.model import Batch, Loss
from unspool.train.average import Average, Weights, put, weights_of
from unspool.train.checkpoint import Checkpoints, DamagedFile, brief, pack, read_packed
from unspool.train.durable import write_durably
from unspool.train.log import Log, Reporter, Update
from unspool.train.optimise import clip_norm, clip_value, make_optimiser, rate, set_rate
from unspool.train.settings import Training
from unspool.train.state import (
    Standing,
    check_parts,
    check_tensors,
    machine,
    optimiser_state,
    random_state,
    set_random_state,
)
from unspool.train.tree import moved

LOWER_IS_BETTER = ("loss", "nats", "perplexity", "error")
WEIGHTS, CHECKPOINTS = "model.safetensors", "checkpoints"


class Epoch(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


class Data(Protocol):
    """Batches whose order follows from the epoch's number alone."""

    def epoch(self, number: int) -> Epoch: ...


class TrainingStopped(ValueError):
    """Training cannot go on; the message says why and what to try."""


class Interrupted(Exception):
    """The user stopped training; everything up to here is saved."""


@dataclass(frozen=True)
class Fitted:
    """What came of it: the model has the best weights. `scores` are theirs on the dev data."""

    model: Any
    scores: dict[str, float]
    standing: Standing


def fit(
    model: Any,
    data: Data,
    settings: Training | None = None,
    *,
    dev: Callable[[], dict[str, float]] | None = None,
    out: Path | str | None = None,
    resume: bool | dict[str, Any] = False,
    report: Reporter | None = None,
    keep: dict[str, Any] | None = None,
) -> Fitted:
    """Trains `model` on `data`; the model is left with the weights that did best on `dev`.

    `model` is a module with `loss(batch, carried) -> Loss`; if it has `proceed(done)` it hears
    before each step how much of the training lies behind, from 0 to 1. `dev` measures it, after
    each epoch; the first of its scores decides (lower is better for a loss, nats, perplexity or
    error). With `out`, a folder, the run leaves `metrics.jsonl`, `model.safetensors` (the best
    weights) and `checkpoints/`, and `resume=True` goes on from the last of those; a value that
    was read from one may be given instead, {} where there is none. `keep` is stored in every
    checkpoint as its "run", for whoever resumes.
    """
    run = _Run(model, data, settings or Training(), dev, out, report or Reporter())
    run.keep = keep or {}
    return run.go(resume)


class _Run:
    def __init__(
        self,
        model: Any,
        data: Data,
        settings: Training,
        dev: Callable[[], dict[str, float]] | None,
        out: Path | str | None,
        report: Reporter,
    ):
        self.model, self.data, self.settings = model, data, settings
        self.dev, self.report = dev, report
        self.out = None if out is None else Path(out)
        self.checkpoints = None if self.out is None else Checkpoints(self.out / CHECKPOINTS)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimiser = make_optimiser(model, settings)
        self.average = Average(settings)
        self.standing = Standing()
        self.best: Weights = {}
        self.stop = False
        self.keep: dict[str, Any] = {}

    def go(self, resume: bool | dict[str, Any]) -> Fitted:
        torch.manual_seed(self.settings.seed)
        if resume is not False:
            self.resume(None if resume is True else resume)
        self.log = Log(self.out, self.standing.logged, self.settings.tensorboard)
        with self.report, self.log, _on_interrupt(self.interrupt):
            while self.standing.epoch < self.settings.epochs and not self.finished():
                self.epoch()
        if self.best:
            put(self.model, self.best)
        self.model.eval()
        return Fitted(self.model, self.standing.scores, self.standing)

    def finished(self) -> bool:
        patience = self.settings.patience
        return bool(patience) and self.standing.stalled >= patience

    def epoch(self) -> None:
        now, batches = self.standing, self.data.epoch(self.standing.epoch)
        begun = time.monotonic() - now.seconds
        saved = time.monotonic()
        self.model.train()
        while now.batch < len(batches):
            self.update(batches[now.batch], len(batches), begun)
            due = time.monotonic() - saved > self.settings.save_seconds
            if self.settings.save_steps:
                due = now.step % self.settings.save_steps == 0
            if (due or self.stop) and now.batch < len(batches):
                now.seconds = time.monotonic() - begun
                self.save()
                saved = time.monotonic()
        self.end_epoch()
        now.epoch, now.batch, now.total, now.count, now.carried = now.epoch + 1, 0, 0.0, 0, None
        now.seconds = time.monotonic() - begun
        self.save()

    def update(self, batch: Any, batches: int, begun: float) -> None:
        """One step of the optimiser."""
        now, settings = self.standing, self.settings
        speed = rate(
            settings, (now.epoch + now.batch / batches) / settings.epochs, now.step, now.falls
        )
        set_rate(self.optimiser, speed)
        if hasattr(self.model, "proceed"):
            self.model.proceed((now.epoch + now.batch / batches) / settings.epochs)
        with _memory_named(batch):
            loss = self.backward(batch)
        if settings.clip_value:
            clip_value(self.parameters, settings.clip_value)
        cut = clip_norm(self.parameters, settings.clip)
        # here the host waits for the device
        value, norm = torch.stack((loss.mean.detach().double(), cut.double())).tolist()
        if not (math.isfinite(value) and math.isfinite(norm)):
            raise TrainingStopped(_not_finite(self.model, now.step, value, speed))
        self.optimiser.step()
        self.average.after_step(self.model)
        now.carried = None if loss.carried is None else detach(loss.carried)
        now.total += value * loss.count
        now.count += loss.count
        now.batch += 1
        now.step += 1
        done = (now.epoch + now.batch / batches) / settings.epochs
        lengths = getattr(batch, "lengths", None)
        tokens = loss.count if lengths is None else int(lengths.sum())
        seen = Update(now.step, now.epoch + 1, value, tokens, speed, norm, done)
        self.report.update(seen)
        if now.step % settings.log_every == 0:
            now.logged = self.log.update(seen, time.monotonic() - begun)

    def backward(self, batch: Batch) -> Loss:
        batch = batch.to(self.model.device) if hasattr(batch, "to") else batch
        self.optimiser.zero_grad()
        half = self.settings.precision == "bfloat16"
        kind = self.parameters[0].device.type
        with torch.autocast(kind, torch.bfloat16, enabled=half):
            loss = self.model.loss(batch, self.standing.carried)
        loss.mean.backward()
        return loss

    def end_epoch(self) -> None:
        """Measures, remembers the best weights, and says how it went."""
        now = self.standing
        self.average.after_epoch(self.model)
        averaged = self.average.weights()
        own = weights_of(self.model)
        if averaged is not None:
            put(self.model, averaged)
        self.model.eval()
        with torch.no_grad():
            scores = self.dev() if self.dev is not None else {}
        value = next(iter(scores.values()), now.total / max(now.count, 1))
        if self.dev is None or self.better(scores):
            now.best, now.scores, now.best_epoch, now.stalled = value, scores, now.epoch, 0
            self.best = weights_of(self.model)
            self.write_weights()
        else:
            now.stalled += 1
            now.falls += now.stalled % self.settings.every == 0
        put(self.model, own)
        self.average.after_dev(now.stalled)
        mean = now.total / max(now.count, 1)
        now.logged = self.log.epoch(now.epoch + 1, now.step, mean, scores, now.stalled == 0)
        self.report.epoch(now.epoch + 1, mean, scores, now.stalled == 0)

    def write_weights(self) -> None:
        """Writes the model as it is now as the best of the run."""
        if self.out is not None:
            write_durably(self.out / WEIGHTS, pack(self.model.state_dict()))

    def mend_weights(self) -> None:
        """Writes the best weights anew where their file is missing or damaged."""
        if self.out is None or not self.best:
            return
        try:
            read_packed(self.out / WEIGHTS)
        except (ValueError, OSError) as error:
            self.report.say(f"{error}; it is written anew from the checkpoint")
            own = weights_of(self.model)
            put(self.model, self.best)
            self.write_weights()
            put(self.model, own)

    def better(self, scores: dict[str, float]) -> bool:
        """By the first score; where that is the same, by those after it."""
        best = self.standing.best
        if best is None or math.isnan(best):
            return True
        for name, value in scores.items():
            if value != self.standing.scores.get(name, value):
                lower = value < self.standing.scores[name]
                return lower if name.startswith(LOWER_IS_BETTER) else not lower
        return False

    def interrupt(self) -> None:
        self.stop = True

    def save(self) -> None:
        """A checkpoint; and the end, if the user wants it."""
        if self.checkpoints is not None:
            self.checkpoints.write(self.standing.step, self.value())
        if self.stop:
            saved = "" if self.checkpoints is None else "; everything up to here is saved"
            raise Interrupted(f"stopped at step {self.standing.step}{saved}")

    def value(self) -> dict[str, Any]:
        """All that a run must remember."""
        self.log.flush()
        standing = {item.name: getattr(self.standing, item.name) for item in fields(Standing)}
        return {
            "standing": standing,
            "settings": asdict(self.settings),
            "machine": machine(),
            "model": dict(self.model.state_dict()),
            "best": self.best,
            "optimiser": self.optimiser.state_dict(),
            "average": self.average.state(),
            "random": random_state(),
            "run": self.keep,
        }

    def resume(self, value: dict[str, Any] | None) -> None:
        """Goes on from a checkpoint: from this one, or from the last intact one of `out`."""
        if self.checkpoints is None:
            raise ValueError("resume=True needs out=, the folder of the run")
        if value is None:
            value, problems = self.checkpoints.read()
            for problem in problems:
                self.report.say(f"{problem}; trying the one before it")
        if not value:
            self.report.say("there is no intact checkpoint: training starts from the beginning")
            return
        try:
            self.restore(value)
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            said = " ".join(str(error).split())[:200]
            raise DamagedFile(
                f"the checkpoint in {self.checkpoints.folder} does not go with this run: {said}"
            ) from None
        self.mend_weights()
        over = self.standing.epoch >= self.settings.epochs or self.finished()
        what = "the run had come to its end at" if over else "going on from"
        self.report.say(f"{what} step {self.standing.step}")

    def restore(self, value: dict[str, Any]) -> None:
        """Takes over everything that a checkpoint remembers."""
        for name, now in machine().items():
            then = value["machine"].get(name)
            if then != now:
                self.report.say(
                    f"{name} was {brief(then)} and is {now}: the run goes on, but its "
                    "numbers will differ in their last bits from those of an unbroken one"
                )
        check_parts(value)
        check_tensors(value, self.model)
        device = self.parameters[0].device
        self.standing = Standing(**moved(value["standing"], device))
        self.model.load_state_dict(value["model"])
        self.best = moved(value["best"], device)
        self.optimiser.load_state_dict(optimiser_state(value["optimiser"], self.optimiser))
        self.average.restore(moved(value["average"], device))
        set_random_state(value["random"])


def _not_finite(model: nn.Module, step: int, loss: float, speed: float) -> str:
    """Where the gradient went wrong, layer by layer, and what helps."""
    lines = [f"step {step}: the loss is {loss}. Norms of the gradient by parameter:"]
    for name, p in model.named_parameters():
        if p.grad is not None:
            lines.append(f"    {name:<40} {p.grad.norm().item():.3g}")
    lines.append(
        f"Try a lower learning rate (train.lr is {speed:.2g} here), a lower train.clip, a "
        "train.warmup of some hundred steps, or train.precision=float32. The last checkpoint is "
        "from before this step."
    )
    return "\n".join(lines)


@contextmanager
def _memory_named(batch: Any) -> Iterator[None]:
    """Memory that runs out is answered with the batch that was too large."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        text = str(error).lower()
        if not (isinstance(error, MemoryError) or "allocate" in text or "out of memory" in text):
            raise
        steps, rows = getattr(batch, "size", ("?", "?"))
        raise TrainingStopped(
            f"out of memory on a batch of {rows} rows of {steps} steps: lower train.batch, or "
            "leave very long examples out"
        ) from error


@contextmanager
def _on_interrupt(act: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and a polite kill end after the step that is being taken, not within it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kinds = (signal.SIGINT, signal.SIGTERM) if os.name != "nt" else (signal.SIGINT,)
    before = {kind: signal.getsignal(kind) for kind in kinds}

    def restore() -> None:
        for kind, handler in before.items():
            signal.signal(kind, handler)

    def heard(*_: object) -> None:
        restore()  # whoever asks a second time will not wait
        act()

    for kind in kinds:
        signal.signal(kind, heard)
    try:
        yield
    finally:
        restore()
