import math

import pytest
import torch
from torch import Tensor

from tests.decode.toy import END, Table
from unspool.decode import State, greedy


def test_every_token_is_the_likeliest() -> None:
    model = Table(20)
    first, state = model.start(list(range(20)))
    found = greedy(model, first, state, end=END, steps=12)
    assert {True, False} == set(found.finished)
    for row in range(20):
        tokens = found.tokens[row] + [END] * found.finished[row]
        before, last = 1, 1
        for token in tokens:
            assert token == int(model.tables[row, before, last].argmax())
            before, last = last, token
        assert END not in found.tokens[row]
        assert found.log_probs[row] == model.log_probs(row, tokens)
        assert found.finished[row] or len(tokens) == 12


def test_a_row_is_the_same_alone() -> None:
    model = Table(8)
    first, state = model.start(list(range(8)))
    together = greedy(model, first, state, end=END, steps=12)
    for row in range(8):
        first, state = model.start([row])
        alone = greedy(model, first, state, end=END, steps=12)
        assert alone.tokens[0] == together.tokens[row]
        assert alone.log_probs[0] == together.log_probs[row]
        assert alone.finished[0] == together.finished[row]


def test_without_an_end_rows_run_to_the_last_step() -> None:
    model = Table(8)
    first, state = model.start(list(range(8)))
    found = greedy(model, first, state, end=None, steps=12)
    assert found.finished == [False] * 8
    assert [len(row) for row in found.tokens] == [12] * 8
    assert any(END in row for row in found.tokens)


def test_nothing_is_asked_once_all_rows_are_finished() -> None:
    model = Table(2)
    model.tables[..., END] = 1.0
    first, state = model.start([0, 1])
    found = greedy(model, first, state, end=END, steps=12)
    assert len(model.sizes) == 1
    assert found.tokens == [[], []]
    assert found.log_probs == [[1.0], [1.0]]
    assert greedy(model, first, state, end=END, steps=0).finished == [False, False]
    assert len(model.sizes) == 1


def test_what_a_finished_row_gives_changes_nothing() -> None:
    def step(tokens: Tensor, state: State) -> tuple[Tensor, State]:
        log_probs = torch.tensor([[0.0, -9.0, -9.0], [-9.0, -9.0, 0.0]])
        if state[0]:
            log_probs[1] = math.nan
        return log_probs, (True, None)

    found = greedy(step, torch.tensor([1, 1]), (False, None), end=2, steps=3)
    assert found.tokens == [[0, 0, 0], []]
    assert found.log_probs == [[0.0] * 3, [0.0]]
    assert found.finished == [False, True]


def test_what_cannot_be_is_said() -> None:
    model = Table(2)
    first, state = model.start([0, 1])
    with pytest.raises(ValueError, match="0 or more, not -1"):
        greedy(model, first, state, end=END, steps=-1)
    with pytest.raises(ValueError, match=r"expected \(B,\)"):
        greedy(model, first[:, None], state, end=END, steps=1)
    with pytest.raises(ValueError, match=r"expected \(2, V\)"):
        greedy(lambda t, s: (torch.zeros(3, 4), s), first, state, end=END, steps=1)
    for bad in (math.nan, -math.inf):
        log_probs = torch.zeros(2, 4)
        log_probs[1] = bad
        with pytest.raises(ValueError, match="no token a chance, in row 1"):
            greedy(lambda t, s, p=log_probs: (p, s), first, state, end=END, steps=1)
