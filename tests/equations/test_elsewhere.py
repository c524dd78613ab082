"""Equations in other notations: each error's hint, and the text with the hint applied."""

import pytest

from unspool.equations.errors import EquationError
from unspool.equations.roles import equations

TRANSPOSE = "the language has no transpose: a transposed matrix is a parameter of its own"
STEP = "the equations describe one step"
GATE = "a choice is a gate: g * a + (1 - g) * b, with g = sigmoid(...)"
FOREIGN = [
    # LaTeX, and what is pasted from a page
    ("h' = \\tanh(W @ x)", "write tanh(v), without the backslash", "h' = tanh(W @ x)"),
    ("h' = \\sigma(W @ x)", "write sigmoid(v), without the backslash", "h' = sigmoid(W @ x)"),
    ("h' = z \\odot h", "element by element with `*`", "h' = z * h"),
    ("h' = \\mathbf{W} @ x", "LaTeX is not read here", "h' = W @ x"),
    ("h' = σ(W @ x)", "write sigmoid(v)", "h' = sigmoid(W @ x)"),
    ("h' = z ⊙ h", "multiply element by element with `*`", "h' = z * h"),
    ("h' = W · x", "element by element with `*`, by a matrix with `@`", "h' = W @ x"),
    ("h' = W × x", "element by element with `*`, by a matrix with `@`", "h' = W @ x"),
    ("h' = x^2", "a power is written `**`", "h' = x**2"),
    ("h' = W_{xh} @ x", "without brackets: W_xh", "h' = W_xh @ x"),
    ("h' = |x|", "written abs(v)", "h' = abs(x)"),
    # transposes
    ("h' = tanh(W @ x + U.T @ h)", TRANSPOSE, "h' = tanh(W @ x + V @ h)"),
    ("h' = U.t() @ x", TRANSPOSE, "h' = V @ x"),
    ("h' = U^T @ x", TRANSPOSE, "h' = V @ x"),
    ("h' = U^\\top @ x", TRANSPOSE, "h' = V @ x"),
    ("h' = Uᵀ @ x", TRANSPOSE, "h' = V @ x"),
    ("h' = transpose(U) @ x", TRANSPOSE, "h' = V @ x"),
    ("h' = U' @ x", "a transposed matrix is a parameter of another name", "h' = V @ x"),
    # time
    ("h' = tanh(W @ x_t + U @ h)", f"{STEP}, and x is its input: write x", "h' = tanh(W @ x)"),
    ("h' = x_t + h", f"{STEP}, and x is its input: write x", "h' = x + h"),
    ("h' = tanh(U @ h_prev)", f"{STEP}, and h is the state before it: write h", "h' = U @ h"),
    ("h' = U @ h_{t-1}", f"{STEP}, and h is the state before it: write h", "h' = U @ h"),
    ("h' = U @ h[t-1]", f"{STEP}, and h is the state before it: write h", "h' = U @ h"),
    ("h' = U @ h(t-1)", f"{STEP}, and h is the state before it: write h", "h' = U @ h"),
    ("h' = U @ h^{(t-1)}", f"{STEP}, and h is the state before it: write h", "h' = U @ h"),
    ("h' = W @ x[t]", f"{STEP}, and x is its input: write x", "h' = W @ x"),
    ("h' = W @ x(t - 1)", "carry it: p' = x, and read p", "p' = x\nh' = W @ p"),
    ("h_t = tanh(W @ x)", "write h' = ...: h' is the new state", "h' = tanh(W @ x)"),
    ("h = tanh(U @ h + x)", "write h' = ...: h' is the new state", "h' = tanh(U @ h + x)"),
    ("h[t] = tanh(W @ x)", f"{STEP}: write h', or h where it is no state", "h' = tanh(W @ x)"),
    ("h(t) = tanh(W @ x)", f"{STEP}: write h', or h where it is no state", "h' = tanh(W @ x)"),
    ("h' = tanh(xₜ)", f"{STEP}: write x for its input", "h' = tanh(x)"),
    # Python
    ("for t in x:", f"{STEP}; us.unfold runs it over all steps", "h' = x"),
    ("while x: h' = x", f"{STEP}; us.unfold runs it over all steps", "h' = x"),
    ("if x: h' = x", GATE, "g = sigmoid(W @ x)\nh' = g * x + (1 - g) * h"),
    ("h' = x if z else h", GATE, "g = sigmoid(W @ x)\nh' = g * x + (1 - g) * h"),
    ("def f(v): v", "name a part on a line of its own, u = tanh(...)", "u = tanh(x)\nh' = u"),
    ("h' = (lambda v: v)(x)", "there are no functions of your own", "u = tanh(x)\nh' = u"),
    ("return h", "the output is h', or what a line `y = ...` says", "h' = x\ny = h'"),
    ("from torch import tanh", "nothing is imported; the functions are sigmoid", "h' = tanh(x)"),
    ("h' = (x > 0) * h", "a smooth switch from 0 to 1 is sigmoid(10 *", "h' = sigmoid(10 * x) * h"),
    ("h' = (x == h) * h", "maximum(a, b) is the larger of two", "h' = maximum(x, h)"),
    ("h' = x and h", "`and` is a * b", "h' = x * h"),
    ("h' = [tanh(v) for v in x]", "tanh(v) is the tanh of every entry", "h' = tanh(x)"),
    ("h' = np.tanh(x)", "write tanh(v), without `np.`", "h' = tanh(x)"),
    ("h' = torch.nn.functional.relu(x)", "without `torch.nn.functional.`", "h' = relu(x)"),
    ("h' = nn.SiLU(x)", "silu(v) is written v * sigmoid(v)", "h' = x * sigmoid(x)"),
    ("h' = x.tanh()", "write tanh(x)", "h' = tanh(x)"),
    ("h' = W.dot(x)", "write W @ v", "h' = W @ x"),
    ("h' = tanh(W x)", "a matrix times a vector is written W @ x", "h' = tanh(W @ x)"),
    ("h' := tanh(x)", "write `name = ...`", "h' = tanh(x)"),
    ("h' += x", "write it out: h' = h + (...)", "h' = h + (x)"),
    ("h' == x", "an equation has a plain `=`", "h' = x"),
    ("a = x; h' = a", "write one equation a line", "a = x\nh' = a"),
    # functions
    ("h' = sign(x)", "a smooth one is tanh(10 * v)", "h' = tanh(10 * x)"),
    ("h' = step(x)", "from 0 to 1, is sigmoid(10 * v)", "h' = sigmoid(10 * x)"),
    ("h' = softmax(x)", "belongs to the loss; a gate for each entry is", "h' = sigmoid(x)"),
    ("h' = Tanh(x)", "write tanh(v)", "h' = tanh(x)"),
    (
        "h' = LeakyReLU(x)",
        "leaky_relu(v) is written maximum(v, 0.01 * v)",
        "h' = maximum(x, 0.01 * x)",
    ),
    ("h' = max(x, h)", "maximum(a, b) is the larger of two", "h' = maximum(x, h)"),
    ("h' = cat(x, h)", "write concat(a, b)", "h' = W @ concat(x, h)"),
    ("h' = x * sum(x)", "declare `s: 1` and write s = w @ v", "s: 1\ns = w @ x\nh' = U @ s"),
    ("h' = norm(x)", "layer_norm(v) makes its mean 0", "h' = layer_norm(x)"),
    ("h' = linear(x)", "write W @ v + b", "h' = W @ x + b"),
    (
        "h' = clamp(x, 0, 1)",
        "minimum(maximum(v, -1), 1), with your",
        "h' = minimum(maximum(x, 0), 1)",
    ),
    ("h' = pow(x, 2)", "write v**2", "h' = x**2"),
    ("h' = ln(x)", "a natural logarithm is log(v)", "h' = log(x)"),
    ("h' = dropout(x)", "us.Dropout(...) in us.Recurrent", "h' = x"),
    ("h' = f(x)", "for a function, write which one, as in tanh(v)", "h' = tanh(x)"),
    ("h' = W @ X", "write x, in small letters", "h' = W @ x"),
]


@pytest.mark.parametrize(("text", "hint", "mended"), FOREIGN)
def test_the_hint_says_how_it_is_written(text: str, hint: str, mended: str) -> None:
    with pytest.raises(EquationError) as caught:
        equations(text)
    assert hint in caught.value.hint
    assert caught.value.span is not None
    equations(mended)


@pytest.mark.parametrize(
    "text",
    [
        "lambda = tanh(W @ x)\nh' = lambda * h",
        "lambda: hidden\nh' = lambda * h + x",
        "for' = tanh(x)\nh' = for'",
        "h' = if * h + not",
        "h_t = tanh(W @ x)\nh' = h_t",
        "x_t: hidden\nh' = tanh(x_t + W @ x)",
        "h' = U_t @ x + b_t",
    ],
)
def test_names_that_only_look_foreign_are_names(text: str) -> None:
    equations(text)
