"""Encoder, bridge and decoder: all at once, step by step, and one step at a time agree."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import unspool as us
from unspool.attention import SCORES
from unspool.decode import beam, greedy
from unspool.models.bridge import Bridge, EncoderBridge
from unspool.models.decoder import Decoder
from unspool.models.forcing import FORCINGS, check_forcing, forced
from unspool.models.seq2seq import Seq2Seq
from unspool.models.translator import TranslatorSettings
from unspool.text import END, NEVER, START

SYMBOLS = 9
SMALL = TranslatorSettings(
    hidden=6, embedding=6, dropout=0.0, input_dropout=0.0, units="characters"
)
SHAPES: dict[str, dict[str, Any]] = {
    "after": {},
    "fed": {"feed": True},
    "inside": {"place": "inside"},
    "heads": {"heads": 2, "project": True, "attention_size": 8, "attention": "scaled_dot"},
    "none": {"attention": "none"},
    "tied": {"tied": "all", "joint": True, "decoder_hidden": 5, "layers": 2},
    "other cell": {"decoder_cell": "gru", "decoder_hidden": 4, "decoder_layers": 3},
    "one way": {"bidirectional": False, "attention": "dot"},
}


def network(**settings: Any) -> Seq2Seq:
    torch.manual_seed(0)
    made = replace(SMALL, **settings)
    return Seq2Seq(made, SYMBOLS, SYMBOLS, tags=2).double().eval()


def example() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(1)
    source = torch.randint(4, SYMBOLS, (5, 3))
    inputs = torch.cat((torch.full((1, 3), START), torch.randint(4, SYMBOLS, (3, 3))))
    return source, torch.tensor([5, 2, 3]), inputs


def said(scores: Tensor) -> Tensor:
    """Log-probabilities, with no chance for what is no part of a text."""
    log_probs = scores.log_softmax(-1).clone()
    log_probs[..., NEVER] = -torch.inf
    return log_probs


@pytest.mark.parametrize("name", SHAPES)
def test_all_at_once_is_step_by_step(name: str) -> None:
    net = network(**SHAPES[name])
    source, lengths, inputs = example()
    encoded = net.encode(source, lengths)
    features = net.features(encoded, inputs)
    walked, weights = net.decoder.by_steps(inputs, encoded.state, encoded.memory, 1.0)
    torch.testing.assert_close(walked, features, rtol=1e-10, atol=1e-12)
    if name != "none":
        assert weights is not None
        torch.testing.assert_close(weights, net.alignment(encoded, inputs), rtol=1e-10, atol=0)
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    expected = said(net.scores(features))
    step, state = net.stepper(), net.begin(encoded)
    for t, tokens in enumerate(inputs):
        log_probs, state = step(tokens, state)
        torch.testing.assert_close(log_probs, expected[t], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("place", ["after", "inside"])
@pytest.mark.parametrize("score", sorted(SCORES))
def test_every_score_in_both_places(score: str, place: str) -> None:
    same = score in ("dot", "scaled_dot", "cosine")
    net = network(
        attention=score, place=place, bidirectional=not same,
        attention_size=7 if score in ("location", "reduced_rank") else 0,
    )  # fmt: skip
    source, lengths, inputs = example()
    encoded = net.encode(source, lengths)
    features = net.features(encoded, inputs)
    step, state = net.stepper(), net.begin(encoded)
    for t, tokens in enumerate(inputs):
        log_probs, state = step(tokens, state)
        expected = said(net.scores(features))[t]
        torch.testing.assert_close(log_probs, expected, rtol=1e-9, atol=1e-11)
    net.scores(features).sum().backward()
    assert net.encoder.layers[0].cells[0].W_i.grad.isfinite().all()  # type: ignore[union-attr]


@pytest.mark.parametrize("cell", us.cells.named())
def test_every_cell_encodes_and_decodes(cell: str) -> None:
    sizes = {"lstm_projected": {"proj": 3}, "old_state_output": {"output": 3}}.get(cell, {})
    torch.manual_seed(0)
    made = replace(SMALL, cell=cell, sizes=sizes)
    net = Seq2Seq(made, SYMBOLS, SYMBOLS)
    source, lengths, inputs = example()
    encoded = net.encode(source, lengths)
    expected = said(net.scores(net.features(encoded, inputs)))
    expected[..., END].sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in net.parameters())
    step, state = net.stepper(), net.begin(encoded)
    for t, tokens in enumerate(inputs):
        log_probs, state = step(tokens, state)
        torch.testing.assert_close(log_probs, expected[t].detach(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", SHAPES)
def test_beams_share_the_memory_of_their_sentence(name: str) -> None:
    net = network(**SHAPES[name])
    source, lengths, _ = example()
    first = torch.full((3,), START)
    state = net.begin(net.encode(source, lengths))
    how: dict[str, Any] = {"end": END, "steps": 6}
    step = net.stepper()
    together = beam(step, first, state, width=4, nbest=4, **how).hypotheses
    one = greedy(step, first, state, **how)
    best = beam(step, first, state, width=1, nbest=1, **how).hypotheses
    assert [row[0].tokens for row in best] == one.tokens
    for row in range(3):
        alone = net.begin(net.encode(source[: lengths[row], [row]], lengths[[row]]))
        found = beam(step, first[:1], alone, width=4, nbest=4, **how).hypotheses[0]
        assert [h.tokens for h in found] == [h.tokens for h in together[row]]


def test_a_bridge_of_equal_states_is_the_state_itself() -> None:
    encoder = us.Recurrent(us.cells.LSTM, 3, 4, 2)
    decoder = us.Recurrent(us.cells.LSTM, 5, 4, 2)
    bridge = EncoderBridge(encoder, decoder)
    _, state = encoder(torch.randn(2, 3, 3))
    assert not list(bridge.parameters())
    assert bridge(state)[1][0].c is state[1][0].c


def test_a_learned_bridge_reads_all_states_of_both_directions() -> None:
    encoder = us.Recurrent(us.cells.LSTM, 3, 4, 1, bidirectional=True).double()
    decoder = us.Recurrent(us.cells.GRU, 5, 2, 2).double()
    bridge = EncoderBridge(encoder, decoder).double()
    _, ((there, back),) = encoder(torch.randn(6, 3, 3, dtype=torch.float64))
    found = bridge([(there, back)])
    joined = torch.cat([*there, *back], -1)
    assert bridge.learned is not None
    for layer, to_states in zip(found, bridge.learned.maps, strict=True):
        torch.testing.assert_close(layer[0].h, to_states(joined).tanh())


def test_one_to_many_starts_from_a_vector() -> None:
    """Two pictures, as vectors; each has its caption."""
    torch.manual_seed(0)
    settings = replace(SMALL, attention="none", hidden=16)
    decoder = Decoder(settings, SYMBOLS)
    bridge = Bridge.from_vector(2, decoder.layers)
    pictures = torch.eye(2)
    captions = torch.tensor([[START, 4, 5, 6, END], [START, 7, 4, 4, END]]).t()
    learn = torch.optim.Adam([*decoder.parameters(), *bridge.parameters()], 0.03)
    for _ in range(60):
        features, _ = decoder(captions[:-1], bridge([pictures]))
        scores = decoder.scores(features)
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), captions[1:].flatten())
        learn.zero_grad()
        loss.backward()
        learn.step()
    with torch.no_grad():
        state = decoder.start(bridge([pictures]), pictures), None
    found = beam(decoder.stepper(), captions[0], state, end=END, steps=9, width=3)
    assert [row[0].tokens for row in found.hypotheses] == [[4, 5, 6], [7, 4, 4]]


def test_without_forcing_the_decoder_hears_itself() -> None:
    """At forcing 0 the features are those of its own greedy choices (which may be anything)."""
    net = network(feed=True)
    source, lengths, inputs = example()
    encoded = net.encode(source, lengths)
    free = net.features(encoded, inputs, forcing=0.0)
    own = [inputs[0]]
    for t in range(len(inputs) - 1):
        own.append(said(net.scores(net.features(encoded, torch.stack(own))))[t].argmax(-1))
    torch.testing.assert_close(free, net.features(encoded, torch.stack(own)))
    assert not torch.allclose(free, net.features(encoded, inputs))


@pytest.mark.parametrize("kind", FORCINGS)
def test_forcing_fades(kind: str) -> None:
    values = [forced(kind, done / 10, 0.25) for done in range(11)]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(10 / 11 if kind == "sigmoid" else 1.0)
    assert values[-1] == pytest.approx(1.0 if kind == "full" else 0.25)


@pytest.mark.parametrize(
    ("kind", "end", "hint"),
    [("fading", 0.5, "one of full"), ("linear", 1.5, "from 0 to 1"),
     ("exponential", 0.0, "above 0"), ("sigmoid", 0.95, "0.91")],
)  # fmt: skip
def test_what_forcing_refuses(kind: str, end: float, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        check_forcing(kind, end)


def test_a_walk_drops_the_same_entries_at_every_step() -> None:
    """One call of the layer and a walk through it, with the same random numbers."""
    dropout = us.Dropout(inputs=0.4, recurrent=0.4, weights=0.3)
    layer = us.Recurrent(us.cells.LSTM, 3, 5, dropout=dropout).double()
    xs = torch.randn(6, 2, 3, dtype=torch.float64)
    torch.manual_seed(3)
    expected, _ = layer(xs)
    torch.manual_seed(3)
    walk, state, ys = layer.walker(), None, []
    for x in xs:
        y, state = walk(x, state)
        ys.append(y)
    torch.testing.assert_close(torch.stack(ys), expected)


def test_states_are_handed_over_by_name_or_not_at_all() -> None:
    """A cell that has the same states in another order is another cell."""
    one = us.cell("h' = tanh(W @ x + a + b)\na' = U @ h\nb' = V @ h")
    two = us.cell("h' = tanh(W @ x + a + b)\nb' = U @ h\na' = V @ h")
    layers = [us.Recurrent(kind, 3, 4) for kind in (one, one, two)]
    assert EncoderBridge(layers[0], layers[1]).learned is None
    assert EncoderBridge(layers[0], layers[2]).learned is not None


def test_a_walk_keeps_other_units_at_every_step() -> None:
    layer = us.Recurrent(us.cells.Elman, 3, 50, dropout=us.Dropout(zoneout=0.5))
    torch.manual_seed(0)
    walk, state = layer.walker(), None
    kept = []
    for x in torch.randn(4, 1, 3):
        before = torch.zeros(1, 50) if state is None else state[0][0].h
        _, state = walk(x, state)
        kept.append(state[0][0].h == before)
    assert all(0.2 < one.double().mean().item() < 0.8 for one in kept)
    assert not kept[1].equal(kept[2])
    assert not kept[2].equal(kept[3])


def test_no_walk_backwards() -> None:
    layer = us.Recurrent(us.cells.Elman, 3, 4, bidirectional=True)
    with pytest.raises(ValueError, match="reads backwards"):
        layer.walker()
