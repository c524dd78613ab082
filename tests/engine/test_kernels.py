"""Every construct of the language has kernels, or a warning says why not."""

import re
import warnings
from typing import Any

import pytest
import torch

import unspool as us
from tests.conformance.table import IDS, TABLE
from unspool.engine import say
from unspool.engine.kernels import some_sizes, why_not
from unspool.equations.functions import FUNCTIONS

pytestmark = pytest.mark.usefixtures("quick_compiler")
PARTS = "a: 3\nb: 5\na = tanh(A @ x + B @ h)\nb = C @ h\n"
REDUCED = "layer_norm reads what concat joins"
FIXED = "x stands beside a concat in a sum or another operation"
CONSTRUCTS: dict[str, str] = {
    "a product of x": "h' = tanh(W @ x) * h",
    "a product of a state": "h' = tanh(U @ h)",
    "a product of a product": "h' = tanh(U @ tanh(V @ h))",
    "one matrix twice": "h' = tanh(W @ x + W @ (x * x) + U @ h)",
    "a parameter alone": "h' = b",
    "the input alone": "x: hidden\nh' = x",
    "numbers": "h' = 0.5 * h + 1e-3 - 2",
    "a power": "h' = h**3 * b**-1.5",
    "several states": "c' = c + W @ x\nh' = tanh(c')",
    "a declared state": "h: small\nsmall: 3\nh' = tanh(U @ h)".replace("small: 3\n", ""),
    "an output of its own": "h' = tanh(U @ h + W @ x)\ny = V @ h'",
    "an output that is x": "h' = tanh(U @ h)\ny = x",
    "layer_norm of a sum": "h' = tanh(layer_norm(U @ h + W @ x))",
    "layer_norm of a state": "h' = tanh(U @ layer_norm(h) + W @ x)",
    "concat in a product": "h' = tanh(W @ concat(x, h))",
    "concat in a concat": "h' = tanh(W @ concat(concat(x, h), x))",
    "concat with a name": "z = concat(x, h)\nh' = tanh(W @ z)",
    "concat as the output": "h' = tanh(W @ x + U @ h)\ny = concat(h', x)",
    "concat as a state": PARTS + "h' = concat(a, b)",
    "concat between operators": PARTS + "h' = h * tanh(concat(a, b))",
    "concat of parameters": "h' = tanh(W @ concat(b, h)) * h",
    "layer_norm beside a concat": PARTS.replace("C @ h", "layer_norm(C @ h)") + "h' = concat(a, b)",
    "layer_norm of a concat": PARTS + "h' = tanh(layer_norm(concat(a, b)))",
    "x beside a concat": PARTS + "x: hidden\nh' = x + concat(a, b)",
}
WITHOUT = {"layer_norm of a concat": REDUCED, "x beside a concat": FIXED}
ALONE = {"sigmoid", "tanh", "relu", "softplus", "exp", "log", "sqrt", "abs", "sin", "cos"}
CONSTRUCTS |= {f"{name} of one": f"h' = {name}(0.5 + (U @ h)**2 + W @ x)" for name in sorted(ALONE)}
CONSTRUCTS |= {f"{name} of two": f"h' = {name}(U @ h, h * b)" for name in ("minimum", "maximum")}


def test_every_function_is_in_the_table() -> None:
    language = {name for name, row in FUNCTIONS.items() if row.adjoints and name.isidentifier()}
    assert language - {"neg"} == ALONE | {"minimum", "maximum", "layer_norm", "concat"}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_a_kernel_or_a_warning(name: str) -> None:
    text = CONSTRUCTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of these cells are odd, and are meant to be
        kind = us.cell(text)
    reason = WITHOUT.get(name)
    for found in why_not(kind.equations).values():
        assert found is None if reason is None else reason in str(found)
    sizes: Any = some_sizes(kind.equations)
    cell = us.Cell(kind, sizes)
    xs = torch.rand(3, 2, cell.input_size, requires_grad=True)
    say._said.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            us.unfold(cell, xs)[0].sum().backward()
            us.Stepper(cell)(xs[0].detach())
    said = [str(one.message) for one in caught]
    if reason is None:
        assert said == []
        us.unfold(cell, xs, backend="cpu")  # or an error that says why not
    else:
        assert len(said) == 1
        assert said[0].startswith(
            f"this cell runs in a slower loop, without compiled kernels: {reason}"
        )


@pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)
def test_cells_of_the_table(kind: us.CellType, sizes: dict[str, int]) -> None:
    assert why_not(kind.equations, sizes) == {"CPU": None, "GPU": None}


def test_sizes_that_the_equations_ask_for() -> None:
    kind = us.cell("a: small\nb: big\na = A @ x\nb = B @ h\nh' = tanh(concat(a, b))")
    sizes = some_sizes(kind.equations, 5)
    assert sizes["hidden"] == sizes["small"] + sizes["big"] == 10
    us.Cell(kind, sizes)
    text = "a: p\nb: q\nc: r\nd: s\ne: u\na = A @ x\nb = B @ h\nc = C @ h\nd = D @ x\ne = E @ x\n"
    kind = us.cell(text + "h' = tanh(U @ (concat(a, b) * concat(c, d, e)))")
    sizes = some_sizes(kind.equations)
    assert sizes["p"] + sizes["q"] == sizes["r"] + sizes["s"] + sizes["u"]
    assert why_not(kind.equations) == {"CPU": None, "GPU": None}


def warned(run: Any) -> list[str]:
    say._said.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
        run()
    return [str(one.message) for one in caught if one.category is us.SlowWarning]


@pytest.mark.parametrize(
    ("reason", "run"),
    [
        ("not in torch.bfloat16", lambda c, x: us.unfold(c.bfloat16(), x.bfloat16())),
        ("not in torch.float16", lambda c, x: us.Stepper(c.half())(x[0].half())),
        ("under torch.func", lambda c, x: torch.func.vmap(lambda v: us.unfold(c, v)[0])(x[None])),
        ("no kernels for Other", lambda c, x: us.unfold(c, x.as_subclass(Other))),
        (
            "no gradients of gradients",
            lambda c, x: torch.autograd.grad(us.unfold(c, x)[0].sum(), x, create_graph=True),
        ),
    ],
)
def test_slow_ways_are_said_once_for_each_cell(reason: str, run: Any) -> None:
    cells = [us.cells.GRU(3, 4), us.cells.LSTM(3, 4)]
    xs = torch.randn(5, 2, 3, requires_grad=True)
    said = warned(lambda: [run(cell, xs) for cell in cells])
    assert len(said) == 2
    assert all(reason in one for one in said)
    assert re.search(r"\n    r  = sigmoid\(.*\) \.\.\.$", said[0])  # which cell


class Other(torch.Tensor):
    pass


def test_what_never_had_kernels_is_not_said() -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(5, 2, 3)
    meta = us.cells.GRU(3, 4).to("meta")
    assert warned(lambda: us.unfold(meta, xs.to("meta"))) == []
    assert warned(lambda: us.unfold(cell, xs[:0])) == []
    assert warned(lambda: us.unfold(cell, xs, backend="reference")) == []
    assert warned(lambda: us.unfold(Counter(), xs)) == []


class Counter:
    state_sizes, output_size = {"n": 3}, 3

    def step(self, x: torch.Tensor, state: Any) -> Any:
        return state[0] + x, (state[0] + x,)
