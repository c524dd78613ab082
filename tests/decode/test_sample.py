import math
from collections import Counter
from typing import Any

import pytest
import torch

from tests.decode.toy import END, Table, V
from unspool.decode import greedy, sample, truncate
from unspool.decode.sample import draw

HOW: list[dict[str, Any]] = [
    {},
    {"temperature": 0.5},
    {"temperature": 2.0, "top_k": 3},
    {"top_p": 0.7},
    {"temperature": 1.3, "top_k": 4, "top_p": 0.8},
    {"top_k": 1},
    {"temperature": 0.0},
    {"temperature": 5e-324},
    {"top_p": 1e-9},
    {"top_k": 100, "top_p": 1.0},
]


def slow(
    probs: list[float],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> list[float]:
    """The distribution to draw from, by the words of the docstring."""
    order = sorted(range(len(probs)), key=lambda token: (-probs[token], token))[:top_k]
    if temperature < 1e-6:
        return [float(token == order[0]) for token in range(len(probs))]
    sharp = {token: probs[token] ** (1 / temperature) for token in order}
    shares = {t: p / math.fsum(sharp.values()) for t, p in sharp.items()}
    if top_p is not None:
        kept: dict[int, float] = {}
        for token in order:
            if math.fsum(kept.values()) < top_p:
                kept[token] = shares[token]
        shares = kept
    return [shares.get(t, 0.0) / math.fsum(shares.values()) for t in range(len(probs))]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_the_distribution_is_that_of_the_words(how: dict[str, Any]) -> None:
    log_probs = (2 * torch.randn(50, 9, dtype=torch.float64)).log_softmax(1)
    found = truncate(log_probs, **how)
    for row, given in zip(found.tolist(), log_probs.exp().tolist(), strict=True):
        assert row == pytest.approx(slow(given, **how), abs=1e-12)


def test_top_p_keeps_the_fewest_that_reach_it() -> None:
    log_probs = torch.tensor([[0.125, 0.5, 0.25, 0.125]]).log()
    kept = {p: truncate(log_probs, top_p=p)[0].nonzero()[:, 0].tolist() for p in (0.4, 0.6, 0.8)}
    assert kept == {0.4: [1], 0.6: [1, 2], 0.8: [0, 1, 2]}


@pytest.mark.parametrize("how", HOW[:5], ids=str)
def test_pairs_are_drawn_as_often_as_they_should_be(how: dict[str, Any]) -> None:
    """Two steps of many rows of one table: the second draw knows nothing of the first."""
    model, rows = Table(1), 10_000
    first, state = model.start([0] * rows)
    found = sample(model, first, state, end=None, steps=2, seeds=range(rows), **how)
    counts = Counter(tuple(tokens) for tokens in found.tokens)
    probs = model.tables[0].exp()
    for a, p in enumerate(slow(probs[1, 1].tolist(), **how)):
        for b, q in enumerate(slow(probs[1, a].tolist(), **how)):
            mean, spread = rows * p * q, math.sqrt(rows * p * q * (1 - p * q))
            # Bernstein's bound: rare pairs are Poisson, and stray further than 4 spreads.
            assert abs(counts[a, b] - mean) <= (4 * spread + 16 / 3 if mean else 0)


@pytest.mark.parametrize("how", [{"top_k": 1}, {"temperature": 0.0}, {"top_p": 1e-9}], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_likeliest_alone_is_greedy(how: dict[str, Any], dtype: torch.dtype) -> None:
    model = Table(10, dtype)
    first, state = model.start(list(range(10)))
    expected = greedy(model, first, state, end=END, steps=9)
    assert sample(model, first, state, end=END, steps=9, **how) == expected


def test_among_equals_the_likeliest_alone_is_still_greedy() -> None:
    equal = torch.zeros(3, 500)
    first = torch.zeros(3, dtype=torch.long)

    def step(tokens: torch.Tensor, state: Any) -> Any:
        return equal.log_softmax(1), state

    expected = greedy(step, first, (None, None), end=None, steps=4)
    assert sample(step, first, (None, None), end=None, steps=4, top_k=1) == expected


def test_a_row_is_the_same_alone_with_its_seed() -> None:
    model = Table(8)
    first, state = model.start(list(range(8)))
    together = sample(model, first, state, end=END, steps=12, seeds=range(8), top_p=0.9)
    assert {True, False} == set(together.finished)
    for row in range(8):
        first, state = model.start([row])
        alone = sample(model, first, state, end=END, steps=12, seeds=[row], top_p=0.9)
        assert alone.tokens[0] == together.tokens[row]
        assert alone.log_probs[0] == together.log_probs[row]


def test_log_probs_are_those_of_the_model() -> None:
    model = Table(8)
    first, state = model.start(list(range(8)))
    found = sample(model, first, state, end=END, steps=9, temperature=3.0, top_k=4)
    for row in range(8):
        said = found.tokens[row] + [END] * found.finished[row]
        assert found.log_probs[row] == model.log_probs(row, said)


def test_torch_settles_the_seeds_that_are_not_given() -> None:
    model = Table(8)
    first, state = model.start(list(range(8)))
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(sample(model, first, state, end=None, steps=12))
    assert found[0] == found[1] != found[2]


def test_the_ends_of_the_line_fall_to_tokens_with_a_chance() -> None:
    probs = torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]] * 4, dtype=torch.float64)
    uniform = [0.0, math.nextafter(0.25, 0), 0.25, math.nextafter(1, 0)]
    assert draw(probs, torch.tensor(uniform, dtype=torch.float64)).tolist() == [1, 1, 3, 3]
    # A number that rounding brings up to the total, as if it were 1.
    assert draw(probs[:1], torch.ones(1, dtype=torch.float64)).tolist() == [3]


def test_a_token_without_a_chance_is_never_drawn() -> None:
    log_probs = torch.full((500, V), -torch.inf)
    log_probs[:, 1:3] = math.log(0.5)

    def step(tokens: torch.Tensor, state: Any) -> Any:
        return log_probs, state

    first = torch.zeros(500, dtype=torch.long)
    found = sample(step, first, (None, None), end=None, steps=4, temperature=50.0)
    assert {token for row in found.tokens for token in row} == {1, 2}


def test_what_a_finished_row_gives_changes_nothing() -> None:
    def step(tokens: torch.Tensor, state: Any) -> Any:
        log_probs = torch.tensor([[-torch.inf, 0.0, -torch.inf], [-torch.inf, -torch.inf, 0.0]])
        if state[0]:
            log_probs[1] = math.nan
        return log_probs, (True, None)

    found = sample(step, torch.tensor([1, 1]), (False, None), end=2, steps=3)
    assert found.tokens == [[1, 1, 1], []]
    assert found.finished == [False, True]


def test_what_cannot_be_is_said() -> None:
    model = Table(2)
    first, state = model.start([0, 1])
    for how, said in [
        ({"temperature": -1.0}, "not -1.0"),
        ({"temperature": math.nan}, "not nan"),
        ({"temperature": math.inf}, "not inf"),
        ({"top_k": 0}, "1 or more, not 0"),
        ({"top_p": 0.0}, "above 0 and at most 1, not 0.0"),
        ({"top_p": 1.5}, "not 1.5"),
        ({"seeds": [1]}, "2 numbers of 0 or more"),
        ({"seeds": [1, -1]}, "2 numbers of 0 or more"),
    ]:
        with pytest.raises(ValueError, match=said):
            sample(model, first, state, end=END, steps=3, **how)
