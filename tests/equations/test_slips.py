"""Equations that can be read, and are most likely not what was meant: what the warning says.

A row: the text, what the warning says and its hint, and the text with the hint applied, of which
nothing is said any more.
"""

import warnings

import pytest
import torch
import torch.nn.functional as F

import unspool as us
from unspool.equations import elsewhere
from unspool.equations.roles import equations
from unspool.equations.slips import slips

ELMAN = "h' = tanh(W @ x + U @ h + b)"
DEAD = "remove it, or read it in a line that leads to a new state or the output"
ODD = [
    (
        f"o = sigmoid(W_o @ x + U_o @ h)\n{ELMAN}",
        "o is computed, and nothing reads it (W_o, U_o serve it alone)",
        f"{DEAD}; if o is the output, call it y",
        f"y = sigmoid(W_o @ x + U_o @ h)\n{ELMAN}",
    ),
    (
        f"a = V @ x\no = tanh(a)\n{ELMAN}\ny = h'",
        "o is computed, and nothing reads it (a, V serve it alone)",
        DEAD,
        f"{ELMAN}\ny = h'",
    ),
    (
        "h' = tanh(W @ x + U @ h + b**0)",
        "b gets no gradient: a factor or an exponent of 0 makes it idle",
        "remove it, or let the result depend on it",
        "h' = tanh(W @ x + U @ h + 1)",
    ),
    (
        "h' = tanh(W @ x + 0 * (U @ h))",
        "U gets no gradient: a factor or an exponent of 0 makes it idle",
        "remove it, or let the result depend on it",
        "h' = tanh(W @ x)",
    ),
    (
        "z = sigmoid(W @ x)\nh' = z * H + (1 - z) * (U @ h)",
        "H is a trained vector, and h is a state",
        "write h; if a trained vector is meant, declare it: `H: hidden`",
        "z = sigmoid(W @ x)\nh' = z * h + (1 - z) * (U @ h)",
    ),
    (
        "h' = tanh(X + U @ h + W @ x)",
        "X is a trained vector, and x is the input",
        "write x; if a trained vector is meant, declare it: `X: hidden`",
        "X: hidden\nh' = tanh(X + U @ h + W @ x)",
    ),
    (
        "z = sigmoid(W @ x)\nh' = z * h + (1 - Z) * (U @ h)",
        "Z is a trained vector, and z is a line",
        "write z; if a trained vector is meant, declare it: `Z: hidden`",
        "z = sigmoid(W @ x)\nh' = z * h + (1 - z) * (U @ h)",
    ),
    (
        "c' = tanh(W_f @ x)\nh' = W_F @ c'",
        "W_f and W_F are two matrices that differ in case only",
        "write W_f for both; if two are meant, give one of them another name",
        "c' = tanh(W_f @ x)\nh' = W_g @ c'",
    ),
    (
        "h' = tanh(W @ x + b_h) * b_H",
        "b_h and b_H are two vectors that differ in case only",
        "write b_h for both; if a trained vector is meant, declare it: `b_H: hidden`",
        "b_H: hidden\nh' = tanh(W @ x + b_h) * b_H",
    ),
    (
        "h' = h + dt * tanh(W @ x + U @ h)",
        "dt is a trained vector here, not the length of a time step",
        "write the number, 0.1 for example; if a trained vector is meant, declare it: `dt: hidden`",
        "h' = h + 0.1 * tanh(W @ x + U @ h)",
    ),
    (
        "h' = sin(2 * pi * (W @ x))",
        "pi is a trained vector here, not a number",
        "write 3.141592653589793; if a trained vector is meant, declare it: `pi: hidden`",
        "h' = sin(2 * 3.141592653589793 * (W @ x))",
    ),
    (
        "a = W @ x\nh' = a / (abs(a) + eps)",
        "eps is a trained vector here, not a small number",
        "write 1e-5; if a trained vector is meant, declare it: `eps: hidden`",
        "a = W @ x\nh' = a / (abs(a) + 1e-5)",
    ),
    (
        "h' = gamma * h + W @ x",
        "gamma is a trained vector here, not a fixed number",
        "write the number, 0.9 for example; beside layer_norm(...) it is the gain; "
        "if a trained vector is meant, declare it: `gamma: hidden`",
        "gamma: hidden\nh' = gamma * h + W @ x",
    ),
    (
        "h' = tanh(W @ x + t * h)",
        "t is a trained vector here, not the number of the step",
        "the language has none: give it as a feature of x; "
        "if a trained vector is meant, declare it: `t: hidden`",
        "h' = tanh(W @ x + h)",
    ),
    (
        "z = sigmoid(W @ x)\nh' = (I - z) * h + z",
        "I is a trained vector here, not the identity",
        "1 stands for a vector of ones, and I @ h is h; "
        "if a trained vector is meant, declare it: `I: hidden`",
        "z = sigmoid(W @ x)\nh' = (1 - z) * h + z",
    ),
    (
        "h' = tanh(W @ x + I @ h)",
        "I is a trained matrix here, not the identity",
        "I @ h is h itself: write h; if a trained matrix is meant, give it another name",
        "h' = tanh(W @ x + h)",
    ),
    (
        "h' = tanh(Wx + U @ h + V @ x)",
        "Wx is a trained vector here, not W times x",
        "write W @ x; if a trained vector is meant, declare it: `Wx: hidden`",
        "h' = tanh(W @ x + U @ h + V @ x)",
    ),
    (
        "h' = tanh(W * x + U @ h)",
        "W * x multiplies entry by entry: W is no matrix here",
        "a matrix times a vector is written W @ x; "
        "if a trained vector is meant, declare it: `W: hidden`",
        "h' = tanh(W @ x + U @ h)",
    ),
]


@pytest.mark.parametrize(("text", "problem", "hint", "mended"), ODD)
def test_says_what_is_odd(text: str, problem: str, hint: str, mended: str) -> None:
    (slip,) = slips(equations(text))
    assert (slip.problem, slip.hint) == (problem, hint)
    assert slip.span is not None
    line, start, stop = slip.span
    shown = str(slip).split("\n")
    assert shown[0] == f"line {line + 1}: {problem}"
    assert shown[1] == "    " + text.split("\n")[line]
    assert shown[2] == " " * (start + 4) + "^" + "~" * (stop - start - 1)
    assert shown[3] == hint
    assert not slips(equations(mended))


@pytest.mark.parametrize(
    "text",
    [
        "u = tanh(U @ x)\nh' = u * h",  # a matrix beside a line
        "f = sigmoid(W_f @ x + w_f * h)\nh' = f * h",  # a matrix beside a vector
        "i = sigmoid(I @ x)\nh' = i * h",  # the matrix of the gate i
        "h' = gamma * layer_norm(W @ x) + beta",
        "n = layer_norm(W @ x)\nh' = z * gamma * n",
        "h' = tanh(alpha * (W @ x) + tau * h)",  # usually trained
        "h' = tanh(W @ x + Wh * h)",
        "s' = 0.9 * s + x\nh' = tanh(W @ x)",  # a state that only its own next value reads
        "e = exp(W @ x)\nh' = e * h",
        "h' = relu(W @ x) - relu(U @ h)",
        "h' = tanh(W @ x + U @ h)\ny = C @ h' + D * x\nx: wide\ny: wide",
        "h' = tanh((1 + gamma) * layer_norm(W @ x + U @ h) + beta)",
    ],
)
def test_says_nothing_of_what_is_usual(text: str) -> None:
    assert not slips(equations(text))


def test_of_no_cell_of_the_library() -> None:
    for kind in us.cells.named().values():
        assert not slips(kind.equations), kind


def test_each_is_said_once_in_the_order_of_the_text() -> None:
    text = f"a = dt * x\no = dt * a\np = 2 * a\n{ELMAN}"
    found = [slip.problem.partition(",")[0].partition(" is ")[0] for slip in slips(equations(text))]
    assert found == ["dt", "o", "p"]


def test_a_cell_warns_at_the_line_of_its_user() -> None:
    with pytest.warns(us.EquationWarning, match="dt is a trained vector here") as caught:
        us.cell("h' = h + dt * tanh(W @ x)")
    assert caught[0].filename == __file__
    assert isinstance(caught[0].message, us.EquationWarning)
    assert caught[0].message.span == (0, 9, 11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", us.EquationWarning)
        us.cell("h' = h + dt * tanh(W @ x)")


TORCH = {
    "gelu": lambda v: F.gelu(v, approximate="tanh"),
    "silu": F.silu,
    "swish": F.silu,
    "mish": F.mish,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "selu": F.selu,
    "relu6": F.relu6,
    "hard_sigmoid": F.hardsigmoid,
    "hard_swish": F.hardswish,
    "hard_tanh": F.hardtanh,
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "log_sigmoid": F.logsigmoid,
}


@pytest.mark.parametrize("name", elsewhere.SAME)
def test_what_a_hint_writes_is_the_same_function(name: str) -> None:
    """The formula stands in the hint, builds a cell, and has torch's values."""
    formula = elsewhere.SAME[name]
    with pytest.raises(us.EquationError, match="there is no function") as caught:
        us.cell(f"h' = {name}(W @ x)")
    assert caught.value.hint.endswith(f"is written {formula}")
    cell = us.cell(f"v = W @ x\nh' = {formula}")(3, 4).double()
    above = name in ("log2", "log10", "log1p", "rsqrt")  # where they are defined
    x = torch.linspace(0.5 if above else -7, 7, 30, dtype=torch.float64).view(10, 1, 3)
    with torch.no_grad():
        cell.parameter("W").copy_(torch.eye(4, 3))
    ys, _ = us.unfold(cell, x)
    expected = TORCH.get(name) or getattr(torch, name)
    torch.testing.assert_close(ys[..., :3], expected(x), rtol=1e-8, atol=1e-8)


def test_three_decimals_of_gelu() -> None:
    v = torch.linspace(-10, 10, 10_001)
    assert (F.gelu(v) - F.gelu(v, approximate="tanh")).abs().max() < 5e-4
