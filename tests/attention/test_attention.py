import math
from typing import Any

import pytest
import torch
from torch import Tensor

from unspool.attention import SCORES, Attention, Memory

LENGTHS = [5, 0, 2]
# Plain, projected, and with heads; location has places for its size, so it is plain only.
HOW: list[dict[str, Any]] = [{}, {"size": 6, "project": True}, {"size": 6, "heads": 3}]
CASES = [(name, how) for name in SCORES for how in HOW if name != "location"]
CASES.append(("location", {"size": 7}))
EVERY = pytest.mark.parametrize(("name", "how"), CASES, ids=lambda x: str(x))


def draw(name: str, how: dict[str, Any]) -> tuple[Attention, Tensor, Tensor]:
    """An attention, 2 queries (3, 2, 4) and a memory (5, 3, M) for each of 3 sentences."""
    plain = not (how.get("project") or how.get("heads"))
    memory_size = 4 if plain and name in ("dot", "scaled_dot", "cosine") else 3
    attention = Attention(name, 4, memory_size, **how).double()
    return attention, torch.randn(3, 2, 4).double(), torch.randn(5, 3, memory_size).double()


def slow(attention: Any, q: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """One query (Dq,) and one sentence (K, M), head by head: context (O,), weights (heads, K)."""
    projected, read = isinstance(attention.W_q, torch.nn.Linear), []
    weights = q.new_zeros(attention.heads, len(memory))
    step = attention.output_size // attention.heads
    for head in range(attention.heads):
        query, keys, values = q, memory, memory
        if projected:
            own = slice(head * step, (head + 1) * step)
            query = attention.W_q.weight[own] @ q
            keys = torch.stack([attention.W_k.weight[own] @ m for m in memory])
            values = torch.stack([attention.W_v.weight[own] @ m for m in memory])
        scores = attention.score(query[None], attention.score.keys(keys))[0].tolist()
        total = sum(math.exp(score) for score in scores)
        context = torch.zeros(step).double()
        for k, score in enumerate(scores):
            weights[head, k] = math.exp(score) / total
            context += weights[head, k] * values[k]
        read.append(context)
    joined = torch.cat(read)
    return attention.W_o.weight @ joined if projected else joined, weights


@EVERY
@torch.no_grad()
def test_equals_sentence_query_and_head_one_by_one(name: str, how: dict[str, Any]) -> None:
    attention, queries, memory = draw(name, how)
    ready = attention.remember(memory, LENGTHS)
    context, weights = attention(queries, ready)
    same, by_head = attention.by_head(queries, ready)
    assert context.equal(same)
    assert context.shape == (3, 2, attention.output_size)
    assert weights.shape == (3, 2, 5)
    for b, length in enumerate(LENGTHS):
        for q in range(2):
            assert not weights[b, q, length:].any()
            assert not by_head[b, :, q, length:].any()
            if length == 0:
                assert not context[b, q].any()
                continue
            expected, each = slow(attention, queries[b, q], memory[:length, b])
            torch.testing.assert_close(context[b, q], expected)
            torch.testing.assert_close(by_head[b, :, q, :length], each)
            torch.testing.assert_close(weights[b, q, :length], each.mean(0))
            assert float(weights[b, q].sum()) == pytest.approx(1)


@EVERY
def test_padding_changes_nothing(name: str, how: dict[str, Any]) -> None:
    attention, queries, clean = draw(name, how)
    inside = (torch.arange(5)[:, None] < torch.tensor(LENGTHS))[..., None]
    found = []
    for filling in (0.0, torch.nan):
        attention.zero_grad()
        memory = torch.where(inside, clean, filling).requires_grad_()
        asked = queries.clone().requires_grad_()
        with torch.autograd.set_detect_anomaly(True):
            context, weights = attention(asked, attention.remember(memory, LENGTHS))
            (context.sin().sum() + weights.square().sum()).backward()
        leaves = [asked, memory, *attention.parameters()]
        assert all(leaf.grad is not None for leaf in leaves)
        found.append([context, weights, *(leaf.grad for leaf in leaves)])
    for zeros, nans in zip(*found, strict=True):
        assert zeros.isfinite().all()
        assert zeros.equal(nans)


@EVERY
@torch.no_grad()
def test_a_sentence_is_the_same_alone(name: str, how: dict[str, Any]) -> None:
    attention, queries, memory = draw(name, how)
    together = attention.remember(memory, LENGTHS)
    context, weights = attention(queries, together)
    for b, length in enumerate(LENGTHS):
        gathered = Memory(*(part.index_select(0, torch.tensor([b])) for part in together))
        alone = attention.remember(memory[:length, b : b + 1])
        for ready, K in ((gathered, 5), (alone, length)):
            one, weight = attention(queries[b : b + 1], ready)
            torch.testing.assert_close(one[0], context[b])
            torch.testing.assert_close(weight[0], weights[b, :, :K])


@EVERY
def test_gradients_are_those_of_the_equations(name: str, how: dict[str, Any]) -> None:
    attention, queries, memory = draw(name, how)
    leaves = [queries.requires_grad_(), memory.requires_grad_(), *attention.parameters()]

    def run(queries: Tensor, memory: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        return attention(queries, attention.remember(memory, LENGTHS))

    assert torch.autograd.gradcheck(run, leaves, fast_mode=True)


def test_without_lengths_everything_is_read() -> None:
    attention, queries, memory = draw("additive", {"heads": 2})
    found = [attention(queries, attention.remember(memory, n)) for n in (None, [5, 5, 5])]
    torch.testing.assert_close(*found)


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match=r"one of additive, dot, .*, not 'loud'"):
        Attention("loud", 4, 3)
    with pytest.raises(ValueError, match="3 heads cannot share 4 features"):
        Attention("additive", 4, 3, heads=3)
    with pytest.raises(ValueError, match="heads is at least 1, not 0"):
        Attention("additive", 4, 3, heads=0)
    with pytest.raises(ValueError, match="location needs a size"):
        Attention("location", 4, 3)
    with pytest.raises(ValueError, match="location cannot be projected"):
        Attention("location", 4, 3, size=8, heads=2)
    attention = Attention("general", 4, 3)
    with pytest.raises(ValueError, match=r"expected \(K, B, 3\)"):
        attention.remember(torch.randn(5, 2, 4))
    ready = attention.remember(torch.randn(5, 2, 3), [5, 2])
    for shape in ((6, 1, 4), (2, 3, 3), (2, 4)):
        with pytest.raises(ValueError, match=r"expected \(2, Q, 4\), .*view the beams"):
            attention(torch.randn(*shape), ready)
