"""AUC and rank correlation, slowly, and noise to score."""

import numpy as np
import torch
from torch import Tensor


def slow_auc(values: list[float], labels: list[float]) -> float:
    """Over all pairs of a place where it is true and one where it is not."""
    yes = [v for v, label in zip(values, labels, strict=True) if label]
    no = [v for v, label in zip(values, labels, strict=True) if not label]
    won = sum((a > b) + 0.5 * (a == b) for a in yes for b in no)
    return won / (len(yes) * len(no))


def slow_ranks(values: list[float]) -> list[float]:
    return [sum(b < a for b in values) + (sum(b == a for b in values) + 1) / 2 for a in values]


def slow_correlation(values: list[float], labels: list[float]) -> float:
    """Pearson's, of the ranks; 0 for a constant."""
    a, b = (np.array(slow_ranks(list(side))) for side in (values, labels))
    a, b = a - a.mean(), b - b.mean()
    norm = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / norm) if norm else 0.0


def drawn(steps: int, units: int, *, levels: int = 0, seed: int = 0) -> Tensor:
    """Noise (N, n); with `levels` of few values, so that many are equal."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(steps, units, generator=generator, dtype=torch.float64)
    return (noise * levels / 3).round() if levels else noise
