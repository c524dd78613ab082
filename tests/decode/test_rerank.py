import math
from typing import Any

import pytest

from unspool.decode import Hypothesis, rerank

HYPOTHESES = [Hypothesis([token], [-1.0 * token, -1.0], -9.0, True) for token in range(4)]


def test_fluency_and_fidelity_decide() -> None:
    found = rerank(HYPOTHESES, [-5.0, -2.0, -4.0, -3.0], [-1.0, -1.0, -0.5, -4.0])
    assert [one.hypothesis.tokens for one in found] == [[1], [2], [0], [3]]
    assert [one.score for one in found] == [-3.0, -4.5, -6.0, -7.0]
    assert [(one.direct, one.language, one.channel) for one in found[:2]] == [
        (-2.0, -2.0, -1.0),
        (-3.0, -4.0, -0.5),
    ]


def test_every_part_has_its_weight() -> None:
    weights = {"direct_weight": 0.5, "language_weight": 2.0, "channel_weight": 0.25}
    for one in rerank(HYPOTHESES, [-5.0, -2.0, -4.0, -3.0], [-1.0, -1.0, -0.5, -4.0], **weights):
        assert one.score == 0.5 * one.direct + 2 * one.language + 0.25 * one.channel


def test_equals_stay_as_they_came() -> None:
    found = rerank(HYPOTHESES, [-1.0, -2.0, -3.0, -1.5], [-3.0, -2.0, -1.0, -2.5])
    assert [one.hypothesis for one in found] == HYPOTHESES


def test_what_is_left_out_may_be_impossible() -> None:
    impossible = [-math.inf] * 4
    found = rerank(HYPOTHESES, impossible, [-1.0, -2.0, -3.0, 0.0], language_weight=0.0)
    assert [one.hypothesis.tokens for one in found] == [[3], [0], [1], [2]]


def test_what_cannot_be_is_said() -> None:
    zeros = [0.0] * 4
    cases: list[tuple[Any, Any, dict[str, float], str]] = [
        (zeros[:3], zeros, {}, r"4 hypotheses, 3 log p\(y\)"),
        (zeros, [*zeros, 0.0], {}, r"5 log p\(x\|y\)"),
        ([math.nan, 0.0, 0.0, 0.0], zeros, {}, "NaN has no rank"),
        (zeros, zeros, {"direct_weight": math.inf}, "finite"),
    ]
    for language, channel, weights, said in cases:
        with pytest.raises(ValueError, match=said):
            rerank(HYPOTHESES, language, channel, **weights)
