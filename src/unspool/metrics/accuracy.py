"""How often labels are right, and which are taken for which."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width


def accuracy(gold: Sequence[str], predicted: Sequence[str]) -> float:
    """The share of labels that are right."""
    _check(gold, predicted)
    return sum(g == p for g, p in zip(gold, predicted, strict=True)) / len(gold)


def macro_f1(gold: Sequence[str], predicted: Sequence[str]) -> float:
    """The mean of F1 over the labels that occur in gold, rare ones counting as much as common.

    A label that is never predicted has F1 = 0. One that is predicted and never occurs in gold has
    no F1 of its own in the mean: it lowers that of the labels it stands for.
    """
    _check(gold, predicted)
    right = Counter(g for g, p in zip(gold, predicted, strict=True) if g == p)
    there, said = Counter(gold), Counter(predicted)
    # F1 = 2 P R / (P + R), with P = right / said and R = right / there.
    return sum(2 * right[label] / (there[label] + said[label]) for label in there) / len(there)


@dataclass(frozen=True)
class Confusion:
    """`table[i][j]`: how often `labels[i]` in gold was taken for `labels[j]`."""

    labels: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]

    @classmethod
    def count(cls, gold: Sequence[str], predicted: Sequence[str]) -> "Confusion":
        """Over every label of either, in code point order."""
        _check(gold, predicted)
        pairs = Counter(zip(gold, predicted, strict=True))
        labels = tuple(sorted({*gold, *predicted}))
        return cls(labels, tuple(tuple(pairs[g, p] for p in labels) for g in labels))

    def confused(self) -> list[tuple[str, str, int]]:
        """(gold, predicted, times) of what was taken for something else, most often first."""
        pairs = [
            (g, p, times)
            for g, row in zip(self.labels, self.table, strict=True)
            for p, times in zip(self.labels, row, strict=True)
            if g != p and times
        ]
        return sorted(pairs, key=lambda pair: -pair[2])

    def text(self, most: int = 10) -> str:
        """A row for each label in gold, a column for each predicted; then what is confused most."""
        head = ["gold \\ predicted", *self.labels]
        body = [[label, *map(str, row)] for label, row in zip(self.labels, self.table, strict=True)]
        lines = _aligned([head, *body])
        pairs = self.confused()[:most]
        if pairs:
            lines += ["", "most confused:"]
            lines += _aligned([[f"  {g}", f"as {p}", str(times)] for g, p, times in pairs])
        return "\n".join(lines)


def _aligned(rows: list[list[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first + " " * (widths[0] - _width(first))]
        for cell, width in zip(others, widths[1:], strict=True):
            cells.append(" " * (width - _width(cell)) + cell)
        lines.append("  ".join(cells))
    return lines


def _width(text: str) -> int:
    """Columns on a screen: two for a Chinese character, none for an accent on another."""
    return sum(
        0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )


def _check(gold: Sequence[str], predicted: Sequence[str]) -> None:
    if len(gold) != len(predicted):
        raise ValueError(
            f"{len(gold)} labels in gold and {len(predicted)} predicted: give one for each"
        )
    if not gold:
        raise ValueError("there are no labels to compare: give at least one")
