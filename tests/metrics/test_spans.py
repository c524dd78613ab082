import random

import pytest

from unspool.metrics import Counts, SpanScores, span_scores


def boundaries(tags: list[str]) -> tuple[list[bool], list[bool]]:
    """Before each tag, and after the last: does a span begin here, does one end here?

    conlleval's rules for B, I and O, one pair of tags at a time; a sentence lies between Os.
    """
    begins, ends = [], []
    for before, here in zip(["O", *tags], [*tags, "O"], strict=True):
        other_type = before[1:] != here[1:]
        ends.append(before != "O" and (here[0] in "BO" or other_type))
        begins.append(here != "O" and (here[0] == "B" or before == "O" or other_type))
    return begins, ends


def slow(gold: list[list[str]], predicted: list[list[str]]) -> tuple[int, int, int]:
    """Spans in gold, found and correct, in one walk over both taggings side by side."""
    there = found = correct = 0
    for g, p in zip(gold, predicted, strict=True):
        (g_begins, g_ends), (p_begins, p_ends) = boundaries(g), boundaries(p)
        together = False  # inside spans that began at the same tag with the same type
        for i in range(len(g) + 1):
            correct += together and g_ends[i] and p_ends[i]
            if g_ends[i] or p_ends[i]:
                together = False
            there += g_begins[i]
            found += p_begins[i]
            if g_begins[i] and p_begins[i]:
                together = g[i][1:] == p[i][1:]
    return there, found, correct


def draw(rng: random.Random) -> tuple[list[list[str]], list[list[str]]]:
    tags = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    gold = [rng.choices(tags, k=rng.randint(0, 9)) for _ in range(20)]
    return gold, [[t if rng.random() < 0.8 else rng.choice(tags) for t in row] for row in gold]


def test_equals_a_walk_over_both_taggings() -> None:
    rng = random.Random(0)
    for _ in range(50):
        gold, predicted = draw(rng)
        scores = span_scores(gold, predicted)
        there, found, correct = slow(gold, predicted)
        assert scores.total == Counts(there, found, correct)
        assert scores.precision == pytest.approx(correct / found)
        assert scores.recall == pytest.approx(correct / there)
        p, r = correct / found, correct / there
        assert scores.f1 == pytest.approx(2 * p * r / (p + r))
        flat = [
            (a, b) for g, p in zip(gold, predicted, strict=True) for a, b in zip(g, p, strict=True)
        ]
        assert scores.accuracy == sum(a == b for a, b in flat) / len(flat)


def test_types_add_up_to_the_total() -> None:
    gold, predicted = draw(random.Random(1))
    scores = span_scores(gold, predicted)
    for of in ("gold", "found", "correct"):
        assert sum(getattr(c, of) for c in scores.by_type.values()) == getattr(scores.total, of)


# gold, predicted, spans in gold, found, correct
BY_HAND = [
    ("B-X I-X O", "B-X I-X O", 1, 1, 1),
    ("B-X I-X O", "B-Y I-Y O", 1, 1, 0),  # the type is wrong
    ("B-X I-X O", "B-X O O", 1, 1, 0),  # the end is wrong
    ("B-X I-X O", "O B-X O", 1, 1, 0),  # the beginning is wrong
    ("B-X I-X O", "I-X I-X O", 1, 1, 1),  # I after O begins a span
    ("B-X I-X I-X", "B-X I-Y I-X", 1, 3, 0),  # another type begins a span
    ("B-X B-X O", "B-X I-X O", 2, 1, 0),  # B begins a span after its own type
    ("B-X I-X B-X", "I-X I-X B-X", 2, 2, 2),  # IOB2 and IOB1 are the same spans
    ("B-X I-X I-X", "B-X I-X B-X", 1, 2, 0),  # begun together, ended apart
    ("O O O", "B-X O O", 0, 1, 0),
    ("B-X O O", "O O O", 1, 0, 0),
    ("O O O", "O O O", 0, 0, 0),
    ("B-X E-X S-Y", "B-X I-X B-Y", 2, 2, 2),  # BIOES and IOB2 are the same spans
]


@pytest.mark.parametrize(("gold", "predicted", "there", "found", "correct"), BY_HAND)
def test_rules_worked_by_hand(
    gold: str, predicted: str, there: int, found: int, correct: int
) -> None:
    assert span_scores([gold.split()], [predicted.split()]).total == Counts(there, found, correct)


def test_spans_end_with_their_sentence() -> None:
    assert span_scores([["B-X"], ["I-X"]], [["B-X"], ["I-X"]]).total == Counts(2, 2, 2)


def test_nothing_found_scores_0() -> None:
    scores = span_scores([["O"]], [["O"]])
    assert (scores.precision, scores.recall, scores.f1, scores.accuracy) == (0, 0, 0, 1)
    assert span_scores([], []).text().startswith("processed 0 tokens with 0 phrases; found: 0")


def test_the_published_example_of_conlleval() -> None:
    """Its page of CoNLL-2000 prints percentages, from which the counts follow."""
    by_type = {
        "VP": Counts(87, 100, 69),
        "ADJP": Counts(6, 1, 0),
        "ADVP": Counts(8, 11, 5),
        "NP": Counts(262, 317, 206),
        "PP": Counts(90, 107, 89),
        "SBAR": Counts(6, 3, 2),
    }
    assert SpanScores(961, 808, Counts(459, 539, 371), by_type).text() == "\n".join(
        [
            "processed 961 tokens with 459 phrases; found: 539 phrases; correct: 371.",
            "accuracy:  84.08%; precision:  68.83%; recall:  80.83%; FB1:  74.35",
            "             ADJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1",
            "             ADVP: precision:  45.45%; recall:  62.50%; FB1:  52.63  11",
            "               NP: precision:  64.98%; recall:  78.63%; FB1:  71.16  317",
            "               PP: precision:  83.18%; recall:  98.89%; FB1:  90.36  107",
            "             SBAR: precision:  66.67%; recall:  33.33%; FB1:  44.44  3",
            "               VP: precision:  69.00%; recall:  79.31%; FB1:  73.80  100",
        ]
    )


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="2 sentences in gold and 1 predicted"):
        span_scores([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match="sentence 2 has 1 tags in gold and 2 predicted"):
        span_scores([["O"], ["O"]], [["O"], ["O", "O"]])
