"""`unfold` as one operator: what torch.compile and torch.export see."""

from typing import Any

import pytest
import torch
from torch import Tensor

import unspool as us
from tests.conformance.table import IDS, TABLE, build, inputs
from tests.engine.test_backends import same
from unspool.engine import cpu
from unspool.engine.c_spec import CannotPrint
from unspool.engine.op import BETWEEN, Given, one_line, unfold_op

every_cell = pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)


def compiled(function: Any) -> Any:
    """One graph or an error; traced for autograd, then run as it is."""
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend="aot_eager")


def nodes(function: Any, *args: Any) -> list[str]:
    return [str(node.target) for node in torch._dynamo.export(function)(*args)[0].graph.nodes]


def gradients(function: Any, tensors: list[Tensor]) -> list[Tensor]:
    outputs = function()
    loss = sum(((k + 1) * output).sin().sum() for k, output in enumerate(outputs))
    assert isinstance(loss, Tensor)
    found = torch.autograd.grad(loss, tensors, allow_unused=True)
    return outputs + [
        torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)
    ]


@every_cell
def test_compiled_equals_the_reference(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=4, B=3)
    masks = us.draw_masks(cell, xs, zoneout=0.3, recurrent=0.3, weights=0.3)
    how: dict[str, Any] = {"masks": masks, "reverse": True, "record": kind.equations.recordable}

    def run(backend: str) -> list[Tensor]:
        ys, last, lines = us.unfold(
            cell, xs, state, lengths=torch.tensor([4, 0, 2]), backend=backend, **how
        )
        return [ys, *last, *lines.values()]

    tensors = [xs, *state, *cell.parameters()]
    expected = gradients(lambda: run("reference"), tensors)
    same(gradients(compiled(lambda: run("auto")), tensors), expected)


def test_a_layer_is_one_graph_with_one_operator_a_layer() -> None:
    layer = us.Recurrent(us.cells.GRU, 3, 4, num_layers=2, dropout=us.Dropout(zoneout=0.2)).eval()
    xs = torch.randn(5, 7, 3)

    def run(xs: Tensor) -> Tensor:
        ys, state = layer(xs)
        return ys + state[1][0].h

    torch.testing.assert_close(compiled(run)(xs), run(xs))
    assert sum("unspool.unfold" in name for name in nodes(run, xs)) == 2


@pytest.mark.parametrize("training", [False, True])
def test_layers_like_torchs(training: bool) -> None:
    layer, xs = us.nn.LSTM(3, 4, num_layers=2, bidirectional=True), torch.randn(5, 2, 3)
    with torch.set_grad_enabled(training), torch._dynamo.config.patch(allow_rnn=True):
        found, expected = compiled(layer)(xs), layer(xs)
    torch.testing.assert_close(found, expected)


def test_other_shapes() -> None:
    cell = us.cells.LSTM(3, 4)
    run = compiled(lambda xs: us.unfold(cell, xs)[0])
    for T, B in ((5, 2), (6, 2), (7, 9), (1, 1)):
        xs = torch.randn(T, B, 3, requires_grad=True)
        (found,) = torch.autograd.grad(run(xs).square().sum(), xs)
        (expected,) = torch.autograd.grad(us.unfold(cell, xs)[0].square().sum(), xs)
        torch.testing.assert_close(found, expected)


def test_without_kernels_the_planned_loop_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, xs = us.cells.LSTM(3, 4), torch.randn(5, 2, 3, requires_grad=True)
    (expected,) = torch.autograd.grad(us.unfold(cell, xs)[0].square().sum(), xs)

    def refuse(*_: object) -> None:
        raise CannotPrint("nothing is printed here")

    monkeypatch.setattr("unspool.engine.op.build_both", refuse)
    monkeypatch.setattr(cpu, "forward", refuse)
    run = compiled(lambda: us.unfold(cell, xs)[0])
    with pytest.warns(UserWarning, match="without compiled kernels: nothing is printed here"):
        (found,) = torch.autograd.grad(run().square().sum(), xs)
    torch.testing.assert_close(found, expected)


def test_export_holds_the_equations() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = us.Recurrent(us.cells.GRU, 3, 4)

        def forward(self, xs: Tensor) -> Tensor:
            return self.layer(xs)[0]

    model, xs = Model(), torch.randn(5, 2, 3)
    program = torch.export.export(model, (xs,))
    torch.testing.assert_close(program.module()(xs), model(xs))
    assert "h' = " in str(program.graph)


@pytest.mark.parametrize("training", [False, True])
def test_torchs_own_check_of_operators(training: bool) -> None:
    cell = us.cells.GRU(3, 4).double()
    xs, state = inputs(cell, T=4, B=2)
    parameters: list[Tensor] = [*cell.parameters()]
    lengths = torch.tensor([4, 2])
    given = Given(
        one_line(cell.equations.text), BETWEEN.join(cell.sizes), list(cell.sizes.values()), xs,
        list(state), BETWEEN.join(cell.equations.parameters), parameters, lengths, "", [], "", [],
        "r", False, "auto",
    )  # fmt: skip
    # what is saved has gaps, whose bytes differ from run to run: torch's comparison of traced and
    # eager outputs is left to the tests above
    utilities = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(unfold_op, (*given, training), test_utils=utilities)


def test_autocast_leaves_the_recurrence_in_its_dtype() -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(5, 2, 3)

    def run(xs: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return us.unfold(cell, xs @ torch.eye(3))[0]

    assert compiled(run)(xs).dtype == run(xs).dtype == torch.float32


def test_outputs_that_are_recorded_too() -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(5, 2, 3)
    for backend in ("auto", "planned"):
        run = compiled(lambda b=backend: us.unfold(cell, xs, record="h", backend=b))
        ys, _, lines = run()
        torch.testing.assert_close(ys, lines["h"])
    with pytest.raises(Exception, match=r"outside torch\.compile"):
        compiled(lambda: us.unfold(cell, xs, backend="bf16")[0])()
