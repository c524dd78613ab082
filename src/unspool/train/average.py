"""Averages of the weights over training: often better than any single ones."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from unspool.train.settings import Training

Weights = dict[str, Tensor]


def weights_of(model: nn.Module) -> Weights:
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def put(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(weights[name])


class Average:
    """What `train.average` names. `weights()` is None while there is nothing to average yet.

    ema:     a = decay * a + (1 - decay) * w after every step
    epochs:  the mean of the weights after each of the last epochs
    trigger: the mean of the weights after each step since the dev score first went some epochs
             without a gain (Merity et al. 2018, AWD-LSTM); optimiser asgd is sgd with this
    """

    def __init__(self, settings: Training):
        self.kind = "trigger" if settings.optimiser == "asgd" else settings.average
        self.decay, self.window = settings.average_decay, settings.average_epochs
        self.mean: Weights = {}
        self.count = 0
        self.triggered = False
        self.epochs: list[Weights] = []

    def after_step(self, model: nn.Module) -> None:
        if self.kind == "ema" or (self.kind == "trigger" and self.triggered):
            self.count += 1
            # The first steps of a moving average weigh alike: it must not remember its start.
            least = 1 - self.decay if self.kind == "ema" else 0.0
            self._towards(model, max(1 / self.count, least))

    def after_epoch(self, model: nn.Module) -> None:
        if self.kind == "epochs":
            self.epochs = [*self.epochs, weights_of(model)][-self.window :]

    def after_dev(self, stalled: int) -> None:
        """Hears for how many epochs there was no gain."""
        if self.kind == "trigger" and stalled >= self.window:
            self.triggered = True

    def weights(self) -> Weights | None:
        if self.kind == "epochs" and self.epochs:
            return {
                name: torch.stack([weights[name] for weights in self.epochs]).mean(0)
                for name in self.epochs[0]
            }
        return self.mean or None

    def state(self) -> dict[str, Any]:
        return {
            "mean": self.mean,
            "count": self.count,
            "triggered": self.triggered,
            "epochs": self.epochs,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.mean, self.count = state["mean"], state["count"]
        self.triggered, self.epochs = state["triggered"], state["epochs"]

    @torch.no_grad()
    def _towards(self, model: nn.Module, share: float) -> None:
        if not self.mean:
            self.mean = weights_of(model)
            return
        for name, p in model.named_parameters():
            self.mean[name].lerp_(p, share)
