import itertools
import math
from typing import Any

import pytest
import torch

from tests.decode.toy import END, Table, V
from unspool.decode import exhaustive


def test_it_is_every_sequence_there_is() -> None:
    model = Table(3)
    first, state = model.start([0, 1, 2])
    how: dict[str, Any] = {"end": END, "steps": [3, 1, 0], "normalise": "mean"}
    found = exhaustive(model, first, state, nbest=None, **how).hypotheses
    for row, steps in enumerate([3, 1, 0]):
        every = {
            tuple(itertools.takewhile(lambda token: token != END, said)) + (END,) * (END in said)
            for said in itertools.product(range(V), repeat=steps)
        }
        # A sequence that ends is there once, whatever would have come after.
        assert sorted((*h.tokens, *[END] * h.finished) for h in found[row]) == sorted(every)
        assert found[row] == sorted(found[row], key=lambda h: (not h.finished, -h.score))
        for h in found[row]:
            said = h.tokens + [END] * h.finished
            assert h.log_probs == model.log_probs(row, said)
            assert h.score == pytest.approx(h.log_prob / max(1, len(said)))
    assert math.fsum(math.exp(h.log_prob) for h in found[0]) == pytest.approx(1)
    few = exhaustive(model, first, state, nbest=2, **how).hypotheses
    assert few == [best[:2] for best in found]


def test_without_an_end_all_are_cut() -> None:
    model = Table(1)
    first, state = model.start([0])
    found = exhaustive(model, first, state, end=None, steps=2, nbest=None).hypotheses[0]
    assert len(found) == V**2
    assert not any(h.finished for h in found)


def test_what_cannot_be_is_said() -> None:
    model = Table(2)
    first, state = model.start([0, 1])
    with pytest.raises(ValueError, match=r"more than 100,000 sequences of 6 tokens in 9 steps"):
        exhaustive(model, first, state, end=END, steps=9)
    with pytest.raises(ValueError, match="1 or more, not 0"):
        exhaustive(model, first, state, end=END, steps=1, nbest=0)
    model.tables[1, 1, 1] = torch.nan
    first, state = model.start([0, 1])
    with pytest.raises(ValueError, match="in row 1"):
        exhaustive(model, first, state, end=END, steps=1)
