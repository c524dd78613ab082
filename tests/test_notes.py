"""Shapes and outputs that the course notes print, as facts about our layers."""

import pytest
import torch

import unspool as us
from unspool.data.batches import Bucketed
from unspool.data.grammar import grammar
from unspool.data.labelled import Labelled
from unspool.models.language_model import LanguageModel, LanguageModelSettings
from unspool.models.speak import score

# Bilici §14: input size, layers, directions -> output features, layers times directions
BILICI = [(1, 1, 1, 128, 1), (64, 4, 1, 128, 4), (64, 1, 2, 256, 2), (64, 4, 2, 256, 8)]


@pytest.mark.parametrize(("inputs", "layers", "directions", "features", "stacked"), BILICI)
def test_shapes_of_bilici_14(
    inputs: int, layers: int, directions: int, features: int, stacked: int
) -> None:
    xs = torch.randn(16, 512, inputs)
    lstm = us.nn.LSTM(
        input_size=inputs,
        hidden_size=128,
        num_layers=layers,
        bidirectional=directions == 2,
        batch_first=True,
    )
    with torch.no_grad():
        output, (hidden, memory) = lstm.forward(xs)
    assert output.shape == (16, 512, features)
    assert hidden.shape == memory.shape == (stacked, 16, 128)
    native = us.Recurrent(us.cells.LSTM, inputs, 128, layers, bidirectional=directions == 2)
    with torch.no_grad():
        ys, state = native(xs.transpose(0, 1))
    assert ys.shape == (512, 16, features)
    assert sum(len(layer) for layer in state) == stacked
    assert all(d.h.shape == d.c.shape == (16, 128) for layer in state for d in layer)


def test_masi_and_faralli_step_by_step_is_all_at_once() -> None:
    lstm = us.nn.LSTM(input_size=3, hidden_size=2, num_layers=1)
    inputs = [torch.randn(1, 3) for _ in range(5)]
    start = (torch.randn(1, 1, 2), torch.randn(1, 1, 2))
    hidden, steps = start, []
    for x in inputs:
        out, hidden = lstm(x.view(1, 1, -1), hidden)
        steps.append(out)
    out, last = lstm(torch.cat(inputs).view(len(inputs), 1, -1), start)
    assert out.shape == (5, 1, 2)
    torch.testing.assert_close(torch.cat(steps), out)
    torch.testing.assert_close(hidden[1], last[1])
    assert out[-1].equal(last[0][0])  # "out[-1], hidden[0] are the same thing"


def test_masi_and_faralli_batch_of_ten() -> None:
    lstm = us.nn.LSTM(input_size=3, hidden_size=2, num_layers=1)
    start = (torch.randn(1, 10, 2), torch.randn(1, 10, 2))
    out, (h, c) = lstm(torch.randn(5, 10, 3), start)
    assert out.shape == (5, 10, 2)
    assert h.shape == c.shape == (1, 10, 2)
    stacked = us.nn.LSTM(input_size=10, hidden_size=20, num_layers=2)
    assert stacked(torch.randn(5, 3, 10))[1][0].shape == (2, 3, 20)


def test_masi_and_faralli_four_gates_of_2d_to_4d() -> None:
    """W is 4D x 2D for dim(h) = dim(x) = D, and the bias 4D."""
    D = 8
    count = sum(p.numel() for p in us.cells.LSTM(D, D).parameters())
    assert count == 4 * D * 2 * D + 4 * D


def test_rocktaeschel_and_riedel_two_ways_to_write_one_cell() -> None:
    """W [x; h] with one matrix = W^x x + W^h h with two; x and s join along the features."""
    joined = us.cell("s' = tanh(W @ concat(x, s) + b)")(3, 3)
    apart = us.cells.Elman(3, 3)
    W = joined.parameter("W")
    apart.load_state_dict({"W": W[:, :3], "U": W[:, 3:], "b": joined.parameter("b")})
    xs, s0 = torch.randn(7, 4, 3), torch.randn(4, 3)
    torch.testing.assert_close(us.unfold(joined, xs, (s0,))[0], us.unfold(apart, xs, (s0,))[0])


def test_rocktaeschel_and_riedel_stacking() -> None:
    """Layer m reads the outputs of layer m - 1 and starts from its own s_0."""
    layer = us.Recurrent(us.cells.GRU, 3, 4, num_layers=2)
    first, second = (stack.cells[0] for stack in layer.layers)  # type: ignore[union-attr]
    xs = torch.randn(5, 2, 3)
    starts = ((torch.randn(2, 4),), (torch.randn(2, 4),))
    below, _ = us.unfold(first, xs, starts[0])
    expected, _ = us.unfold(second, below, starts[1])
    assert layer(xs, tuple((start,) for start in starts))[0].equal(expected)


def test_rocktaeschel_and_riedel_the_hunter_shot_the_fox() -> None:
    """p("the hunter shot the fox") > p("the fox shot the hunter") for who knows who shoots."""
    texts = [Labelled(" ".join(e.words), None, e.where) for e in grammar(6000, seed=0)]
    settings = LanguageModelSettings(units="words", lines=True, hidden=48, layers=1, embedding=32)
    model = LanguageModel.learn(settings, texts)
    data = Bucketed(texts, [model.length(e) for e in texts], model.collate, tokens=800)
    us.train.fit(model, data, us.train.Training(epochs=4, lr=0.01))
    one, other = (
        sum(symbol.log_prob for symbol in score(model, text))
        for text in ("the hunter shot the fox .", "the fox shot the hunter .")
    )
    assert one > other + 1


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
def test_alex_one_step_of_total_differentiation() -> None:
    """ds_E/dW = d+s_E/dW + ds_E/ds_(E-1) ds_(E-1)/dW, on s' = tanh(W @ s + W_x @ x)."""
    cell = us.cell("s' = tanh(W @ s + W_x @ x)")(2, 2).double()
    xs = torch.randn(4, 1, 2, dtype=torch.float64)
    W = cell.parameter("W").detach()

    def end(W: torch.Tensor, upto: int) -> torch.Tensor:
        return torch.func.functional_call(Last(cell), {"cell.W": W}, (xs[:upto], None))

    total, before = (torch.func.jacrev(lambda W, n=n: end(W, n))(W) for n in (4, 3))
    s3 = end(W, 3).detach()
    direct = torch.func.jacrev(
        lambda W: torch.func.functional_call(Last(cell), {"cell.W": W}, (xs[3:], (s3,)))
    )(W)
    step = torch.func.jacrev(lambda s: us.unfold(cell, xs[3:], (s,))[0][0])(s3)
    passed_on = torch.einsum("abcd,cdij->abij", step, before)
    torch.testing.assert_close(total, direct + passed_on)


class Last(torch.nn.Module):
    def __init__(self, cell: us.Cell):
        super().__init__()
        self.cell = cell

    def forward(self, xs: torch.Tensor, state: tuple[torch.Tensor, ...] | None) -> torch.Tensor:
        return us.unfold(self.cell, xs, state)[1].s
