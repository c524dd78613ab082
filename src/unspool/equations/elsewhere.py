"""What people write in other notations, and how this language says the same.

Python, torch, LaTeX and blackboards each have their own way to write a cell. Whoever reads the
text asks here, once it could not be read, what was meant and how it is written.
"""

import difflib
import re

from unspool.equations import limits
from unspool.equations.functions import CALLABLE

# A function of torch, and the same in the language, entry by entry.
SAME = {
    "gelu": "0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v**3)))",
    "silu": "v * sigmoid(v)",
    "swish": "v * sigmoid(v)",
    "mish": "v * tanh(softplus(v))",
    "leaky_relu": "maximum(v, 0.01 * v)",
    "elu": "relu(v) + exp(minimum(v, 0)) - 1",
    "selu": "1.0507009874 * (relu(v) + 1.6732632423 * (exp(minimum(v, 0)) - 1))",
    "relu6": "minimum(relu(v), 6)",
    "hard_sigmoid": "minimum(maximum(v / 6 + 0.5, 0), 1)",
    "hard_swish": "v * minimum(maximum(v / 6 + 0.5, 0), 1)",
    "hard_tanh": "minimum(maximum(v, -1), 1)",
    "softsign": "v / (1 + abs(v))",
    "tanhshrink": "v - tanh(v)",
    "log_sigmoid": "-softplus(-v)",
    "square": "v**2",
    "reciprocal": "1 / v",
    "rsqrt": "1 / sqrt(v)",
    "tan": "sin(v) / cos(v)",
    "sinh": "(exp(v) - exp(-v)) / 2",
    "cosh": "(exp(v) + exp(-v)) / 2",
    "exp2": "exp(0.6931471806 * v)",
    "log2": "log(v) / 0.6931471806",
    "log10": "log(v) / 2.302585093",
    "log1p": "log(1 + v)",
    "expm1": "exp(v) - 1",
    "negative": "-v",
}
NAMED = {  # the same function under another name
    **dict.fromkeys(("σ", "sigma", "logistic", "expit", "sig"), "sigmoid"),
    **dict.fromkeys(("cat", "concatenate", "stack", "hstack", "join"), "concat"),
    **dict.fromkeys(("fabs", "absolute"), "abs"),
}
WEIGH = (
    "no function adds up the entries of a vector; a matrix of one row weighs and adds them: "
    "declare `s: 1` and write s = w @ v"
)
FLAT = "its derivative is 0, so nothing would be trained through it"
DROPOUT = "dropout stands around a cell, not in it: us.Dropout(...) in us.Recurrent"
MATRIX = "write W @ v"
ADVICE = {
    **dict.fromkeys(("max", "amax"), (
        "maximum(a, b) is the larger of two, entry by entry; nothing finds the largest entry"
    )),
    **dict.fromkeys(("min", "amin"), (
        "minimum(a, b) is the smaller of two, entry by entry; nothing finds the smallest entry"
    )),
    "ln": "a natural logarithm is log(v), and a layer's normalisation layer_norm(v)",
    "sign": f"{FLAT}; a smooth one is tanh(10 * v)",
    **dict.fromkeys(
        ("step", "heaviside"), f"{FLAT}; a smooth one, from 0 to 1, is sigmoid(10 * v)"
    ),
    **dict.fromkeys(("round", "floor", "ceil", "argmax"), FLAT),
    **dict.fromkeys(("softmax", "log_softmax"), (
        "the softmax of an output belongs to the loss; a gate for each entry is sigmoid(v)"
    )),
    **dict.fromkeys(("sum", "mean", "prod", "cumsum", "var", "std"), WEIGH),
    "gelu": f"gelu(v), to three decimals, is written {SAME['gelu']}",
    **dict.fromkeys(("norm", "normalize", "batch_norm", "rms_norm"), (
        "layer_norm(v) makes its mean 0 and its variance 1"
    )),
    **dict.fromkeys(("dot", "matmul", "mm", "mv", "bmm"), MATRIX),
    **dict.fromkeys(("linear", "dense", "affine"), "write W @ v + b"),
    "einsum": MATRIX,
    **dict.fromkeys(("clip", "clamp"), "write minimum(maximum(v, -1), 1), with your own bounds"),
    **dict.fromkeys(("pow", "power"), "write v**2; an exponent is a number"),
    **dict.fromkeys(("multiply", "mul", "hadamard"), "write a * b"),
    "where": "a choice is a gate: g * a + (1 - g) * b, with g = sigmoid(...)",
    "dropout": DROPOUT,
    **dict.fromkeys(("zeros", "zeros_like"), "a number stands for a vector of it: write 0"),
    **dict.fromkeys(("ones", "ones_like"), "a number stands for a vector of it: write 1"),
    **dict.fromkeys(("eye", "identity"), "the identity changes nothing: write v itself"),
    **dict.fromkeys(
        ("f", "g", "φ", "ϕ", "ψ", "phi", "act", "activation"),
        "to multiply, write `*`; for a function, write which one, as in tanh(v)",
    ),
}  # fmt: skip


def _plain(name: str) -> str:
    """A function's name as all libraries would spell it: hardsigmoid, Hardsigmoid, hard_sigmoid."""
    return name.lower().replace("_", "")


def _called(function: str) -> str:
    return f"{function}(a, b)" if function in ("concat", "maximum", "minimum") else f"{function}(v)"


KNOWN = {
    **{_plain(name): f"write {_called(name)}" for name in CALLABLE},
    **{_plain(name): f"{name}(v) is written {formula}" for name, formula in SAME.items()},
    **{_plain(name): f"write {_called(function)}" for name, function in NAMED.items()},
    **{_plain(name): advice for name, advice in ADVICE.items()},
}

TRANSPOSE = (
    "the language has no transpose: a transposed matrix is a parameter of its own, under a "
    "name of its own, as in V @ h"
)
TIME = "the equations describe one step: write x for its input, h' for the new state, h for the old"
BETWEEN = "multiply element by element with `*`, by a matrix with `@`"
COMPARED = (
    "for a > b, a smooth switch from 0 to 1 is sigmoid(10 * (a - b)); maximum(a, b) is the larger "
    "of two"
)
CHARACTERS = {
    "^": "a power is written `**`",
    **dict.fromkeys("·⋅•×", BETWEEN),
    **dict.fromkeys("⊙∘∗⊗", "multiply element by element with `*`"),
    "−": "this is a typographic minus; type `-`",
    "–": "this is a dash; type `-`",
    ";": "write one equation a line",
    '"': "the language has no strings",
    **dict.fromkeys("[]", "the language has no indexing; join vectors with `concat(a, b)`"),
    **dict.fromkeys("{}", "group with round brackets"),
    "²": "a power is written `**2`",
    "³": "a power is written `**3`",
    "√": "a square root is written sqrt(v)",
    "|": "an absolute value is written abs(v)",
    **dict.fromkeys("<>≤≥≠!", COMPARED),
    **dict.fromkeys("₀₁₂₃₄₅₆₇₈₉", "write the digit on the line: W1 or W_1"),
    **dict.fromkeys("ᵀ⊤", TRANSPOSE),
    **dict.fromkeys("ₜ₋₊", TIME),
    "$": "leave out LaTeX's dollar signs",
    "\xa0": "this is a no-break space; type a plain one",
    "\ufeff": "this is an invisible byte-order mark; remove it",
    "\\": "a line break inside brackets needs no mark",
}
REFUSED = "ᵀₜ"  # letters to Python, which would read Uᵀ as a name UT
STATEMENTS = {
    **dict.fromkeys(
        ("for", "while"), "the equations describe one step; us.unfold runs it over all steps"
    ),
    **dict.fromkeys(
        ("if", "elif", "else"),
        "a choice is a gate: g * a + (1 - g) * b, with g = sigmoid(...)",
    ),
    **dict.fromkeys(
        ("def", "lambda"),
        "there are no functions of your own: name a part on a line of its own, u = tanh(...)",
    ),
    "return": "the output is h', or what a line `y = ...` says",
    **dict.fromkeys(
        ("import", "from"), f"nothing is imported; the functions are {', '.join(CALLABLE)}"
    ),
    **dict.fromkeys(
        ("and", "or", "not"),
        "of gates a and b between 0 and 1: `and` is a * b, `or` is maximum(a, b), `not` is 1 - a",
    ),
}  # fmt: skip
MODULES = ("np", "numpy", "torch", "nn", "F", "functional", "math", "tf", "jnp", "jax", "keras")
LATEX = {
    "sigma": "write sigmoid(v), without the backslash",
    **dict.fromkeys(("odot", "circ", "ast"), "multiply element by element with `*`"),
    **dict.fromkeys(("cdot", "times"), BETWEEN),
    **dict.fromkeys(("top", "intercal"), TRANSPOSE),
    **dict.fromkeys(("left", "right"), "leave it out: brackets alone group"),
    "frac": "a fraction is written a / b",
    "max": "write maximum(a, b), without the backslash",
    "min": "write minimum(a, b), without the backslash",
}
NAME = re.compile(r"(\w+)'?[_^\s]*$")  # what a bracket or a power follows
STEP = re.compile(r"[({\s]*(t\b(?:\s*[-+−]\s*\d+)?)")  # t, t-1, {t + 1}
SUFFIXES = {  # of names such as h_t and h_prev
    "t": ("t", "new", "next", "cur", "current"),
    "t-1": ("prev", "previous", "old", "last", "tm1", "t1", "minus1"),
}


def about_character(line: str, column: int) -> str:
    """How to write what the character at a column was meant to be part of."""
    char, before, rest = line[column], line[:column], line[column + 1 :]
    name, step = NAME.search(before[-limits.NAME :]), STEP.match(rest)
    if char == "\\" and (word := re.match(r"[A-Za-z]+", rest)):
        return _about_latex(word.group())
    if char == "[" and re.search(r"\bfor\b", rest):
        return "vectors are computed whole: tanh(v) is the tanh of every entry"
    if char == "^" and re.match(r"[{\s]*\\?(T|top|intercal|⊤)(?!\w)", rest):
        return TRANSPOSE
    if char in "[{^" and name and step:
        return about_step(name[1], step[1])
    if char == "{" and before.endswith("_"):
        return "write the subscript without brackets: W_xh"
    return CHARACTERS.get(char, "")


def about_step(name: str, step: str) -> str:
    """How `name` at a step such as t or t-1 is written."""
    name, step = name.rstrip("_"), step.replace(" ", "").replace("−", "-")
    if name == "x":
        if step.startswith("t-") or step.startswith("t+"):
            return "a step sees its own input alone, x; to keep it, carry it: p' = x, and read p"
        return "the equations describe one step, and x is its input: write x"
    if step == "t-1":
        return f"the equations describe one step, and {name} is the state before it: write {name}"
    if step == "t":
        return f"the equations describe one step: write {name}', or {name} where it is no state"
    return f"the equations describe one step: {name} is the state before it, {name}' after it"


def step_in_name(name: str) -> tuple[str, str] | None:
    """The value and the step that a name such as h_t or h_prev stands for."""
    base, _, suffix = name.rpartition("_")
    for step, words in SUFFIXES.items():
        if base and suffix in words:
            return base.removesuffix("_t"), step
    return None


def about_function(name: str, step: str = "") -> str:
    """How a function that the language does not have is written; h(t-1) is none, but a step."""
    if step:
        return about_step(name, step)
    plain = _plain(name)
    if plain in KNOWN:
        return KNOWN[plain]
    if name in STATEMENTS:
        return STATEMENTS[name]
    close = difflib.get_close_matches(name, CALLABLE, 1, 0.7)
    hint = f"did you mean {close[0]}? " if close else "to multiply, write `*`. "
    return f"{hint}The functions are {', '.join(CALLABLE)}"


def about_attribute(owner: str, attribute: str) -> str:
    """How `owner.attribute` is written: torch.tanh, U.T, x.sigmoid."""
    if attribute in ("T", "mT", "H", "t", "transpose"):
        return TRANSPOSE
    if attribute in CALLABLE and owner.partition(".")[0] in MODULES:
        return f"write {_called(attribute)}, without `{owner}.`"
    if attribute in CALLABLE and owner.isidentifier():
        return f"write {attribute}({owner})"
    return KNOWN.get(_plain(attribute), "remove the `.` part")


def about_statement(line: str) -> tuple[str, str] | None:
    """What is wrong with a line that starts as one of Python's does, and what to write."""
    match = re.match(r"\s*([a-z]+)\b(?!\s*(?:['\u2019\u2032\u02b9]|=(?!=)|:\s*\w))", line)
    if match is None or match[1] not in STATEMENTS:
        return None
    return f"there is no `{match[1]}` in the language", STATEMENTS[match[1]]


def about_keyword(line: str) -> tuple[str, int, str] | None:
    """A word of Python inside an expression that could not be read, its column, what to write."""
    words = "|".join(STATEMENTS)
    match = re.search(rf"[\w)']\s+({words})\s+\w|\b(lambda|not)\s+\w", line)
    if match is None:
        return None
    group = 1 if match[1] else 2
    return match[group], match.start(group), STATEMENTS[match[group]]


def between(pair: list[str]) -> str:
    """What may be missing between two names: in `W x` the product by a matrix."""
    if len(pair) == 2 and pair[0][:1].isupper():
        matrix, vector = pair
        return f"a matrix times a vector is written {matrix} @ {vector}"
    return BETWEEN


def _about_latex(word: str) -> str:
    if word in CALLABLE:
        return f"write {_called(word)}, without the backslash"
    return LATEX.get(word, "LaTeX is not read here: write names and functions without backslashes")
