import math
from typing import Any

import pytest
import torch
from torch import Tensor

from unspool.decode import reorder
from unspool.models.transformer import Encoded, Transformer, waves
from unspool.text import END, PAD, START, UNK

V = 9
TIED = ("none", "output", "all")


def scored(model: Transformer, encoded: Encoded, inputs: Tensor) -> Tensor:
    return model.scores(model.features(encoded, inputs))


def make(tied: Any = "none", **other: Any) -> Transformer:
    sizes: dict[str, Any] = {"size": 12, "layers": 2, "heads": 3, "dropout": 0.1} | other
    model = Transformer(source_symbols=V + 2, target_symbols=V, tied=tied, **sizes).double().eval()
    for parameter in model.parameters():
        # Biases and norms start at 0 and 1, where a forgotten one would not be missed.
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    return model


def some(B: int = 4, S: int = 7, T: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """A source (S, B) with its lengths, and START y_1 .. y_n (T, B)."""
    lengths = torch.randint(1, S + 1, (B,))
    lengths[0] = S
    ids = torch.randint(4, V + 2, (S, B)).masked_fill(torch.arange(S)[:, None] >= lengths, PAD)
    said = torch.randint(4, V, (T, B))
    said[0] = START
    return ids, lengths, said


def spoken(scores: Tensor) -> Tensor:
    """Log-probabilities, with no chance for what is no part of a text."""
    log_probs = scores.log_softmax(-1).clone()
    log_probs[..., [PAD, START, UNK]] = -math.inf
    return log_probs


def same(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("tied", TIED)
@pytest.mark.parametrize("K", [1, 3])
def test_step_by_step_is_all_at_once(tied: str, K: int) -> None:
    """K hypotheses of each sentence that part ways, swapped about as a beam would."""
    model, (ids, lengths, _) = make(tied), some()
    encoded, step = model.encode(ids, lengths), model.stepper()
    said = torch.randint(4, V, (6, 4 * K))
    said[0] = START
    rows = torch.arange(4).repeat_interleave(K)
    whole = spoken(scored(model, Encoded(*(part[rows] for part in encoded)), said))
    state = reorder(model.begin(encoded), rows)
    order = torch.arange(4 * K)
    for t, tokens in enumerate(said):
        log_probs, state = step(tokens[order], state)
        same(log_probs, whole[t][order])
        swap = torch.cat([b * K + torch.randperm(K) for b in range(4)])
        order, state = order[swap], reorder(state, swap)


@pytest.mark.parametrize("grad", [True, False])
def test_padding_changes_nothing(grad: bool) -> None:
    model, (ids, lengths, said) = make("output"), some()
    with torch.set_grad_enabled(grad):
        encoded = model.encode(ids, lengths)
        whole, weights = scored(model, encoded, said), model.alignment(encoded, said)
        padded = torch.cat((ids, torch.full((3, 4), PAD)))
        padded = torch.where(torch.arange(10)[:, None] < lengths, padded, torch.randint(V, (10, 4)))
        longer = torch.cat((said, torch.full((2, 4), PAD)))
        encoded = model.encode(padded, lengths)
        same(scored(model, encoded, longer)[:6], whole)
        same(model.alignment(encoded, longer)[:, :6, :7], weights)
        log_probs, _ = model.stepper()(said[0], model.begin(encoded))
        same(log_probs, spoken(whole[0]))


def test_a_row_is_the_same_alone() -> None:
    model, (ids, lengths, said) = make(), some()
    encoded = model.encode(ids, lengths)
    whole, weights = scored(model, encoded, said), model.alignment(encoded, said)
    for b, S in enumerate(lengths.tolist()):
        alone = model.encode(ids[:S, b : b + 1], lengths[b : b + 1])
        same(scored(model, alone, said[:, b : b + 1])[:, 0], whole[:, b])
        same(model.alignment(alone, said[:, b : b + 1])[0], weights[b, :, :S])


def test_what_comes_later_is_not_seen() -> None:
    model, (ids, lengths, said) = make(), some()
    encoded = model.encode(ids, lengths)
    before = scored(model, encoded, said)
    said[4:] = END
    after = scored(model, encoded, said)
    same(after[:4], before[:4])
    assert not after[4:].allclose(before[4:])


def test_every_symbol_and_its_place_are_seen() -> None:
    model, (ids, lengths, said) = make(), some()
    lengths[:] = 7
    ids[:2] = torch.tensor([[4], [5]])
    scores = scored(model, model.encode(ids, lengths), said)
    swapped = scored(model, model.encode(ids[[1, 0, 2, 3, 4, 5, 6]], lengths), said)
    assert not swapped.allclose(scores)
    said[1:3] = torch.tensor([[4], [5]])
    other = said[[0, 2, 1, 3, 4, 5]]
    one, two = (scored(model, model.encode(ids, lengths), both)[5] for both in (said, other))
    assert not one.allclose(two)


def test_never_said() -> None:
    model, (ids, lengths, said) = make(), some()
    log_probs, _ = model.stepper()(said[0], model.begin(model.encode(ids, lengths)))
    assert (log_probs == -math.inf).nonzero()[:, 1].unique().tolist() == [PAD, START, UNK]
    assert ((log_probs.exp().sum(1) > 0.2) & (log_probs.exp().sum(1) < 1)).all()


def test_alignment_is_what_the_last_layer_weighs() -> None:
    model, (ids, lengths, said) = make(layers=3), some()
    encoded = model.encode(ids, lengths)
    last: Any = model.saying[-1]
    seen: list[Any] = []
    hook = last.multihead_attn.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    scored(model, encoded, said)
    hook.remove()
    W, b = last.multihead_attn.in_proj_weight, last.multihead_attn.in_proj_bias
    weights = model.alignment(encoded, said)
    for row, S in enumerate(lengths.tolist()):
        queries = (seen[0][row] @ W[:12].T + b[:12]).view(6, 3, 4)
        keys = (encoded.memory[row, :S] @ W[12:24].T + b[12:24]).view(S, 3, 4)
        by_head = [(queries[:, h] @ keys[:, h].T / 2).softmax(-1) for h in range(3)]
        same(weights[row, :, :S], sum(by_head, torch.zeros(())) / 3)
        assert bool((weights[row, :, S:] == 0).all())


@pytest.mark.parametrize("tied", TIED)
def test_layers_are_given_symbols_and_their_places(tied: str) -> None:
    model, (ids, lengths, said) = make(tied), some()
    seen: list[Tensor] = []
    for layers in (model.reading, model.saying):
        layers[0].register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    scored(model, model.encode(ids, lengths), said)
    target = (model.target or model.source).weight
    for found, table, symbols in ((seen[0], model.source.weight, ids), (seen[1], target, said)):
        places = waves(torch.arange(len(symbols)), 12, torch.float64)
        same(found, table[symbols.t()] * math.sqrt(12) + places)


@pytest.mark.parametrize("size", [6, 7])
def test_waves_are_those_of_the_paper(size: int) -> None:
    found = waves(torch.arange(3, 600), size, torch.float64)
    for t in (3, 50, 599):
        for i in range(size):
            angle = t / 10000 ** ((i - i % 2) / size)
            assert found[t - 3, i] == pytest.approx((math.cos if i % 2 else math.sin)(angle))


def test_tied_tables_are_one() -> None:
    def tables(tied: str) -> int:
        return sum(p.numel() for p in make(tied).parameters() if p.shape[0] in (V, V + 2))

    bias, size = V, 12
    assert tables("none") == (V + 2 + V + V) * size + bias
    assert tables("output") == (V + 2 + V) * size + bias
    assert tables("all") == (V + 2) * size + bias
    for tied in TIED:
        model = make(tied)
        assert len(model.state_dict()) == len(list(model.parameters()))


def test_layers_start_apart() -> None:
    model = Transformer(
        source_symbols=V, target_symbols=V, size=8, layers=2, heads=2, dropout=0, tied="all"
    )
    one, two = (dict(layer.named_parameters())["linear1.weight"] for layer in model.saying)
    assert not one.equal(two)


def test_it_learns() -> None:
    model, (ids, lengths, said) = make("all").train(), some()
    scores = scored(model, model.encode(ids, lengths), said)
    scores.logsumexp(-1).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"heads": 5}, "size a multiple of heads; not 12, 2 and 5"),
        ({"layers": 0}, "at least 1"),
        ({"tied": "both"}, "'none', 'output' or 'all', not 'both'"),
        ({"dropout": 1.0}, "dropout is a probability"),
        ({"tied": "all", "target_symbols": 12}, "first ones of the source; there are 12 and 11"),
    ],
)
def test_what_cannot_be_built_is_refused(wrong: dict[str, Any], message: str) -> None:
    sizes = {"source_symbols": 11, "target_symbols": 9, "size": 12, "layers": 2, "heads": 3}
    with pytest.raises(ValueError, match=message):
        Transformer(**dict[str, Any]({**sizes, "dropout": 0.0, "tied": "none", **wrong}))


def test_shapes_that_do_not_fit_are_refused() -> None:
    model, (ids, lengths, said) = make(), some()
    with pytest.raises(ValueError, match=r"lengths \(3,\); expected \(S, B\) and \(B,\)"):
        model.encode(ids, lengths[:3])
    with pytest.raises(ValueError, match=r"expected \(T, 4\)"):
        scored(model, model.encode(ids, lengths), said[:, :3])
