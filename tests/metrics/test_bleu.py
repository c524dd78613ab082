"""BLEU and chrF against their definitions."""

import random
from collections import Counter

import pytest

from tests.metrics.slow_bleu import slow_bleu
from unspool.metrics import bleu, chrf


def draw(seed: int, most: int) -> tuple[list[list[str]], list[str]]:
    """Texts of a few words, and hypotheses with some words changed, lost or doubled."""
    rng = random.Random(seed)
    references, hypotheses = [], []
    for _ in range(30):
        base = rng.choices("abcde", k=rng.randint(6, 15))
        others = [
            [rng.choice("abcde") if rng.random() < 0.2 else w for w in base][rng.randrange(3) :]
            for _ in range(rng.randint(1, most) - 1)
        ]
        said = [w * rng.choice([1, 1, 1, 1, 0, 2]) for w in base]
        references.append([" ".join(words) for words in (base, *others)])
        hypotheses.append(" ".join(" ".join(said).split()))
    return references, hypotheses


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [1, 3])
def test_bleu_is_its_definition(seed: int, most: int) -> None:
    references, hypotheses = draw(seed, most)
    found = bleu(references, hypotheses, tokenize="none")
    assert found.score == pytest.approx(slow_bleu(references, hypotheses))
    assert 5 < found.score < 95
    assert found.hypothesis_length == sum(len(text.split()) for text in hypotheses)
    assert f"nrefs:{'1' if most == 1 else 'var'}|case:mixed" in found.signature


def test_the_example_of_the_notes() -> None:
    references = [["the cat is on the mat", "there is a cat on the mat"]]
    found = bleu(references, ["the cat the cat on the mat"])
    assert found.precisions == pytest.approx([100 * p for p in (5 / 7, 4 / 6, 2 / 5, 1 / 4)])
    assert (found.brevity, found.hypothesis_length, found.reference_length) == (1.0, 7, 7)


def test_a_short_translation_pays() -> None:
    found = bleu(["a b c d e f g h"], ["a b c d"], tokenize="none")
    assert found.precisions == pytest.approx((100,) * 4)
    assert found.brevity == pytest.approx(2.718281828 ** (1 - 8 / 4))
    assert found.score == pytest.approx(100 * found.brevity)


def test_settings_are_used_and_signed() -> None:
    right, said = ["The cat sat, and sat."], ["the cat sat, and sat ."]
    assert bleu(right, said).score < bleu(right, said, lowercase=True).score == pytest.approx(100)
    assert bleu(right, said, lowercase=True, tokenize="none").score < 100
    assert "case:lc|eff:no|tok:none|smooth:exp|version:" in (
        bleu(right, said, lowercase=True, tokenize="none").signature
    )


def test_texts_cut_on_purpose_give_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    texts = ["a b c d ."] * 120
    assert bleu(texts, texts, tokenize="none").score == pytest.approx(100)
    assert not caplog.records
    bleu(texts, texts)
    assert "forgot to detokenize" in caplog.text


def slow_chrf(references: list[str], hypotheses: list[str]) -> float:
    precision = recall = 0.0
    for n in range(1, 7):
        shared = of_right = of_said = 0
        for pair in zip(references, hypotheses, strict=True):
            sides = [text.replace(" ", "") for text in pair]
            right, said = (Counter(s[k : k + n] for k in range(len(s) - n + 1)) for s in sides)
            shared += (right & said).total()
            of_right, of_said = of_right + right.total(), of_said + said.total()
        precision, recall = precision + shared / of_said / 6, recall + shared / of_right / 6
    return 100 * 5 * precision * recall / (4 * precision + recall)


@pytest.mark.parametrize("seed", range(4))
def test_chrf_is_its_definition(seed: int) -> None:
    references, hypotheses = draw(seed, 1)
    slow = slow_chrf([right for (right,) in references], hypotheses)
    assert chrf(references, hypotheses).score == pytest.approx(slow)
    assert "nc:6|nw:0" in chrf(references, hypotheses).signature
    assert "nw:2" in chrf(references, hypotheses, word_order=2).signature
    assert chrf(["ab c"], ["AB C"]).score < chrf(["ab c"], ["AB C"], lowercase=True).score


def test_what_cannot_be_is_said() -> None:
    for metric in (bleu, chrf):
        with pytest.raises(ValueError, match="2 references and 1 hypotheses"):
            metric(["a", "b"], ["a"])
        with pytest.raises(ValueError, match="no texts to compare"):
            metric([], [])
        with pytest.raises(ValueError, match="example 2 has no reference"):
            metric([["a"], []], ["a", "b"])
        with pytest.raises(ValueError, match="texts come in lists"):
            metric("a", "a")
    with pytest.raises(ValueError, match=r"tokenize is one of .*13a.*, not 'moses'"):
        bleu(["a"], ["a"], tokenize="moses")
