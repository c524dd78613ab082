import json
import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.decode.slow import slow_beam
from tests.decode.toy import END, Prefixes, Table, V
from unspool.decode import Found, Hypothesis, Normalise, State, beam, exhaustive, greedy
from unspool.decode.normalise import RULES

LIMITS = [row % 14 for row in range(64)]


def coarse(rows: int) -> Table:
    """Few different log-probabilities, exact in binary: sums are equal again and again."""
    model = Table(rows)
    model.tables = (model.tables * 2).round() / 2
    model.tables[..., END] -= 1  # not all are to finish at once
    return model


def search(model: Table, rows: list[int] | None = None, **how: Any) -> Found:
    rows = list(range(len(model.tables))) if rows is None else rows
    first, state = model.start(rows)
    how = {"steps": [LIMITS[row % 64] for row in rows], "width": 4} | how
    return beam(model, first, state, end=END, **how)


@pytest.mark.parametrize("make", [Table, coarse, lambda rows: Table(rows, torch.float32)])
@pytest.mark.parametrize("end", [END, None])
def test_a_beam_of_one_is_greedy(make: Any, end: int | None) -> None:
    model = make(40)
    first, state = model.start(list(range(40)))
    expected = greedy(model, first, state, end=end, steps=9)
    assert set(expected.finished) == ({True, False} if end else {False})
    best = beam(model, first, state, end=end, steps=9, width=1).best
    assert [one.tokens for one in best] == expected.tokens
    assert [one.log_probs for one in best] == expected.log_probs
    assert [one.finished for one in best] == expected.finished


@pytest.mark.parametrize("make", [Table, coarse])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 20])
def test_it_is_what_the_slow_one_finds(make: Any, rule: str, width: int) -> None:
    """Ties included: the tables of `coarse` are full of them, and their scores are compared."""
    model, nbest = make(64), (width + 1) // 2
    normalise = Normalise(rule, 0.8)
    how: dict[str, Any] = {"width": width, "nbest": nbest}
    found = search(model, normalise=rule, alpha=0.8, **how).hypotheses
    for row in range(64):
        slow = slow_beam(model, row, steps=LIMITS[row], rule=normalise, **how)
        assert [(h.tokens, h.log_probs, h.finished) for h in found[row]] == [
            (s.tokens, s.log_probs, s.finished) for s in slow
        ]
        assert [h.score for h in found[row]] == pytest.approx([s.score for s in slow], rel=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_as_wide_as_the_tree_it_is_exhaustive_and_narrower_never_better(rule: str) -> None:
    model = Prefixes(1000)
    first, state = model.start()
    how: dict[str, Any] = {"end": 1, "steps": model.limits, "normalise": rule, "alpha": 1.3}
    every = exhaustive(model, first, state, nbest=4, **how).hypotheses
    leaves = 1 + 3 + 9 + 27 + 81
    wide = beam(model, first, state, width=leaves, nbest=4, **how).hypotheses
    for found, expected in zip(wide, every, strict=True):
        assert [h.tokens for h in found] == [h.tokens for h in expected]
        assert [h.finished for h in found] == [h.finished for h in expected]
        assert [h.score for h in found] == pytest.approx([h.score for h in expected], rel=1e-12)
    worse = 0
    for width in (1, 2, 3):
        narrow = beam(model, first, state, width=width, **how).best
        for one, (best, *_) in zip(narrow, every, strict=True):
            assert (one.finished, one.score) <= (best.finished, best.score + 1e-12)
            worse += one.tokens != best.tokens
    assert worse > 100


@pytest.mark.parametrize("rule", RULES)
def test_a_sentence_is_the_same_in_any_company(rule: str) -> None:
    model, how = coarse(64), {"normalise": rule, "nbest": 3}
    together = search(model, **how).hypotheses
    sizes = [sentences for _, sentences in model.sizes]
    assert len(set(sizes)) > 3  # sentences were dropped
    assert all(b == a or 2 * b <= a for a, b in pairwise(sizes))
    for row in range(64):
        assert search(model, [row], **how).hypotheses == [together[row]]
    order = torch.randperm(64).tolist()
    assert search(model, order, **how).hypotheses == [together[row] for row in order]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("make", [Table, coarse])
def test_the_bound_stops_sooner_and_finds_the_same(rule: str, make: Any) -> None:
    model, calls = make(64), {}
    for nbest in (1, 2, 4):
        found = {}
        for stop in ("bound", "count"):
            model.sizes.clear()
            how = {"nbest": nbest, "steps": 12, "normalise": rule, "alpha": 0.3}
            found[stop] = search(model, stop=stop, **how)
            calls[stop, nbest] = sum(rows for rows, _ in model.sizes)
        assert found["bound"] == found["count"]
    assert calls["bound", 1] < calls["count", 1] or rule == "mean"


def test_hypotheses_are_sorted_distinct_and_scored() -> None:
    model = Table(64)
    found = search(model, width=6, nbest=6, normalise="gnmt", alpha=0.5).hypotheses
    assert {h.finished for best in found for h in best} == {True, False}
    for row, best in enumerate(found):
        assert len({tuple(h.tokens) + (END,) * h.finished for h in best}) == len(best)
        assert best == sorted(best, key=lambda h: (not h.finished, -h.score))
        for h in best:
            said = h.tokens + [END] * h.finished
            assert END not in h.tokens
            assert len(said) <= LIMITS[row]
            assert h.log_probs == model.log_probs(row, said)
            assert h.score == pytest.approx(h.log_prob / ((5 + len(said)) / 6) ** 0.5)


@pytest.mark.parametrize("stop", ["bound", "count"])
def test_the_tree_holds_the_search_and_changes_nothing(stop: str) -> None:
    model, how = Table(64), {"width": 4, "nbest": 4, "stop": stop}
    plain, found = search(model, **how), search(model, record=True, **how)
    assert plain.trees is None
    assert found.hypotheses == plain.hypotheses
    assert found.trees is not None
    for row, (best, tree) in enumerate(zip(found.hypotheses, found.trees, strict=True)):
        assert [node.id for node in tree.nodes] == list(range(len(tree.nodes)))
        ends = {
            (tuple(node.token for node in tree.path(node.id)), node.fate): node
            for node in tree.nodes
            if node.fate in ("finished", "cut")
        }
        for h in best:
            tokens = tuple(h.tokens) + (END,) * h.finished
            node = ends[tokens, "finished" if h.finished else "cut"]
            assert [n.log_prob for n in tree.path(node.id)] == h.log_probs
            assert node.score == h.score
            assert node.step == len(tokens)
        _check_nodes(tree.nodes, LIMITS[row])
        assert json.loads(json.dumps(tree.to_json()))[-1]["fate"] == tree.nodes[-1].fate


def _check_nodes(nodes: Any, limit: int) -> None:
    parents = {node.parent for node in nodes}
    last = max(node.step for node in nodes)
    for node in nodes[1:]:
        parent = nodes[node.parent]
        assert parent.fate == "kept"
        assert node.step == parent.step + 1
        assert node.total == pytest.approx(parent.total + node.log_prob)
        assert (node.token == END) >= (node.fate == "finished")
        assert node.fate != "cut" or (node.id not in parents and node.step == last)
        assert node.fate != "kept" or node.step < last
    for step in range(1, last + 1):
        here = [node for node in nodes if node.step == step]
        room = 4 - sum(n.fate == "finished" for n in nodes if 0 < n.step < step)
        taken = [n.total for n in here if n.fate != "pruned"]
        assert len(taken) == min(room, len(here))
        assert min(taken) >= max((n.total for n in here if n.fate == "pruned"), default=-math.inf)
    assert last <= limit
    assert nodes[0].fate == ("kept" if limit else "cut")


def test_what_an_empty_slot_gives_changes_nothing() -> None:
    model = Table(64)

    def step(tokens: Tensor, state: State) -> tuple[Tensor, State]:
        log_probs, state = model(tokens, state)
        # END is said in slots of hypotheses that are finished, and nowhere else.
        poison = torch.tensor([math.nan, math.inf, -math.inf], dtype=log_probs.dtype).repeat(2)
        return torch.where((tokens == END)[:, None], poison, log_probs), state

    first, state = model.start(list(range(64)))
    how: dict[str, Any] = {"end": END, "steps": LIMITS, "width": 4, "nbest": 3}
    assert beam(step, first, state, **how) == beam(model, first, state, **how)


def test_tokens_without_a_chance_are_never_said() -> None:
    """Two tokens can be said, so that a wide beam has fewer hypotheses than slots."""
    model = Table(3)
    model.tables[..., 3:] = -math.inf
    model.tables[..., 1] = -math.inf
    for best in search(model, width=20, nbest=20, steps=3).hypotheses:
        said = sorted(tuple(h.tokens) + (END,) * h.finished for h in best)
        assert said == [(0, 0, 0), (0, 0, END), (0, END), (END,)]


def test_no_steps_and_no_sentences() -> None:
    model = Table(2)
    assert search(model, steps=0).best == [Hypothesis([], [], 0.0, False)] * 2
    assert model.sizes == []
    assert search(model, [], steps=3).hypotheses == []


def test_what_cannot_be_is_said() -> None:
    for how, said in [
        ({"width": 0}, "1 or more, not 0"),
        ({"nbest": 0}, "between 1 and the width, 4, not 0"),
        ({"nbest": 5}, "between 1 and the width, 4, not 5"),
        ({"stop": "soon"}, "one of bound, count, not 'soon'"),
        ({"normalise": "length"}, "one of none, mean, gnmt, not 'length'"),
        ({"alpha": -1.0}, "0 .* or above, not -1.0"),
        ({"alpha": math.nan}, "not nan"),
        ({"steps": -1}, "0 or more, not -1"),
        ({"steps": [1, -1]}, "0 or more"),
        ({"steps": [1, 2, 3]}, "3 numbers for 2 rows"),
    ]:
        with pytest.raises(ValueError, match=said):
            search(Table(2), **how)


def test_a_step_that_gives_no_log_probabilities_is_named() -> None:
    first = torch.ones(2, dtype=torch.long)
    for bad, said in [
        (torch.zeros(3, V), r"expected \(2, V\)"),
        (torch.tensor([[0.0] * V, [0.0, math.nan] * 3]), "NaN.* in row 1"),
        (torch.tensor([[0.0] * V, [-math.inf] * V]), "no token a chance, in row 1"),
        (torch.tensor([[0.0] * V, [2.5] * V]), "2.5 in row 1, .*log_softmax"),
    ]:
        with pytest.raises(ValueError, match=said):
            beam(lambda t, s, p=bad: (p, s), first, (None, None), end=END, steps=3, width=3)
    with pytest.raises(ValueError, match="fixed state"):
        beam(lambda t, s: (torch.zeros(len(t), V), s), first, (None, 3), end=END, steps=3, width=3)
