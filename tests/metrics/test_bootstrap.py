"""Paired bootstrap: what it draws is BLEU of the drawn sentences, and it finds what is there."""

import random

import numpy as np
import pytest

from unspool.metrics import bleu, contrast_groups, paired_bootstrap
from unspool.metrics.bleu import score_of, statistics


def systems(seed: int, size: int, worse: float, start: int = 0) -> tuple[list[str], ...]:
    """References, a system with a tenth of its words wrong, and one with more from `start` on."""
    rng = random.Random(seed)

    def spoil(words: list[str], share: float) -> str:
        return " ".join("x" if rng.random() < share else word for word in words)

    right = [rng.choices("abcdefgh", k=rng.randint(6, 15)) for _ in range(size)]
    ours = [spoil(words, 0.1) for words in right]
    theirs = [spoil(words, 0.1 + worse * (k >= start)) for k, words in enumerate(right)]
    return [" ".join(words) for words in right], ours, theirs


def test_sums_of_statistics_give_bleu() -> None:
    right, ours, _ = systems(0, 40, 0.1)
    lists = [[text, "a b c"] for text in right]
    for seed in range(5):
        chosen = np.random.default_rng(seed).integers(40, size=40)
        sums = statistics(lists, ours, False, "13a")[chosen].sum(0)
        slow = bleu([lists[k] for k in chosen], [ours[k] for k in chosen])
        assert score_of(sums) == pytest.approx(slow.score)
    unmatched = statistics(["a b c d e f"], ["a b c x e f"], False, "13a")  # no 4-gram: smoothed
    assert score_of(unmatched.sum(0)) == pytest.approx(bleu(["a b c d e f"], ["a b c x e f"]).score)


def test_the_interval_is_that_of_redrawn_corpora() -> None:
    """Slowly: BLEU of whole redrawn corpora."""
    right, ours, theirs = systems(1, 25, 0.05)
    rng = np.random.default_rng(3)
    slow = []
    for _ in range(60):
        chosen = rng.integers(25, size=25)
        one, other = (
            bleu([right[k] for k in chosen], [side[k] for k in chosen]).score
            for side in (ours, theirs)
        )
        slow.append(one - other)
    found = paired_bootstrap(right, ours, theirs, samples=60, seed=3)
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(slow, [2.5, 97.5])))
    gap = found.difference
    assert gap == pytest.approx(bleu(right, ours).score - bleu(right, theirs).score)
    beyond = sum(abs(d - np.mean(slow)) >= abs(gap) for d in slow)
    assert found.p == pytest.approx((1 + beyond) / 61)


def test_better_is_found_and_equal_is_not() -> None:
    right, ours, theirs = systems(2, 200, 0.15)
    found = paired_bootstrap(right, ours, theirs, samples=200)
    assert 0 < found.low < found.difference < found.high
    assert found.p < 0.02
    assert found == paired_bootstrap(right, ours, theirs, samples=200)
    assert found != paired_bootstrap(right, ours, theirs, samples=200, seed=1)
    same = paired_bootstrap(right, ours, ours, samples=50)
    assert (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)
    luck = paired_bootstrap(*systems(3, 200, 0.0), samples=200)
    assert luck.low < 0 < luck.high
    assert luck.p > 0.05


def test_sides_may_be_exchanged() -> None:
    right, ours, theirs = systems(4, 50, 0.1)
    one = paired_bootstrap(right, ours, theirs, samples=100)
    other = paired_bootstrap(right, theirs, ours, samples=100)
    assert other.p == one.p
    turned = (other.ours, other.theirs, -other.difference, -other.high, -other.low)
    assert turned == pytest.approx((one.theirs, one.ours, one.difference, one.low, one.high))


def test_settings_reach_bleu() -> None:
    right, ours, theirs = systems(4, 50, 0.1)
    loud = [text.upper() + "." for text in ours]
    found = paired_bootstrap(right, loud, theirs, samples=2, lowercase=True, tokenize="none")
    assert found.ours == pytest.approx(bleu(right, loud, lowercase=True, tokenize="none").score)


def test_a_gain_in_one_group_alone_is_a_contrast() -> None:
    right, ours, theirs = systems(5, 300, 0.2, start=150)
    inside = [k >= 150 for k in range(300)]
    found = contrast_groups(right, ours, theirs, inside, samples=200)
    for group, where in ((found.inside, slice(150, None)), (found.outside, slice(150))):
        alone = paired_bootstrap(right[where], ours[where], theirs[where], samples=200)
        assert (group.ours, group.theirs) == pytest.approx((alone.ours, alone.theirs))
        assert (group.low, group.high) == pytest.approx((alone.low, alone.high), abs=2)
    assert found.difference == found.inside.difference - found.outside.difference
    assert 0 < found.low < found.difference < found.high
    assert found.p < 0.02
    # The interval of a difference of two that are drawn apart is wider than that of either.
    widths = [one.high - one.low for one in (found, found.inside, found.outside)]
    assert widths[0] > max(widths[1:])


def test_a_gain_everywhere_is_none() -> None:
    right, ours, theirs = systems(6, 300, 0.1)
    found = contrast_groups(right, ours, theirs, [k % 2 == 0 for k in range(300)], samples=200)
    assert found.low < 0 < found.high
    assert found.p > 0.05
    assert found.inside.low > 0


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="1 or more; got 0"):
        paired_bootstrap(["a"], ["a"], ["a"], samples=0)
    with pytest.raises(ValueError, match="1 references and 2 hypotheses"):
        paired_bootstrap(["a"], ["a"], ["a", "b"])
    with pytest.raises(ValueError, match="1 marks for 2 sentences"):
        contrast_groups(["a", "b"], ["a", "b"], ["a", "b"], [True])
    with pytest.raises(ValueError, match="a contrast needs two"):
        contrast_groups(["a", "b"], ["a", "b"], ["a", "b"], [True, True])
