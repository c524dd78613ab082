"""What makers of graphs give: right at every length, or refused."""

import io
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch.autograd.functional import hessian, jacobian
from torch.export import Dim
from torch.nn.utils.rnn import pack_padded_sequence

import unspool as us
from unspool.engine import planning
from unspool.engine.op import BETWEEN, equations_of, listed, one_line

pytestmark = [
    pytest.mark.usefixtures("quick_compiler"),
    pytest.mark.filterwarnings("ignore:.torch.jit.*deprecated:DeprecationWarning"),
]

LAYERS = {
    "nn.LSTM": lambda: us.nn.LSTM(3, 4, num_layers=2, bidirectional=True),
    "nn.GRU": lambda: us.nn.GRU(3, 4, batch_first=True),
    "nn.RNN": lambda: us.nn.RNN(3, 4, nonlinearity="relu", bias=False),
    "Recurrent": lambda: us.Recurrent(us.cells.LayerNormLSTM, 3, 4, num_layers=2, skip="residual"),
}
every_layer = pytest.mark.parametrize("kind", LAYERS)
SHAPES = ((11, 2), (5, 9), (2, 13), (1, 1))


class Model(nn.Module):
    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer, self.out = layer, nn.Linear(getattr(layer, "output_size", 4), 2)
        if isinstance(layer, nn.RNNBase) and layer.bidirectional:
            self.out = nn.Linear(8, 2)

    def forward(self, xs: Tensor) -> Tensor:
        return self.out(self.layer(xs)[0])


def gradients(model: Any, parameters: Sequence[Tensor], xs: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(model(xs).square().sum(), [xs, *parameters]))


def same(graph: Any, model: nn.Module, shapes: Any = SHAPES, trains: bool = True) -> None:
    """At other lengths and numbers of rows, gradients too."""
    for T, B in shapes:
        xs = torch.randn(T, B, 3, requires_grad=True)
        torch.testing.assert_close(graph(xs), model(xs))
        if trains:
            parameters = list(model.parameters())
            found, expected = (gradients(one, parameters, xs) for one in (graph, model))
            torch.testing.assert_close(found, expected)


# --- torch.jit -------------------------------------------------------------------------------


@every_layer
@pytest.mark.parametrize("training", [True, False])
def test_traced_at_other_lengths(kind: str, training: bool) -> None:
    model = Model(LAYERS[kind]())
    with torch.set_grad_enabled(training):
        traced: Any = torch.jit.trace(model, (torch.randn(7, 6, 3),))
    same(traced, model)
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    same(torch.jit.load(file), model, trains=False)


def test_traced_with_a_state() -> None:
    layer = us.nn.LSTM(3, 4)

    def states(B: int) -> tuple[Tensor, Tensor]:
        return torch.randn(1, B, 4), torch.randn(1, B, 4)

    traced: Any = torch.jit.trace(layer, (torch.randn(7, 2, 3), states(2)))
    for T, B in SHAPES:
        xs, start = torch.randn(T, B, 3), states(B)
        torch.testing.assert_close(traced(xs, start), layer(xs, start))
    with pytest.raises(RuntimeError, match=r"state h has shape \(5, 4\)"):
        traced(torch.randn(3, 2, 3), states(5))


def test_traced_without_rows_and_in_another_dtype() -> None:
    """What runs then keeps other things for the backward pass than what ran in the trace."""
    layer = us.nn.GRU(3, 4)
    traced: Any = torch.jit.trace(layer, (torch.randn(7, 2, 3),))
    assert traced(torch.randn(4, 0, 3))[0].shape == (4, 0, 4)
    xs = torch.randn(5, 2, 3).bfloat16()
    with pytest.warns(us.SlowWarning, match=r"not in torch\.bfloat16"):
        found = traced.bfloat16()(xs)[0]
    torch.testing.assert_close(found, layer.bfloat16()(xs)[0])
    found.float().sum().backward()


def test_traced_packed_sequences() -> None:
    layer = us.nn.LSTM(3, 4)

    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, xs: Tensor, lengths: Tensor) -> Tensor:
            return self.layer(pack_padded_sequence(xs, lengths))[1][0]

    model = Packed()
    traced: Any = torch.jit.trace(model, (torch.randn(7, 2, 3), torch.tensor([7, 4])))
    given = torch.randn(9, 3, 3), torch.tensor([9, 5, 1])
    torch.testing.assert_close(traced(*given), model(*given))


class Counter:
    state_sizes, output_size = {"n": 3}, 3

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        return state[0] + x, (state[0] + x,)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda cell, xs: us.unfold(cell, xs, backend="reference")[0], "every step of"),
        (lambda cell, xs: us.unfold(Counter(), xs)[0], "or of a Python cell"),
        (lambda cell, xs: us.unfold(cell, xs, recompute=2)[0], "graph's own planner"),
    ],
)
def test_what_is_not_traced(run: Any, message: str) -> None:
    cell = us.cells.GRU(3, 4)
    with pytest.raises((RuntimeError, ValueError), match=message):
        torch.jit.trace(lambda xs: run(cell, xs), (torch.randn(5, 2, 3),))
    stepper = us.Stepper(cell)
    with pytest.raises(RuntimeError, match="trace unfold"):
        torch.jit.trace(lambda x: stepper(x)[0], (torch.randn(2, 3),))


def test_scripts_get_torchs_layer_with_the_same_weights() -> None:
    layer = us.nn.LSTM(3, 4, 2, dropout=0.5, bidirectional=True, batch_first=True).eval()
    expected = layer(torch.ones(5, 2, 3))
    model = nn.Sequential(layer)
    with pytest.warns(UserWarning, match="puts torch.nn's layer, with the same weights"):
        scripted = torch.jit.script(model)
    torch.testing.assert_close(scripted(torch.ones(5, 2, 3)), expected)
    assert {id(p) for p in model.parameters()} == {id(p) for p in layer.parameters()}
    with pytest.warns(UserWarning, match="puts torch.nn's layer"):
        rnn = torch.jit.script(us.nn.RNN(3, 4, nonlinearity="relu").train())
    assert rnn.training
    for cell in (us.nn.RNNCell(3, 4, nonlinearity="relu"), us.nn.LSTMCell(3, 4, bias=False)):
        expected = cell(torch.ones(2, 3))
        with pytest.warns(UserWarning, match="puts torch.nn's layer"):
            scripted = torch.jit.script(cell)
        torch.testing.assert_close(scripted(torch.ones(2, 3)), expected)
        assert scripted.weight_hh is cell.weight_hh


@pytest.mark.parametrize("make", [lambda: us.nn.GRU(3, 4), lambda: us.nn.GRUCell(3, 4)])
def test_hand_written_script_modules_say_what_to_use(make: Any) -> None:
    class Scripted(torch.jit.ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = make()

        @torch.jit.script_method  # type: ignore[attr-defined]
        def forward(self, xs: Tensor):  # type: ignore[no-untyped-def]
            return self.layer(xs)

    with pytest.raises(torch.jit.Error, match=r"cannot run equations: use torch\.nn's"):
        Scripted()(torch.randn(2, 3))


def test_scripts_of_subclasses_are_refused() -> None:
    class Twice(us.nn.LSTM):
        def forward(self, input: Any, hx: Any = None) -> Any:
            ys, state = super().forward(input, hx)
            return 2 * ys, state

    xs = torch.randn(5, 2, 3)
    layer = Twice(3, 4)
    torch.testing.assert_close(layer(xs)[0] / 2, us.nn.LSTM.forward(layer, xs)[0])
    with pytest.raises(RuntimeError, match="cannot read the equations of Twice"):
        torch.jit.script(layer)


@pytest.mark.parametrize("make", [LAYERS["Recurrent"], lambda: us.cells.GRU(3, 4)])
def test_scripts_of_equations_are_refused(make: Any) -> None:
    with pytest.raises(RuntimeError, match=r"torch.jit.script cannot read .*torch.jit.trace"):
        torch.jit.script(nn.Sequential(make()))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")  # torch's own layer asks for sizes
def test_onnx_gets_torchs_operator_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.onnx, "is_in_onnx_export", lambda: True)
    traced: Any = torch.jit.trace(us.nn.LSTM(3, 4), (torch.randn(5, 2, 3),))
    assert "aten::lstm" in str(traced.inlined_graph)
    with pytest.raises(RuntimeError, match="knows no operator for equations"):
        torch.jit.trace(LAYERS["Recurrent"](), (torch.randn(5, 2, 3),))


# --- torch.fx --------------------------------------------------------------------------------


@every_layer
def test_symbolic_traces_take_layers_as_leaves(kind: str) -> None:
    model = Model(LAYERS[kind]())
    traced = torch.fx.symbolic_trace(model)
    assert [n.target for n in traced.graph.nodes if n.op == "call_module"] == ["layer", "out"]
    same(traced, model)


def test_subclasses_with_a_forward_of_their_own_are_no_leaves() -> None:
    class Twice(us.nn.LSTM):
        def forward(self, input: Any, hx: Any = None) -> Any:
            ys, state = super().forward(input, hx)
            return 2 * ys, state

    class Same(us.Recurrent):
        pass

    with pytest.raises(RuntimeError, match="cannot walk through the recurrence in Twice"):
        torch.fx.symbolic_trace(nn.Sequential(Twice(3, 4)))
    same = Model(Same(us.cells.GRU, 3, 4))
    xs = torch.randn(5, 2, 3)
    torch.testing.assert_close(torch.fx.symbolic_trace(same)(xs), same(xs))


def test_a_layer_alone_is_no_graph() -> None:
    with pytest.raises(RuntimeError, match="trace a module that holds it"):
        torch.fx.symbolic_trace(us.nn.LSTM(3, 4))


def test_cells_are_leaves_too() -> None:
    cell = nn.ModuleList([us.nn.GRUCell(3, 4)])

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell[0]

        def forward(self, x: Tensor, h: Tensor) -> Tensor:
            return self.cell(x, hx=h)

    x, h = torch.randn(2, 3), torch.randn(2, 4)
    traced = torch.fx.symbolic_trace(Step())
    torch.testing.assert_close(traced(x, h), cell[0](x, h))


# --- torch.compile ---------------------------------------------------------------------------


@every_layer
@pytest.mark.parametrize("training", [True, False])
def test_three_compilations_serve_every_shape(kind: str, training: bool) -> None:
    torch._dynamo.reset()
    model, counter = Model(LAYERS[kind]()), CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(model, backend=counter, fullgraph=True)
    shapes = ((5, 7), (6, 7), (7, 9), (8, 12), (11, 3), (3, 2), (9, 6), (13, 4), (2, 5), (4, 8))
    with torch.set_grad_enabled(training), torch._dynamo.config.patch(allow_rnn=True):
        same(compiled, model, shapes, trains=training)
    assert counter.frame_count <= 3  # one shape, any length, any length and number of rows


def test_graphs_break_at_torchs_classes() -> None:
    """As they do at torch's own: what is around them is compiled, they run as they are."""
    torch._dynamo.reset()
    model, counter = (
        nn.Sequential(nn.Linear(3, 3), us.nn.LSTM(3, 4)),
        CompileCounterWithBackend("eager"),
    )
    compiled = torch.compile(model, backend=counter)
    for T, B in SHAPES:
        xs = torch.randn(T, B, 3)
        torch.testing.assert_close(compiled(xs), model(xs))
    assert not any("unspool" in str(graph.graph) for graph in counter.graphs)


def test_compiled_steps_plan_once(monkeypatch: pytest.MonkeyPatch) -> None:
    torch._dynamo.reset()
    cell = us.cell("h' = tanh(W @ x + U @ h + b) * sigmoid(V @ h)")(3, 4)
    run = torch.compile(lambda xs: us.unfold(cell, xs)[0], backend="aot_eager", fullgraph=True)
    counts = []
    for T in (5, 6, 7, 8, 9):
        run(torch.randn(T, 8, 3)).sum().backward()
        counts.append((equations_of.cache_info().misses, planning.make_plan.cache_info().misses))
    assert counts[1:] == counts[:1] * 4


# --- torch.export ----------------------------------------------------------------------------


@every_layer
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("strict", [True, False])
def test_exported_at_other_lengths(kind: str, training: bool, strict: bool) -> None:
    model = Model(LAYERS[kind]())
    free = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},)  # an error where a size does not stay a symbol
    with torch.set_grad_enabled(training):
        program = torch.export.export(
            model, (torch.randn(7, 9, 3),), dynamic_shapes=free, strict=strict
        )
    module = program.module()
    for T, B in SHAPES[:3]:
        xs = torch.randn(T, B, 3, requires_grad=True)
        torch.testing.assert_close(module(xs), model(xs))
        (found,) = torch.autograd.grad(module(xs).sin().sum(), xs)
        (expected,) = torch.autograd.grad(model(xs).sin().sum(), xs)
        torch.testing.assert_close(found, expected)


def test_a_text_goes_as_one_line() -> None:
    text = """
    # the state; forgets
    f  = sigmoid(W @ x)  # a; b
    h' = f * h
    """
    line = one_line(text)
    assert "\n" not in line
    assert equations_of(line).lines == us.cell(text).equations.lines
    assert listed("") == []
    assert listed(f"o * tanh(c'){BETWEEN}h") == ["o * tanh(c')", "h"]


# --- vectorised gradients --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
@pytest.mark.parametrize("backend", ["auto", "planned"])
def test_jacobians_of_all_outputs_at_once(backend: str) -> None:
    cell, xs = us.cells.LSTM(3, 4).double(), torch.randn(4, 2, 3, dtype=torch.double)

    def run(xs: Tensor) -> Tensor:
        return us.unfold(cell, xs, lengths=torch.tensor([4, 2]), backend=backend)[0]

    def loss(xs: Tensor) -> Tensor:
        return run(xs).square().sum()

    expected = jacobian(run, xs)
    torch.testing.assert_close(jacobian(run, xs, vectorize=True), expected)
    torch.testing.assert_close(jacobian(run, xs, vectorize=True, create_graph=True), expected)
    torch.testing.assert_close(hessian(loss, xs, vectorize=True), hessian(loss, xs))


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
@every_layer
def test_many_gradients_at_once(kind: str) -> None:
    model, xs = Model(LAYERS[kind]()).double(), torch.randn(5, 2, 3, dtype=torch.double)
    ys, parameters = model(xs), list(model.parameters())
    many = torch.randn(3, *ys.shape, dtype=torch.double)
    found = torch.autograd.grad(ys, parameters, many, retain_graph=True, is_grads_batched=True)
    for k, one in enumerate(many):
        expected = torch.autograd.grad(ys, parameters, one, retain_graph=True)
        torch.testing.assert_close(tuple(gradient[k] for gradient in found), expected)
