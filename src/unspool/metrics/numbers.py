"""Scores of predicted numbers."""

import math
from collections.abc import Sequence


def root_mean_square(gold: Sequence[float], predicted: Sequence[float]) -> float:
    """The square root of the mean squared error."""
    errors = [(a - b) ** 2 for a, b in zip(gold, predicted, strict=True)]
    return math.sqrt(sum(errors) / len(errors))


def explained(gold: Sequence[float], predicted: Sequence[float]) -> float:
    """R squared: 1 is perfect, 0 is no better than always saying the mean."""
    mean = sum(gold) / len(gold)
    spread = sum((a - mean) ** 2 for a in gold)
    error = sum((a - b) ** 2 for a, b in zip(gold, predicted, strict=True))
    if not spread:
        return 1.0 if not error else 0.0
    return 1 - error / spread
