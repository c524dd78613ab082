import math
import random
from collections import Counter
from fractions import Fraction

import pytest

from unspool.models.ngram import KneserNey
from unspool.text.vocabulary import START


def slow_discount(count: int, counts: Counter[tuple[int, ...]]) -> float:
    n = Counter(counts.values())
    if all(n[c] for c in (1, 2, 3, 4)):
        y = n[1] / (n[1] + 2 * n[2])
        found = [c - (c + 1) * y * n[c + 1] / n[c] for c in (1, 2, 3)]
        if min(found) > 0:
            return found[min(count, 3) - 1]
    return 0.5 * min(count, 3)


class Slow:
    """The formulas over counts of tuples, one token at a time."""

    def __init__(self, ids: list[list[int]], order: int, size: int):
        self.order, self.size = order, size
        seen: list[Counter[tuple[int, ...]]] = [Counter() for _ in range(order + 1)]
        for sequence in ids:
            tokens = [START, *sequence]
            for end in range(1, len(tokens)):
                for k in range(1, min(order, end + 1) + 1):
                    seen[k][tuple(tokens[end - k + 1 : end + 1])] += 1
        self.counts = [Counter[tuple[int, ...]](), *seen[1:]]
        for k in range(1, order):
            kinds = Counter(gram[1:] for gram in seen[k + 1])
            self.counts[k] = Counter(
                {g: seen[k][g] if g[0] == START else kinds[g] for g in seen[k]}
            )

    def p(self, token: int, history: tuple[int, ...]) -> float:
        k = len(history) + 1
        shorter = self.p(token, history[1:]) if history else 1 / self.size
        after = {g: c for g, c in self.counts[k].items() if g[:-1] == history}
        total = sum(after.values())
        if not total:
            return shorter
        taken = {g: slow_discount(c, self.counts[k]) for g, c in after.items()}
        gram = (*history, token)
        own = after[gram] - taken[gram] if gram in after else 0
        return own / total + sum(taken.values()) / total * shorter

    def log_probs(self, sequence: list[int]) -> list[float]:
        tokens = [START, *sequence]
        return [
            math.log(self.p(tokens[i], tuple(tokens[max(0, i - self.order + 1) : i])))
            for i in range(1, len(tokens))
        ]


def draw(seed: int, rows: int, size: int) -> list[list[int]]:
    """Tokens of uneven frequency, and empty sequences among them."""
    rng = random.Random(seed)
    alphabet = [t for t in range(size) if t != START]
    weights = [1 / (1 + i) for i in range(len(alphabet))]
    return [rng.choices(alphabet, weights, k=rng.randint(0, 9)) for _ in range(rows)]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("rows", [1, 6, 40])
def test_equals_the_formula_written_out(order: int, rows: int) -> None:
    learned, held_out = draw(rows, rows, 7), draw(99, 8, 7)
    model, slow = KneserNey.learn(learned, order, 7), Slow(learned, order, 7)
    for sequence in [*learned[:6], *held_out]:
        assert model.log_probs(sequence) == pytest.approx(slow.log_probs(sequence), abs=1e-12)


def test_both_ways_to_the_discounts_are_taken() -> None:
    """The data above has orders whose counts give discounts, and orders whose counts do not."""
    taken = set()
    for rows in (1, 6, 40):
        for counts in Slow(draw(rows, rows, 7), 5, 7).counts[1:]:
            taken.add(slow_discount(1, counts) == 0.5)
    assert taken == {True, False}


def test_discounts_below_0_are_not_taken() -> None:
    """One token once, one twice, five thrice and one four times would give D(2) = -3."""
    data = [[token] * times for token, times in enumerate((1, 0, 2, 3, 3, 3, 3, 3, 4))]
    model, slow = KneserNey.learn(data, 1, 9), Slow(data, 1, 9)
    assert model.log_probs([*range(9)]) == pytest.approx(slow.log_probs([*range(9)]))
    assert math.exp(model.log_probs([2])[0]) == pytest.approx(
        (2 - 1) / 22 + (0.5 + 1 + 6 * 1.5) / 22 / 9
    )


@pytest.mark.parametrize("order", [1, 2, 4])
def test_every_history_leaves_a_distribution(order: int) -> None:
    size = 6
    model = KneserNey.learn(draw(3, 12, size), order, size)
    histories = [[], [5], [2, 2, 2], [5, 5, 5, 5, 5], *draw(4, 30, size)]
    for history in histories:
        total = math.fsum(math.exp(model.log_probs([*history, w])[-1]) for w in range(size))
        assert abs(total - 1) < 1e-9


def test_worked_by_hand() -> None:
    """One sequence, a b a. Before a stand START and b, before b stands a; discounts 1/2, 1, 3/2."""
    a, b = 4, 5
    model = KneserNey.learn([[a, b, a]], 2, 6)
    first = Fraction(1, 2) + Fraction(1, 2) * Fraction(5, 12)  # p(a | START), and so p(a | b)
    probs = [first, Fraction(5, 8), first, Fraction(5, 24), Fraction(1, 24)]
    assert model.log_probs([a, b, a, a, 3]) == pytest.approx([math.log(p) for p in probs])


def test_each_sequence_starts_without_history() -> None:
    """What one sequence ends with is no history of the next: their order does not matter."""
    data = draw(5, 20, 6)
    forward, backward = (KneserNey.learn(d, 3, 6) for d in (data, data[::-1]))
    for sequence in draw(6, 10, 6):
        assert forward.log_probs(sequence) == backward.log_probs(sequence)


@pytest.mark.parametrize("data", [[], [[]]])
def test_without_data_all_tokens_are_alike(data: list[list[int]]) -> None:
    model = KneserNey.learn(data, 3, 5)
    assert model.log_probs([4, 0, 3]) == pytest.approx([math.log(1 / 5)] * 3)
    assert model.log_probs([]) == []


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        KneserNey.learn([[4]], 0, 5)
    with pytest.raises(ValueError, match="above 1, not 1"):
        KneserNey.learn([[0]], 2, 1)
    with pytest.raises(ValueError, match="token id 5: ids run from 0 to size - 1 = 4"):
        KneserNey.learn([[4], [5, 0]], 2, 5)
    with pytest.raises(ValueError, match="token id -1"):
        KneserNey.learn([[4]], 2, 5).log_probs([0, -1])
