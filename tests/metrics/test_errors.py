"""Error rates against an edit distance written out."""

import random

import pytest

from unspool.metrics import ErrorRates, error_rates, exact_match, word_error_rate


def distance(a: list[str], b: list[str]) -> int:
    """Levenshtein, by its recursion, one row at a time."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
    return row[-1]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most", [1, 3])
def test_rates_are_their_definitions(seed: int, most: int) -> None:
    rng = random.Random(seed)

    def text(least: int) -> str:
        return " ".join(rng.choices("abc", k=rng.randint(least, 4)))

    references = [[text(1) for _ in range(rng.randint(1, most))] for _ in range(60)]
    hypotheses = [text(0) for _ in references]
    edits = words = wrong = 0
    for texts, said in zip(references, hypotheses, strict=True):
        options = [(distance(t.split(), said.split()), -len(t.split())) for t in texts]
        nearest = min(options)
        edits, words = edits + nearest[0], words - nearest[1]
        wrong += nearest[0] > 0
    found = error_rates(references, hypotheses)
    assert found.words == pytest.approx(edits / words)
    assert found.whole == pytest.approx(wrong / 60)
    assert word_error_rate(references, hypotheses) == found.words
    assert exact_match(references, hypotheses) == pytest.approx(1 - found.whole)


def test_a_word_with_two_pronunciations() -> None:
    references = [["R EH D", "R IY D"], ["HH AH L OW"]]
    assert error_rates(references, ["R IY D", "HH AH L OW"]) == ErrorRates(0.0, 0.0)
    assert error_rates(references, ["R IY D", "HH EH L"]) == ErrorRates(0.5, 2 / 7)


def test_plain_lists_are_one_reference_each() -> None:
    assert error_rates(["a b", "c"], ["a x", "c"]) == ErrorRates(0.5, 1 / 3)
    assert word_error_rate(["a"], ["a b c d"]) == 3.0  # insertions may be many


def test_spaces_count_for_exact_match_alone() -> None:
    assert error_rates(["a b"], [" a\u00a0 b\t"]) == ErrorRates(0.0, 0.0)
    assert error_rates([["a  b ", "c"]], ["a b"]) == ErrorRates(0.0, 0.0)
    assert exact_match(["a b"], ["a  b"]) == 0


def test_what_cannot_be_is_said() -> None:
    for metric in (error_rates, word_error_rate, exact_match):
        with pytest.raises(ValueError, match="2 references and 1 hypotheses"):
            metric(["a", "b"], ["a"])
        with pytest.raises(ValueError, match="no texts to compare"):
            metric([], [])
    with pytest.raises(ValueError, match="the references hold no words"):
        word_error_rate(["", " "], ["a", "b"])
