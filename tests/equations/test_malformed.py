"""Equations that cannot be a cell: each says what is wrong, where, and how to mend it.

A row: the text, what the problem says, the piece of the text that is marked, what the hint says.
"""

import pytest

from unspool.equations import limits
from unspool.equations.errors import EquationError
from unspool.equations.roles import equations

ELMAN = "h' = tanh(W @ x + U @ h + b)"

MALFORMED = [
    # the text as a whole
    ("", "there is no equation here", None, "at least one"),
    ("  # only a comment\n\n", "there is no equation here", None, "h' = tanh"),
    ("a" * (limits.TEXT + 1), "characters", None, ""),
    ("\n".join(f"a{i} = x" for i in range(limits.LINES + 1)), "over 200 equations", None, ""),
    # characters
    ("h' = tanh(W @ x) ^ 2", "'^' is not part of the language", "^", "`**`"),
    ("h' = z ⊙ h", "'⊙' is not part of the language", "⊙", "`*`"),
    ("h' = x − h", "'−' is not part of the language", "−", "typographic minus"),
    ("h' = x; y = h'", "';' is not part of the language", ";", "one equation a line"),
    ("h' = W[0] @ x", "'[' is not part of the language", "[", "no indexing"),
    ('h\' = "x"', "'\"' is not part of the language", '"', "no strings"),
    ("h'' = x", "a name takes one prime", "'", "previous one (h)"),
    ("h' = 'x'", "a prime follows a name directly", "'", "no strings"),
    # brackets
    ("h' = tanh(W @ x", "this bracket is never closed", "(", "missing `)`"),
    ("h' = W @ x)", "this bracket closes nothing", ")", "remove it"),
    ("h' = " + "(" * 61 + "x" + ")" * 61, f"nested over {limits.DEPTH} deep", "(", "of its own"),
    ("h' = " + "-" * 61 + "x", f"over {limits.DEPTH} operations deep", "x", "of its own"),
    ("h' = x²", "'²' is not part of the language", "²", "`**2`"),
    ("h' = W₁ @ x", "'₁' is not part of the language", "₁", "W_1"),
    ("h' = tanh (W @ x + U @ )", "this cannot be read as an equation", ")", "name = expression"),
    ("h' = tanh(training @ x)", "training cannot be a name", "training @ x", "another one"),
    ("h: hidden_size\nh' = x", "a size cannot be called hidden_size", "h", "input and hidden"),
    ("h' = W.T @ x", "the language has no attributes", "W.T", "no transpose"),
    ("y' = x\nc' = x", "no line defines the output: the states are c, y", None, "h'"),
    # lines that are no equation
    ("h' =", "nothing stands right of `=`", "=", "after it"),
    ("= tanh(x)", "nothing stands left of `=`", "=", "h' = ..."),
    ("h' = W @ x +\nU @ h", "the line ends in the middle", "+", "inside brackets"),
    ("h' = 2 x", "an operator is missing here", "2 x", "`*`"),
    ("h' = 2x", "'2x' is neither a number nor a name", "2x", "2 * x"),
    ("h' = tanh(x)(h)", "only a function's name can be called", "tanh(x)", "`*`"),
    ("h' = x (h)", "there is no function 'x'", "x", "`*`"),
    ("tanh(W @ x)", "this is not an equation", "tanh(W @ x)", "name = ..."),
    ("h' == x", "this is not an equation", "h' == x", "name = ..."),
    ("h' += x", "this is not an equation", "h' += x", "h' = h + (...)"),
    ("h' = c' = x", "one equation has one `=`", "c'", "two lines"),
    ("h', c' = x", "the left side of an equation is one name", "h', c'", "h' = ..."),
    ("h' = x, h", "this is a list of values", "x, h", "concat"),
    ("h' = * x", "nothing stands left of `*`", "* x", "both factors"),
    ("h' = x + * 2", "this cannot be read as an equation", "*", "name = expression"),
    ("import os", "there is no `import`", "import", "nothing is imported"),
    ("h' = x if x else h", "there is no `if`", "if", "g * a + (1 - g) * b"),
    # code is not a language of this kind
    ("h' = __import__(os)", "there is no function '__import__'", "__import__", "The functions"),
    ("h' = x.__class__", "the language has no attributes", "x.__class__", "`.` part"),
    ("h' = _w * x", "a name starts with a letter", "_w", "`w`"),
    ("h' = x * 1j", "'1j' is neither a number nor a name", "1j", "1 * j"),
    ("h' = x * 1e999", "this is not a real number", "1e999", "0.5"),
    ("h' = x + 1 / 0", "this has no finite value", "1 / 0", "numbers"),
    ("h' = x // h", "this is not part of the language", "x // h", "expected names"),
    # matrices
    ("h' = f * U @ h", "the left of `@` is the name of a matrix", "f * U", "* (U @ v)"),
    ("h' = -U @ h", "the left of `@` is the name of a matrix", "-U", "-(W @ v)"),
    ("h' = A @ B @ h", "the left of `@` is the name of a matrix", "A @ B", "A @ (B @ v)"),
    ("h' = U @ h * x", "`@` and `*` in one term need brackets", "U @ h * x", "(W @ v) * u"),
    ("h' = x @ h", "the left of `@` is a matrix parameter, and x", "x @ h", "`*`"),
    ("h' = U' @ h", "a matrix has no prime", "U' @ h", "U @"),
    ("h' = W @ x + W * h", "W is used as a vector here", "W", "two names"),
    ("h' = W * h + W @ x", "W is used as a matrix here", "W @ x", "two names"),
    ("h' = tanh(W @ x + U @ c)", "this product never changes", "U @ c", "name' = ..."),
    # functions
    ("h' = sigmod(x)", "there is no function 'sigmod'", "sigmod", "did you mean sigmoid"),
    ("h' = softmax(x)", "there is no function 'softmax'", "softmax", "sigmoid(v)"),
    ("h' = tanh(x, h)", "tanh takes 1 of them, and 2", "tanh(x, h)", "tanh(a)"),
    ("h' = concat()", "concat takes one argument or more", "concat()", "concat(a, b)"),
    ("h' = tanh(*x)", "arguments are plain expressions", "tanh(*x)", "tanh(...)"),
    ("h' = layer_norm(2) + h", "layer_norm takes vectors", "2", "no length"),
    ("h' = sigmoid * x", "sigmoid is a function", "sigmoid", "sigmoid(...)"),
    ("h' = x ** h", "an exponent is a number", "h", "exp(k * log(v))"),
    # states, lines, outputs
    ("x = tanh(h)\nh' = x", "x is the input", "x", "another name"),
    ("x' = tanh(x)", "x is the input", "x'", "another name"),
    ("y = tanh(W @ x)", "no state is updated", "y", "h' = ..."),
    ("c' = W @ x + U @ h", "the state h is never updated", "h", "h' = ..."),
    ("h' = o * tanh(c')", "the state c is never updated", "c'", "c' = ..."),
    ("h' = W @ x\nh' = x", "h' is assigned twice (first on line 1)", "h'", "once"),
    ("h' = x\nh = x", "both h and h' are assigned", "h", "rename one"),
    ("a = b_1 * c\nc = x\nh' = a", "c is used before it is assigned", "c", "earlier line"),
    ("c = f * c\nh' = c", "c is used before it is assigned", "c", "c' = ..."),
    ("h' = tanh(c')\nc' = x", "c' is used before it is assigned", "c'", "previous value is c"),
    ("s' = x\nc' = x", "no line defines the output: the states are c, s", None, "y = ..."),
    # sizes
    ("h' = h + concat(x, h)", "hidden + input here, hidden beside it", "concat(x, h)", "M @ v"),
    ("h: 3\nc: 4\nh' = c\nc' = h", "sizes cannot agree: 4 here, 3 beside it", "c", "equal"),
    ("a = x + h\nh' = a + concat(x, x)", "sizes cannot agree", "concat(x, x)", "M @ v"),
    ("h': proj\nh' = x", "a declaration takes no prime", "h'", "`h: ...`"),
    ("h: 0\nh' = x", "a size is a name or a positive number", "0", "y: 1"),
    ("h: proj = x\nh' = x", "a size is declared alone", "proj", "two lines"),
    ("h: a\nh: b\nh' = x", "h is declared twice", "h", "keep one"),
    ("W: a\nh' = W @ x", "W is a matrix", "W", "the vector it gives"),
    ("c: proj\nh' = x", "no equation has c", "c", "c' = ..."),
    ("x.a: proj\nh' = x", "only a name has a size", "x.a", "name: size"),
]


@pytest.mark.parametrize(("text", "problem", "marked", "hint"), MALFORMED)
def test_says_what_is_wrong(text: str, problem: str, marked: str | None, hint: str) -> None:
    with pytest.raises(EquationError) as caught:
        equations(text)
    error = caught.value
    assert problem in error.problem
    assert hint in error.hint
    if marked is None:
        assert error.span is None
        return
    assert error.span is not None
    line, start, stop = error.span
    assert text.split("\n")[line][start:stop].startswith(marked)
    shown = str(error).split("\n")
    assert shown[0].startswith(f"line {line + 1}: ")
    assert shown[1] == "    " + text.split("\n")[line]  # the line is quoted
    assert shown[2].index("^") == start + 4  # and the place marked


def test_there_are_fifty_different_problems() -> None:
    messages = set()
    for text, *_ in MALFORMED:
        with pytest.raises(EquationError) as caught:
            equations(text)
        messages.add(caught.value.problem)
    assert len(MALFORMED) >= 50
    assert len(messages) >= 50


def test_not_text() -> None:
    with pytest.raises(EquationError, match="written as text, not as int"):
        equations(3)  # type: ignore[arg-type]
