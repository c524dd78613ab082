"""Precision, recall and F1 of spans, as conlleval computes them.

A span counts as found when its type, its beginning and its end are all right. What is divided by
nothing is 0.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from unspool.data.schemes import spans


@dataclass(frozen=True)
class Counts:
    """How many spans are in gold, how many were found, and how many of those are correct."""

    gold: int
    found: int
    correct: int

    @property
    def precision(self) -> float:
        return self.correct / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """2 P R / (P + R), with what cancels left out."""
        return 2 * self.correct / (self.gold + self.found) if self.correct else 0.0


@dataclass(frozen=True)
class SpanScores:
    """Of `tokens` tags `right` are right; `total` and `by_type` count spans."""

    tokens: int
    right: int
    total: Counts
    by_type: dict[str, Counts]

    @property
    def accuracy(self) -> float:
        return self.right / self.tokens if self.tokens else 0.0

    @property
    def precision(self) -> float:
        return self.total.precision

    @property
    def recall(self) -> float:
        return self.total.recall

    @property
    def f1(self) -> float:
        return self.total.f1

    def text(self) -> str:
        """In conlleval's layout; the number behind a type is how many were found."""
        total = self.total
        lines = [
            f"processed {self.tokens} tokens with {total.gold} phrases; "
            f"found: {total.found} phrases; correct: {total.correct}.",
            f"accuracy: {100 * self.accuracy:6.2f}%; {_percents(total)}",
        ]
        for name, counts in sorted(self.by_type.items()):
            lines.append(f"{name:>17}: {_percents(counts)}  {counts.found}")
        return "\n".join(lines)


def span_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> SpanScores:
    """Scores of predicted tags, sentence by sentence, in any span scheme."""
    if len(gold) != len(predicted):
        raise ValueError(
            f"{len(gold)} sentences in gold and {len(predicted)} predicted: give one for each"
        )
    there, found, correct = Counter[str](), Counter[str](), Counter[str]()
    right = 0
    for number, (g, p) in enumerate(zip(gold, predicted, strict=True), start=1):
        if len(g) != len(p):
            raise ValueError(
                f"sentence {number} has {len(g)} tags in gold and {len(p)} predicted: "
                "give one for each word"
            )
        right += sum(a == b for a, b in zip(g, p, strict=True))
        in_gold, in_predicted = set(spans(g)), set(spans(p))
        there.update(type for type, _, _ in in_gold)
        found.update(type for type, _, _ in in_predicted)
        correct.update(type for type, _, _ in in_gold & in_predicted)
    by_type = {t: Counts(there[t], found[t], correct[t]) for t in sorted({*there, *found})}
    total = Counts(there.total(), found.total(), correct.total())
    return SpanScores(sum(map(len, gold)), right, total, by_type)


def _percents(counts: Counts) -> str:
    return (
        f"precision: {100 * counts.precision:6.2f}%; recall: {100 * counts.recall:6.2f}%; "
        f"FB1: {100 * counts.f1:6.2f}"
    )
