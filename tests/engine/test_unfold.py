"""The way in: what it accepts, what it refuses, and Python cells."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import unspool as us


class Tape(nn.Module):
    """A cell no equation could say: it picks a matrix by the sign of its input."""

    state_sizes = {"s": 2, "n": 1}  # noqa: RUF012
    output_size = 3

    def __init__(self) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.randn(2, 2, 2))
        self.V = nn.Parameter(torch.randn(3, 2))

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        chosen = self.W[(x[:, 0] > 0).long()]
        s = torch.tanh((chosen @ state.s[..., None])[..., 0] + x[:, 1:])
        return s @ self.V.T, (s, state.n + 1)


def test_a_python_class_is_a_cell_too() -> None:
    cell = Tape()
    xs = torch.randn(5, 3, 3)
    xs[2:, 1] = float("nan")
    start = (torch.randn(3, 2), torch.zeros(3, 1))
    ys, state, lines = us.unfold(cell, xs, start, lengths=[5, 2, 0], record=("n",))
    assert ys.shape == (5, 3, 3)
    assert state.n.flatten().tolist() == [5, 2, 0]
    assert lines["n"][:, 0, 0].tolist() == [1, 2, 3, 4, 5]
    alone, _ = us.unfold(cell, xs[:2, 1:2], [value[1:2] for value in start])
    torch.testing.assert_close(ys[:2, 1:2], alone)
    backwards, _ = us.unfold(cell, xs[:, :1], [v[:1] for v in start], reverse=True)
    flipped, _ = us.unfold(cell, xs[:, :1].flip(0), [v[:1] for v in start])
    assert backwards.equal(flipped.flip(0))
    ys.sum().backward()
    assert cell.W.grad is not None
    assert torch.isfinite(cell.W.grad).all()
    layer = us.Recurrent(lambda i, h: Tape(), 3, 2, bidirectional=True)
    assert layer(xs[:2])[0].shape == (2, 3, 6)


def test_a_python_class_takes_zoneout_and_no_other_mask() -> None:
    cell, xs = Tape(), torch.randn(4, 2, 3)
    start = (torch.randn(2, 2), torch.zeros(2, 1))
    ones = {"s": torch.ones(4, 2, 2), "n": torch.ones(4, 2, 1)}
    assert us.unfold(cell, xs, start, masks=us.Masks(keep=ones))[1].s.equal(start[0])
    half = us.unfold(cell, xs, start, masks=us.expected_masks(cell, 0.5))[1]
    assert half.n.flatten().tolist() == [2, 2]
    with pytest.raises(ValueError, match="Tape is a Python class, which takes zoneout only"):
        us.draw_masks(cell, xs, recurrent=0.5)
    with pytest.raises(ValueError, match="need a cell written as equations"):
        us.unfold(cell, xs, masks=us.Masks(weights={"W": torch.ones(2, 2)}))
    with pytest.raises(ValueError, match="use autograd"):
        us.bptt(cell, xs, d_ys=torch.randn(4, 2, 3))


class Automaton(nn.Module):
    """It reads symbols: its matrix is chosen by each."""

    state_sizes = {"s": 2}  # noqa: RUF012
    output_size = 2

    def __init__(self) -> None:
        super().__init__()
        self.by_symbol = nn.Parameter(torch.randn(3, 2, 2))

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        s = (self.by_symbol[x[:, 0]] @ state.s[..., None])[..., 0]
        return s, (s,)


def test_a_python_cell_may_read_symbols() -> None:
    ys, _ = us.unfold(Automaton(), torch.randint(3, (4, 2, 1)), (torch.ones(2, 2),), lengths=[4, 2])
    assert ys.dtype == torch.float32
    ys.sum().backward()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda s: s, "step returns \\(y, state\\), not a Tensor"),
        (lambda s: (s[:, :1], (s,)), r"returned y \(2, 1\); expected \(2, 2\)"),
        (lambda s: (s, s), "returned a state of shapes <class 'torch.Tensor'>"),
        (lambda s: (s, (s, s)), r"expected \[\(2, 2\)\]"),
    ],
)
def test_a_python_cell_must_do_what_it_says(result: Any, message: str) -> None:
    cell: Any = Automaton()
    cell.step = lambda x, state: result(state.s)
    with pytest.raises(ValueError, match=message):
        us.unfold(cell, torch.randint(3, (4, 2, 1)))


def test_lengths_may_be_on_the_host() -> None:
    cell = us.cells.GRU(3, 4).to("meta")
    ys, _ = us.unfold(cell, torch.zeros(5, 2, 3, device="meta"), lengths=[5, 3])
    assert ys.shape == (5, 2, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cell": us.cells.LSTM}, r"lstm is a cell type; .* lstm\(input_size, hidden_size\)"),
        ({"cell": nn.Linear(3, 4)}, "Linear is no cell: write one as equations"),
        ({"xs": torch.randn(5, 3)}, r"xs is a tensor of shape \(T, B, I\).* shape \(5, 3\)"),
        ({"xs": [[1.0]]}, "xs is a tensor .* got <class 'list'>"),
        ({"xs": torch.randn(5, 2, 4)}, "xs has 4 features a step, .* input_size=3"),
        ({"xs": torch.randn(5, 2, 3).double()}, r"xs\.to\(torch\.float32\)"),
        ({"xs": torch.zeros(5, 2, 3, device="meta")}, "xs is on meta and the cell on cpu"),
        ({"state": torch.zeros(2, 4)}, r"tuple of 2: h \(2, 4\), c \(2, 4\); got a Tensor"),
        ({"state": (torch.zeros(2, 4),)}, "tuple of 2: .* got 1 values"),
        ({"state": (torch.zeros(2, 4), torch.zeros(3, 4))}, r"state c has shape \(3, 4\)"),
        ({"lengths": [1, 2, 3]}, r"one whole number for each of the 2 rows; got shape \(3,\)"),
        ({"lengths": [1.0, 2.0]}, "one whole number .* of torch.float32"),
        ({"lengths": [1, 6]}, r"between 0 and the 5 steps of xs; got \[1, 6\]"),
        ({"lengths": [-1, 5]}, r"between 0 and the 5 steps"),
        ({"record": ("q",)}, "no line 'q' to record; the cell has i, f, g, o, c, h"),
        ({"record": ("h'",)}, 'no line "h\'" to record'),
        ({"backend": "fast"}, "no backend 'fast'; choose one of auto, reference, planned, cpu"),
        ({"masks": us.Masks(keep={"k": 0.5})}, "names 'k'; the states are h, c"),
        (
            {"masks": us.Masks(keep={"h": torch.ones(5, 2, 3)})},
            r"keep\['h'\] has shape \(5, 2, 3\)",
        ),
        ({"masks": us.Masks(operands={"c": torch.ones(2, 4)})}, "recurrent operands are: h"),
        ({"masks": us.Masks(keep={"h": 1.5})}, "a share between 0 and 1, not 1.5"),
        ({"masks": us.Masks(operands={"h": 0.5})}, "has shape float; expected"),  # type: ignore[dict-item]
        ({"masks": {"h": 0.5}}, "masks come from draw_masks or Masks"),
        ({"state": (torch.zeros(2, 4).long(),) * 2}, "state h is torch.int64 and the cell is"),
        ({"lengths": "ab"}, "2 whole numbers, one for each row; got 'ab'"),
        ({"masks": us.Masks(weights={"b_i": torch.ones(4)})}, "'b_i', which is no matrix"),
    ],
)
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"cell": us.cells.LSTM(3, 4), "xs": torch.randn(5, 2, 3), **change}
    with pytest.raises(ValueError, match=message):
        us.unfold(**given)


def test_bptt_refuses_a_gradient_of_the_wrong_shape() -> None:
    with pytest.raises(ValueError, match=r"d_ys has shape \(5, 2, 3\) of"):
        us.bptt(us.cells.GRU(3, 4), torch.randn(5, 2, 3), d_ys=torch.randn(5, 2, 3))


def test_bptt_refuses_a_gradient_of_the_wrong_state() -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(5, 2, 3)
    with pytest.raises(ValueError, match=r"gradient d_state, h has shape \(1, 4\)"):
        us.bptt(cell, xs, d_ys=torch.randn(5, 2, 4), d_state=(torch.ones(1, 4),))


def test_the_state_is_named_and_in_order() -> None:
    _, state = us.unfold(us.cells.LSTM(3, 4), torch.randn(5, 2, 3))
    assert state._fields == ("h", "c")
    h, c = state
    assert state.h is h
    assert state.c is c


def test_one_recorded_name_may_stand_alone() -> None:
    *_, lines = us.unfold(us.cells.LSTM(3, 4), torch.randn(5, 2, 3), record="f")
    assert tuple(lines) == ("f",)


def test_autocast_yields_to_the_parameters() -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(5, 2, 3)
    expected, _ = us.unfold(cell, xs)
    with torch.autocast("cpu", torch.bfloat16):
        ys, state = us.unfold(cell, xs)
        low, _ = us.unfold(cell, xs.bfloat16())
    assert ys.equal(expected)
    assert state.h.dtype == low.dtype == torch.float32
    with pytest.raises(ValueError, match="convert one"):
        us.unfold(cell, xs.bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        assert us.unfold(Tape(), xs.bfloat16(), lengths=[5, 3])[0].dtype == torch.float32


def test_a_learned_start_gets_its_gradient() -> None:
    cell = us.cells.LSTM(3, 4)
    start = us.LearnedState(cell)
    ys, _ = us.unfold(cell, torch.randn(5, 2, 3), start(2))
    ys.sum().backward()
    assert set(start.state_dict()) == {"h", "c"}
    assert all(p.grad is not None and p.grad.any() for p in start.parameters())


def test_detach_keeps_the_shape_of_a_state() -> None:
    layer = us.Recurrent(us.cells.LSTM, 3, 4, num_layers=2, bidirectional=True)
    _, state = layer(torch.randn(5, 2, 3))
    cut = us.detach(state)
    assert cut[1][0].c.equal(state[1][0].c)
    assert state[1][0].c.requires_grad
    assert not cut[1][0].c.requires_grad
    assert type(cut[0][0]) is type(state[0][0])
