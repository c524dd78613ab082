"""Scores where an example has several labels at once."""

from collections.abc import Sequence, Set


def micro_f1(gold: Sequence[Set[str]], predicted: Sequence[Set[str]]) -> float:
    """2 * right / (expected + given), over all labels of all examples; 0 where there are none."""
    right = sum(len(a & b) for a, b in zip(gold, predicted, strict=True))
    total = sum(map(len, gold)) + sum(map(len, predicted))
    return 2 * right / total if total else 0.0
