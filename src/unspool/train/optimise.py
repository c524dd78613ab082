"""The optimiser, its learning rate, and the cutting of gradients."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from unspool.train.settings import Training


def make_optimiser(model: nn.Module, settings: Training) -> torch.optim.Optimizer:
    """Biases and other vectors are not decayed: they have no scale to lose."""
    trained = [p for p in model.parameters() if p.requires_grad]
    matrices = [p for p in trained if p.dim() > 1]
    vectors = [p for p in trained if p.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if not groups:
        raise ValueError("nothing to train: the model has no parameter that takes a gradient")
    if settings.optimiser == "adamw":
        return torch.optim.AdamW(groups, lr=settings.lr, fused=True)
    return torch.optim.SGD(groups, lr=settings.lr, momentum=settings.momentum)


def rate(settings: Training, done: float, step: int, falls: int = 0) -> float:
    """The learning rate of a step, when the share `done` of all epochs lies behind.

    A function of the position alone, so that a resumed run needs to remember nothing; `falls`
    counts how often the dev score has stalled, for plateau.
    """
    factor = 1.0
    if settings.schedule == "cosine":
        factor = (1 + math.cos(math.pi * min(done, 1.0))) / 2
    elif settings.schedule == "step":
        factor = settings.decay ** (int(done * settings.epochs + 1e-9) // settings.every)
    elif settings.schedule == "plateau":
        factor = settings.decay**falls
    if settings.warmup:
        factor *= min(1.0, (step + 1) / settings.warmup)
    return settings.lr * factor


def set_rate(optimiser: torch.optim.Optimizer, value: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = value


def clip_norm(parameters: Iterable[Tensor], limit: float) -> Tensor:
    """Where the norm of the whole gradient g is above the limit: g * limit / norm.

    Returns the norm before, as a tensor: who reads its number waits for the device. Bilici,
    algorithm 3; unlike torch's there is no 1e-6 in the way.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    dense = not any(gradient.is_sparse for gradient in gradients)
    if dense:
        norm = torch.nn.utils.get_total_norm(gradients)
    else:
        norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    # what is no number is left as it is, so that it can be told where it came from
    factor = torch.where(norm.isfinite(), (limit / norm).clamp(max=1.0), 1.0)
    # a GPU multiplies by 1 sooner than it answers
    if limit and gradients and (norm.device.type != "cpu" or factor < 1.0):
        if dense:
            torch._foreach_mul_(gradients, factor)  # pyright: ignore[reportPrivateImportUsage]
        else:
            for gradient in gradients:
                gradient.mul_(factor)
    return norm


def clip_value(parameters: Iterable[Tensor], limit: float) -> None:
    for p in parameters:
        if p.grad is not None:
            p.grad.clamp_(-limit, limit)
