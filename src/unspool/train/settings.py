"""How a model is trained: every choice of `fit`, with its default, in one place."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

OPTIMISERS = ("adamw", "sgd", "asgd")
SCHEDULES = ("constant", "cosine", "step", "plateau")
AVERAGES = ("none", "ema", "epochs", "trigger")
PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class Training:
    """The settings of `fit`."""

    epochs: Annotated[int, "How often the data is gone through."] = 20
    batch: Annotated[int, "Tokens in a batch, padding counted."] = 2000
    optimiser: Annotated[
        Literal["adamw", "sgd", "asgd"], "asgd is SGD with the averaging of AWD-LSTM."
    ] = "adamw"
    lr: Annotated[float, "The learning rate at its highest."] = 2e-3
    weight_decay: Annotated[float, "Shrinks the weights (not biases) a little at each step."] = 0.0
    momentum: Annotated[float, "For SGD."] = 0.0
    schedule: Annotated[
        Literal["constant", "cosine", "step", "plateau"], "How the learning rate falls."
    ] = "cosine"
    warmup: Annotated[int, "Steps over which the learning rate rises from 0."] = 0
    decay: Annotated[float, "What step and plateau multiply the learning rate by."] = 0.3
    every: Annotated[int, "Epochs between falls (step), or without gain before one (plateau)."] = 3
    clip: Annotated[float, "The gradient's norm is cut to this; 0 is off."] = 1.0
    clip_value: Annotated[float, "Each entry of the gradient is cut to this; 0 is off."] = 0.0
    average: Annotated[
        Literal["none", "ema", "epochs", "trigger"],
        "The weights that are kept: the last ones, an exponential moving average, the mean of "
        "the last epochs, or the mean since the dev score stopped rising.",
    ] = "none"
    average_decay: Annotated[float, "Of the exponential moving average."] = 0.999
    average_epochs: Annotated[int, "For epochs: how many; for trigger: epochs without gain."] = 5
    patience: Annotated[
        int, "Stop after this many epochs without a better dev score; 0: never."
    ] = 0
    precision: Annotated[
        Literal["float32", "bfloat16"], "bfloat16 for products, with float32 weights."
    ] = "float32"
    device: Annotated[str, "Where to train: cpu, cuda, cuda:1, mps."] = "cpu"
    seed: Annotated[int, "Everything random follows from it."] = 0
    log_every: Annotated[int, "Steps between lines of metrics.jsonl."] = 50
    save_seconds: Annotated[float, "Between checkpoints within an epoch."] = 60.0
    save_steps: Annotated[int, "Steps between checkpoints; 0: by time."] = 0
    tensorboard: Annotated[bool, "Also write curves for TensorBoard."] = False

    def __post_init__(self) -> None:
        _choice("optimiser", self.optimiser, OPTIMISERS)
        _choice("schedule", self.schedule, SCHEDULES)
        _choice("average", self.average, AVERAGES)
        _choice("precision", self.precision, PRECISIONS)
        for name in ("epochs", "batch", "every", "average_epochs", "log_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"train.{name} is at least 1, not {getattr(self, name)}")
        for name in (
            "weight_decay", "momentum", "warmup", "clip", "clip_value", "patience",
            "save_seconds", "save_steps", "seed",
        ):  # fmt: skip
            if getattr(self, name) < 0:
                raise ValueError(f"train.{name} is 0 or more, not {getattr(self, name)}")
        if not self.lr > 0:
            raise ValueError(f"train.lr is above 0, not {self.lr}")
        if not 0 < self.average_decay < 1:
            raise ValueError(f"train.average_decay lies between 0 and 1; got {self.average_decay}")
        if not re.fullmatch(r"(cpu|cuda|mps|xpu)(:\d+)?", self.device):
            raise ValueError(f"train.device is cpu, cuda or mps, not {self.device!r}")
        trigger = self.optimiser == "asgd" or self.average == "trigger"
        if self.optimiser == "asgd" and self.average not in ("none", "trigger"):
            raise ValueError("train.optimiser=asgd has an average of its own: drop train.average")
        if trigger and 0 < self.patience <= self.average_epochs:
            raise ValueError(
                f"train.patience={self.patience} would stop before averaging begins, after "
                f"{self.average_epochs} epochs without a gain (train.average_epochs): raise it"
            )
        if self.momentum and self.optimiser == "adamw":
            raise ValueError("train.momentum is for sgd and asgd; adamw has its own")


def _choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"train.{name} is one of {', '.join(choices)}, not {value!r}")
