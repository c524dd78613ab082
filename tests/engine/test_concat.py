"""Every place in which a `concat` may stand has kernels, which give what the reference gives."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import unspool as us
from tests.engine.test_backends import same
from unspool.engine.c_spec import CannotPrint
from unspool.engine.call import prepare
from unspool.engine.pieces import pieces_of
from unspool.equations.roles import equations

# the input has 3 numbers, hidden is 8
CELLS = {
    "named": """
        z  = concat(x, h)
        r  = sigmoid(W_r @ z + b_r)
        h' = r * h + (1 - r) * tanh(W @ z + b)
    """,
    "output": """
        c' = tanh(W @ x + U @ h + b)
        h' = sigmoid(V @ c')
        y  = concat(h', c', x)
    """,
    "heads": """
        a' = tanh(W_a @ x + U_a @ concat(a, b))
        b' = tanh(W_b @ x + U_b @ a + d)
        b: 5
        y  = concat(a', b')
    """,
    "state": """
        a: 3
        b: 5
        a  = sigmoid(W_a @ x + U_a @ h + d)
        b  = U_b @ h
        h' = tanh(concat(a, b)) * k + h
    """,
    "bare": """
        u: 3
        v: 5
        u  = sigmoid(V @ x + d)
        v  = relu(U @ h)
        g  = tanh(W @ concat(x, h) + b)
        h' = g * concat(u, v) + (1 - g) * h
    """,
    "deep": """
        m  = concat(concat(x, h), x)
        n  = m * s + concat(x, h, x)
        h' = tanh(U @ n) * sigmoid(P @ (n * n))
    """,
    "two cuts": """
        a: 3
        b: 5
        a  = W_a @ x
        b  = W_b @ x + U_b @ h
        h' = tanh(concat(a, b)) + concat(b, a) * k
    """,
    "only state": """
        a: 3
        b: 5
        a  = tanh(A @ x + B @ s)
        b  = C @ s
        s' = 0.5 * s + concat(a, b)
    """,
    "tied matrix": """
        a: 4
        a  = tanh(W @ x + U @ h)
        b  = W @ (x * x)
        h' = concat(a, b + a) * h + V @ concat(a, a)
    """,
    "one matrix, whole and cut": """
        x: 8
        a: 8
        a  = M @ h
        b  = M @ x
        c: 3
        d: 5
        c  = tanh(C @ h)
        d  = D @ (M @ h)
        h' = tanh(U @ concat(a, b)) * concat(c, d)
    """,
    "the same matrix on a state that is cut": """
        x: 8
        a: 3
        b: 5
        a' = tanh(A @ (M @ concat(a, b)))
        b' = tanh(B @ (M @ x))
        y  = concat(b', a')
    """,
    "before the loop": """
        z  = concat(tanh(A @ x), sigmoid(B @ x))
        h' = tanh(W @ z + U @ h)
    """,
    "normed beside": """
        a: 4
        b: 4
        a  = layer_norm(A @ x + B @ h)
        b  = C @ x
        h' = tanh(concat(a, b))
    """,
}
pytestmark = pytest.mark.usefixtures("quick_compiler")
every_cell = pytest.mark.parametrize("name", CELLS)


def build(name: str, seed: int = 0) -> us.Cell:
    torch.manual_seed(seed)
    kind = us.CellType(equations(CELLS[name]), "joined")
    sizes = dict.fromkeys(kind.equations.named_sizes, 8)
    return us.Cell(kind, sizes if "x: 8" in CELLS[name] else {**sizes, "input": 3}).double()


def everything(cell: us.Cell, xs: Tensor, state: Any, backend: str, **how: Any) -> list[Tensor]:
    """Outputs, states, lines and all gradients."""
    ys, last, lines = us.unfold(
        cell, xs, state, backend=backend, record=cell.equations.recordable, **how
    )
    outputs = [ys, *last, *lines.values()]
    loss = sum(((k + 1) * output).sin().sum() for k, output in enumerate(outputs))
    assert isinstance(loss, Tensor)
    tensors = [xs, *state, *cell.parameters()]
    found = torch.autograd.grad(loss, tensors, allow_unused=True)
    grads = [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)]
    return outputs + grads


def inputs(cell: us.Cell, T: int = 5, B: int = 3) -> tuple[Tensor, list[Tensor]]:
    xs = torch.randn(T, B, cell.input_size, dtype=torch.float64, requires_grad=True)
    sizes = cell.state_sizes.values()
    return xs, [torch.randn(B, n, dtype=torch.float64, requires_grad=True) for n in sizes]


def ways(cell: us.Cell, xs: Tensor) -> Iterator[dict[str, Any]]:
    yield {}
    masks = us.draw_masks(cell, xs, zoneout=0.3, recurrent=0.3, weights=0.3)
    yield {"lengths": torch.tensor([5, 0, 3]), "reverse": True, "masks": masks}
    yield {"masks": us.expected_masks(cell, 0.2)}
    yield {"recompute": 2}


@every_cell
@pytest.mark.parametrize("backend", ["cpu", "planned"])
def test_kernels_equal_the_reference(name: str, backend: str) -> None:
    cell = build(name)
    xs, state = inputs(cell)
    for how in ways(cell, xs):
        expected = everything(cell, xs, state, "reference", **how)
        same(everything(cell, xs, state, backend, **how), expected)


@every_cell
def test_steps_equal_the_sequence(name: str) -> None:
    cell = build(name)
    xs, _ = inputs(cell)
    expected, last = us.unfold(cell, xs, backend="reference")
    step, found = us.Stepper(cell), []
    state: Any = None
    for x in xs.detach():
        y, state = step(x, state)
        found.append(y)
    same([torch.stack(found), *state], [expected, *last])
    assert step.latest is not None  # a kernel took it


@every_cell
def test_compiled_equals_the_reference(name: str) -> None:
    torch._dynamo.reset()
    cell = build(name)
    xs, state = inputs(cell)
    expected = everything(cell, xs, state, "reference")

    def run(xs: Tensor, state: Any) -> Any:
        return us.unfold(cell, xs, state, record=cell.equations.recordable)

    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
    ys, last, lines = compiled(xs, state)
    outputs = [ys, *last, *lines.values()]
    loss = sum(((k + 1) * output).sin().sum() for k, output in enumerate(outputs))
    tensors = [xs, *state, *cell.parameters()]
    found = torch.autograd.grad(loss, tensors, allow_unused=True)  # type: ignore[arg-type]
    grads = [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)]
    same(outputs + grads, expected)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "a: 3\nb: 5\na = A @ x\nb = B @ h\nh' = tanh(layer_norm(concat(a, b)))",
            "layer_norm reads what concat joins",
        ),
        (
            "x: hidden\nh' = tanh(x + concat(a, b) * h)\na: 3\nb: 5",
            "x stands beside a concat",
        ),
    ],
)
def test_what_has_no_kernel_says_so(text: str, reason: str) -> None:
    cell = us.cell(text)(8, 8)
    xs = torch.randn(4, 2, 8)
    with pytest.raises(ValueError, match=f"the cpu backend cannot run this cell: {reason}"):
        us.unfold(cell, xs, backend="cpu")
    with pytest.warns(UserWarning, match=reason):
        found = us.unfold(cell, xs)[0]
    torch.testing.assert_close(found, us.unfold(cell, xs, backend="reference")[0])
    with pytest.raises(CannotPrint, match=reason):
        pieces_of(prepare(cell, xs, None, lengths=None, reverse=False, masks=None, record=()))


@pytest.mark.filterwarnings("ignore::unspool.EquationWarning")
def test_parameters_that_an_idle_line_joins() -> None:
    text = "h' = tanh(W @ x + U @ h)\nl = concat(b0, b1)\nb0: 1\nb1: 2"
    cell = us.cell(text)(3, 8)
    xs = torch.randn(5, 2, 3)
    expected, _, lines = us.unfold(cell, xs, record="l", backend="reference")
    torch.testing.assert_close(us.unfold(cell, xs, backend="cpu")[0], expected)
    torch.testing.assert_close(us.unfold(cell, xs, record="l")[2], lines)
    torch.testing.assert_close(us.Stepper(cell)(xs[0])[0], expected[0].detach())
