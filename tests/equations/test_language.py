"""What the language reads: names, sizes, outputs, line breaks."""

import pytest
import torch

import unspool as us
from unspool.equations.roles import equations
from unspool.equations.sizes import Size


def test_a_cell_of_ten_lines_that_nobody_wrote() -> None:
    """Pasted as text, it works at once: forward, backward, with lengths."""
    kind = us.cell(
        """
        # two memories, a fast one and a slow one, and a gate that looks at both
        s: slow
        g  = sigmoid(A @ concat(x, h) + V @ s + a)      # how much to write
        k  = softplus(B @ x + b) / (1 + softplus(C @ h))
        e  = exp(-k)                                    # a decay rate for every unit
        u  = tanh(layer_norm(D @ x + E @ (e * h)) * gain + d)
        h' = e * h + (1 - e) * (
            g * u + (1 - g) * sin(h)
        )
        r  = relu(F @ h')
        s' = 0.99 * s + 0.01 * r
        y  = maximum(h', -0.5) * abs(w)
        """
    )
    assert kind.equations.states == ("h", "s")
    cell = kind(5, 7, slow=3).double()
    xs = torch.randn(6, 4, 5, dtype=torch.float64)
    xs[3:, 1] = float("nan")
    ys, state = us.unfold(cell, xs, lengths=[6, 3, 0, 1])
    assert ys.shape == (6, 4, 7)
    assert state.h.shape == (4, 7)
    assert state.s.shape == (4, 3)
    ys.square().sum().backward()
    ours = us.bptt(cell, xs, d_ys=2 * ys.detach(), lengths=[6, 3, 0, 1])
    for name, parameter in cell.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(ours.parameters[name], parameter.grad, rtol=1e-10, atol=1e-12)


def test_names_that_mean_something_elsewhere() -> None:
    """Python's, torch's and the language's own words are names like any other."""
    text = """
        I: hidden                       # without it, a warning asks whether the identity is meant
        exp    = tanh(lambda @ x + T @ h + half)
        int    = exp * None + I
        class' = sigmoid(exp @ x) * class
        h'     = tanh(int) + class'
    """.replace("sigmoid(exp @ x)", "sigmoid(train @ x)")
    cell = us.cell(text)(3, 4)
    expected = ("lambda", "T", "half", "None", "I", "train")
    assert tuple(cell.state_dict()) == expected
    ys, state = us.unfold(cell, torch.randn(2, 1, 3), record=("exp", "int"))[:2]
    assert state._fields == ("h", "class_")
    ys.sum().backward()
    assert all(parameter.grad is not None for parameter in cell.parameters())
    cell.train(False)
    assert cell.half().parameter("half").dtype == torch.float16  # nn.Module still has its own


def test_the_prime_may_be_pasted_from_a_page() -> None:
    plain = equations("h' = tanh(W @ x + U @ h)")
    for prime in "’′ʹ":
        assert equations(f"h{prime} = tanh(W @ x + U @ h)").lines == plain.lines


def test_line_breaks_comments_and_endings() -> None:
    text = "h' = tanh(  # the state\n    W @ x +\n  U @ h  # what was\n)\r\n\r\ny = h'"
    assert [line.name for line in equations(text).lines] == ["h'", "y"]


@pytest.mark.parametrize(
    ("text", "output", "states"),
    [
        ("c' = x\nh' = c'", "h'", ("h", "c")),
        ("s' = W @ x", "s'", ("s",)),
        ("a' = x\nb' = x\ny = a' + b'", "y", ("a", "b")),
        ("h' = W @ x\ny = V @ h", "y", ("h",)),
    ],
)
def test_output_and_order_of_states(text: str, output: str, states: tuple[str, ...]) -> None:
    eqs = equations(text)
    assert (eqs.output, eqs.states) == (output, states)


def test_the_notes_cell_of_10_30_5() -> None:
    cell = us.cells.OldStateOutput(10, 30, output=5)
    shapes = {name: tuple(value.shape) for name, value in cell.state_dict().items()}
    assert shapes == {"W_o": (5, 10), "U_o": (5, 30), "W": (30, 10), "U": (30, 30)}
    ys, state = us.unfold(cell, torch.randn(4, 1, 10))
    assert ys.shape == (4, 1, 5)
    assert state.s.shape == (1, 30)
    assert not ys[0].equal(ys[1])
    x = torch.randn(2, 1, 10)
    expected = torch.tanh(x[0] @ cell.parameter("W_o").T)
    torch.testing.assert_close(us.unfold(cell, x)[0][0], expected)


def test_the_projection_has_its_own_size() -> None:
    cell = us.cells.LSTMProjected(5, 8, proj=3)
    assert cell.state_sizes == {"h": 3, "c": 8}
    assert cell.parameter("U_i").shape == (8, 3)
    assert cell.parameter("P").shape == (3, 8)
    assert cell.output_size == 3


def test_sizes_follow_from_use() -> None:
    eqs = equations(
        "y: 1\na: code\na = A @ x\nh' = tanh(B @ concat(a, h, x) + b)\ny = v * (C @ h')"
    )
    assert eqs.matrices["B"] == (Size.of("hidden"), Size.of("code", "hidden", "input"))
    assert eqs.matrices["C"] == (Size((), 1), Size.of("hidden"))
    assert eqs.sizes["v"] == Size((), 1)
    assert eqs.named_sizes == ("input", "hidden", "code")


def test_a_sum_of_sizes_can_fix_another() -> None:
    eqs = equations("a = B @ x\nc: whole\nc' = concat(a, h)\nh' = tanh(U @ c' + W @ x)\nh: part")
    cell = us.cell(eqs.text)
    with pytest.raises(ValueError, match=r"needs hidden \+ part = whole|needs whole"):
        cell(2, 3, whole=9, part=4)
    assert cell(2, 3, whole=7, part=4).parameter("U").shape == (4, 7)


def test_numbers_are_worked_out() -> None:
    cell = us.cell("k = 1 / 4 + sqrt(4) * exp(0)\nh' = k * x + 2 ** -1 * h - -1 + b")(2, 2).double()
    xs = torch.randn(1, 1, 2, dtype=torch.float64)
    assert us.unfold(cell, xs, record=("k",))[2]["k"].equal(torch.full((1, 1, 2), 2.25).double())
    torch.testing.assert_close(us.unfold(cell, xs)[0], 2.25 * xs + 1)


def test_kinks_are_torchs() -> None:
    """The zero initial state sits on them."""
    text = "h' = relu(a * h) + abs(b * h) + minimum(h, c * h) + maximum(h, d * h) + minimum(h, 0)"
    cell = us.cell(text)(1, 3).double()
    state = (torch.zeros(2, 3, dtype=torch.float64, requires_grad=True),)
    xs = torch.zeros(2, 2, 1, dtype=torch.float64)
    ys, _ = us.unfold(cell, xs, state)
    d_ys = torch.randn_like(ys)
    ys.backward(d_ys)
    ours = us.bptt(cell, xs, state, d_ys=d_ys)
    assert state[0].grad is not None
    assert state[0].grad.any()
    torch.testing.assert_close(ours.state.h, state[0].grad)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: us.cells.MUT1(3, 4), "mut1 needs input = hidden, and was given 3 and 4"),
        (lambda: us.cells.MUT2(3, 4), r"h' = tanh\(U_h @ \(r \* h\) \+ W_h @ x \+ b_h\)"),
        (lambda: us.cells.LSTM(3), r"lstm needs the size 'hidden': .* lstm\(input_size, hidden_"),
        (lambda: us.cells.LSTMProjected(3, 4), r"needs the size 'proj': .* proj=\.\.\.\)"),
        (lambda: us.cells.LSTM(3, 4, proj=2), "lstm has no size 'proj'; its sizes are input, hid"),
        (lambda: us.cells.LSTM(3, 0), "positive whole number, not 0"),
        (lambda: us.cells.LSTM(3, 4.0), "positive whole number, not 4.0"),  # type: ignore[arg-type]
    ],
)
def test_sizes_that_do_not_fit(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_softplus_far_from_zero() -> None:
    """Exact in float64 also where torch's own softplus has turned linear."""
    cell = us.cell("h' = softplus(20 * x) + 0 * h")(1, 1).double()
    xs = torch.tensor([[[1.1]], [[-3.0]]], dtype=torch.float64, requires_grad=True)
    ys, _ = us.unfold(cell, xs)
    torch.testing.assert_close(ys, torch.log1p(torch.exp(20 * xs)), rtol=1e-14, atol=0)
    ys.sum().backward()
    ours = us.bptt(cell, xs, d_ys=torch.ones_like(ys)).xs
    torch.testing.assert_close(ours, xs.grad, rtol=1e-12, atol=0)
