import random

import pytest

from unspool.metrics import Confusion, accuracy, macro_f1


def draw(seed: int) -> tuple[list[str], list[str]]:
    """Gold of four labels, predictions of five: one is never in gold, rare ones are missed."""
    rng = random.Random(seed)
    gold = rng.choices("abcd", (9, 5, 2, 1), k=40)
    return gold, [g if rng.random() < 0.6 else rng.choice("abce") for g in gold]


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_definitions(seed: int) -> None:
    gold, predicted = draw(seed)
    pairs = list(zip(gold, predicted, strict=True))
    assert accuracy(gold, predicted) == len([1 for g, p in pairs if g == p]) / 40
    scores = []
    for label in sorted(set(gold)):
        right = pairs.count((label, label))
        precision = right / predicted.count(label) if label in predicted else 0.0
        recall = right / gold.count(label)
        total = precision + recall
        scores.append(2 * precision * recall / total if total else 0.0)
    assert macro_f1(gold, predicted) == pytest.approx(sum(scores) / len(scores))


def test_a_label_never_predicted_counts_0() -> None:
    assert macro_f1(["a", "a", "b"], ["a", "a", "a"]) == pytest.approx((0.8 + 0) / 2)


def test_a_label_never_in_gold_is_not_in_the_mean() -> None:
    assert macro_f1(["a", "a"], ["a", "z"]) == pytest.approx(2 / 3)


def test_the_table_counts_every_pair() -> None:
    gold, predicted = draw(0)
    confusion = Confusion.count(gold, predicted)
    assert confusion.labels == ("a", "b", "c", "d", "e")
    pairs = list(zip(gold, predicted, strict=True))
    for g, row in zip(confusion.labels, confusion.table, strict=True):
        assert row == tuple(pairs.count((g, p)) for p in confusion.labels)
    confused = confusion.confused()
    assert sum(times for _, _, times in confused) == sum(g != p for g, p in pairs)
    assert [times for *_, times in confused] == sorted((t for *_, t in confused), reverse=True)


def test_the_text_is_aligned_with_the_most_confused_below() -> None:
    gold = ["cat", "cat", "cat", "dog", "dog", "hippopotamus"]
    predicted = ["cat", "dog", "dog", "dog", "cat", "hippopotamus"]
    assert Confusion.count(gold, predicted).text() == "\n".join(
        [
            "gold \\ predicted  cat  dog  hippopotamus",
            "cat                 1    2             0",
            "dog                 1    1             0",
            "hippopotamus        0    0             1",
            "",
            "most confused:",
            "  cat  as dog  2",
            "  dog  as cat  1",
        ]
    )
    assert Confusion.count(gold, predicted).text(most=1).endswith("as dog  2")


def test_wide_characters_and_accents_are_aligned_too() -> None:
    accented = "e\u0301"  # two characters, one column
    lines = Confusion.count(["日本", accented], ["日本", accented]).text().split("\n")
    assert lines == [
        f"gold \\ predicted  {accented}  日本",
        f"{accented}                 1     0",
        "日本              0     1",
    ]


def test_what_cannot_be_is_said() -> None:
    for metric in (accuracy, macro_f1, Confusion.count):
        with pytest.raises(ValueError, match="2 labels in gold and 1 predicted"):
            metric(["a", "b"], ["a"])
        with pytest.raises(ValueError, match="no labels to compare"):
            metric([], [])
