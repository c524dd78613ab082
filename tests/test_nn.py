"""`us.nn` against `torch.nn`: outputs, states, all gradients, weights, packed sequences."""

import copy
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

import unspool as us
from unspool.engine import say

KINDS: list[tuple[str, dict[str, Any]]] = [
    (kind, options)
    for kind in ("RNN", "LSTM", "GRU")
    for options in (
        {},
        {"num_layers": 2, "bidirectional": True},
        {"bias": False, "num_layers": 2},
        {"batch_first": True, "bidirectional": True},
    )
]
KINDS += [
    ("RNN", {"nonlinearity": "relu", "num_layers": 2}),
    ("LSTM", {"proj_size": 3}),
    ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True, "bias": False}),
]
every_kind = pytest.mark.parametrize(("kind", "options"), KINDS, ids=lambda v: str(v))


def pair(kind: str, options: dict[str, Any]) -> tuple[Any, Any]:
    """torch's layer and ours, from the same seed."""
    layers = []
    for package in (nn, us.nn):
        torch.manual_seed(1)
        layers.append(getattr(package, kind)(4, 5, **options).double())
    return layers[0], layers[1]


def states(layer: Any, B: int) -> Any:
    count = layer.num_layers * (1 + layer.bidirectional)
    h = torch.randn(count, B, layer.proj_size or 5, dtype=torch.float64)
    c = torch.randn(count, B, 5, dtype=torch.float64)
    return (h, c) if layer.mode == "LSTM" else h


def flat(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else [t for v in value for t in flat(v)]


def copies(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone().requires_grad_()
    return tuple(copies(v) for v in value)


def close(ours: Any, theirs: Any) -> None:
    for a, b in zip(flat(ours), flat(theirs), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@every_kind
def test_same_start_and_state_dict(kind: str, options: dict[str, Any]) -> None:
    theirs, ours = pair(kind, options)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for a, b in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        assert a.equal(b)
    assert repr(ours) == repr(theirs)
    theirs.load_state_dict(ours.state_dict())
    ours.load_state_dict(theirs.state_dict())
    close(ours.all_weights, theirs.all_weights)


@every_kind
@pytest.mark.parametrize("form", ["batch", "one", "with state", "one with state"])
def test_same_outputs_states_and_gradients(kind: str, options: dict[str, Any], form: str) -> None:
    theirs, ours = pair(kind, options)
    B = 4 if options.get("batch_first") else 3
    xs = (
        torch.randn(4, 3, 4, dtype=torch.float64)
        if "one" not in form
        else torch.randn(4, 4).double()
    )
    hx = states(theirs, 3 if B == 3 else 4) if "state" in form else None
    if hx is not None and "one" in form:
        hx = tuple(v[:, 0] for v in hx) if isinstance(hx, tuple) else hx[:, 0]
    results = []
    for layer in (theirs, ours):
        inputs = [copies(xs)] + ([copies(hx)] if hx is not None else [])
        ys, last = layer(*inputs)
        loss = (ys.sin() * torch.arange(ys.numel()).view(ys.shape)).sum()
        loss = loss + sum((v**3).sum() for v in flat(last))
        grads = torch.autograd.grad(loss, [*flat(inputs), *layer.parameters()])
        results.append((ys, last, grads))
    (ys, last, _), _ = results
    assert type(results[1][1]) is type(last)
    close(results[1], results[0])


@every_kind
@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("given", [False, True])
def test_packed_sequences(kind: str, options: dict[str, Any], sort: bool, given: bool) -> None:
    theirs, ours = pair(kind, options)
    lengths = [5, 3, 1] if sort else [3, 5, 1]
    xs = torch.randn(5, 3, 4, dtype=torch.float64)
    hx = states(theirs, 3) if given else None
    results = []
    for layer in (theirs, ours):
        inputs = copies(xs)
        packed = pack_padded_sequence(inputs, torch.tensor(lengths), enforce_sorted=sort)
        ys, last = layer(packed) if hx is None else layer(packed, hx)
        loss = ys.data.square().sum() + sum((v**3).sum() for v in flat(last))
        grads = torch.autograd.grad(loss, [inputs, *layer.parameters()])
        results.append((ys, last, grads))
    (a, *rest), (b, *expected) = results[1], results[0]
    assert a.batch_sizes.equal(b.batch_sizes)
    close(a.data, b.data)
    close(pad_packed_sequence(a)[0], pad_packed_sequence(b)[0])
    close(rest, expected)
    if not sort:
        assert a.sorted_indices.equal(b.sorted_indices)


def test_packed_from_a_list() -> None:
    theirs, ours = pair("GRU", {})
    packed = pack_sequence([torch.randn(n, 4).double() for n in (4, 2)])
    close(ours(packed)[0].data, theirs(packed)[0].data)


def test_gru_after_is_torchs_gru() -> None:
    """The native cell with torch's equations: two biases of r and z become one."""
    theirs: Any = nn.GRU(3, 4).double()
    cell: us.Cell = us.cells.GRUAfter(3, 4).double()
    parts: dict[str, torch.Tensor] = {}
    for letter, weight in (("W", "weight_ih_l0"), ("U", "weight_hh_l0")):
        for gate, rows in zip("rzn", getattr(theirs, weight).chunk(3), strict=True):
            parts[f"{letter}_{gate}"] = rows
    for gate, i, h in zip(
        "rzn", theirs.bias_ih_l0.chunk(3), theirs.bias_hh_l0.chunk(3), strict=True
    ):
        parts |= {"b_n": i, "d_n": h} if gate == "n" else {f"b_{gate}": i + h}
    cell.load_state_dict(parts)
    xs = torch.randn(6, 2, 3, dtype=torch.float64)
    close(us.unfold(cell, xs)[0], theirs(xs)[0])


def test_dropout_between_layers() -> None:
    ours = us.nn.LSTM(4, 5, 2, dropout=0.5)
    xs = torch.randn(6, 3, 4)
    assert not ours(xs)[0].equal(ours(xs)[0])
    ours.eval()
    assert ours(xs)[0].equal(ours(xs)[0])
    with pytest.warns(UserWarning, match="there is one layer: it does nothing here") as caught:
        us.nn.LSTM(4, 5, dropout=0.5)
    assert caught[0].filename == __file__


def test_positional_arguments_are_torchs() -> None:
    ours = us.nn.RNN(4, 5, 2, "relu", True, True, 0.0, True)
    theirs = nn.RNN(4, 5, 2, "relu", True, True, 0.0, True)
    assert repr(ours) == repr(theirs)
    assert ours.nonlinearity == "relu"
    assert ours.mode == theirs.mode == "RNN_RELU"
    wide: Any = us.nn.GRU(4, 5, device="cpu", dtype=torch.float64)
    assert wide.weight_ih_l0.dtype == torch.float64
    wide.flatten_parameters()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: us.nn.LSTM(4, 5, proj_size=5), r"smaller than hidden_size \(5\)"),
        (lambda: us.nn.GRU(4, 5, proj_size=2), "proj_size is for the LSTM; GRU has none"),
        (lambda: us.nn.RNN(4, 5, nonlinearity="gelu"), "'tanh' or 'relu', not 'gelu'"),
        (lambda: us.nn.LSTM(4, 0), "hidden_size is a positive whole number, not 0"),
        (lambda: us.nn.LSTM(4, 5, 2, dropout=2.0), "dropout is a probability"),
        (lambda: us.nn.LSTM(4, 5)(torch.randn(4)), "got 1 dimensions"),
        (lambda: us.nn.GRU(4, 5)(torch.randn(2, 3, 3, 4)), "several batch dimensions become one"),
        (lambda: us.nn.LSTM(4, 5)(torch.randn(2, 3, 4), torch.zeros(2, 3, 5)), "tuple of two"),
        (lambda: us.nn.GRU(4, 5)(torch.randn(2, 3, 4), [0]), r"a tensor, h_0; got \(int\)"),
        (lambda: us.nn.LSTM(4, 5)(torch.randn(2, 3, 5)), "input has 5 features a step"),
        (lambda: us.nn.LSTM(4, 5)(torch.randn(2, 3, 4), (torch.zeros(1, 3, 5),)), "h_0, c_0"),
        (
            lambda: us.nn.GRU(4, 5)(torch.randn(2, 3, 4), torch.zeros(2, 3, 5)),
            r"expected \(1, 3, 5\): ",
        ),
        (
            lambda: us.nn.GRU(4, 5)(torch.randn(2, 3, 4), torch.zeros(1, 2, 5)),
            r"expected \(1, 3, 5\): ",
        ),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with warnings.catch_warnings(), pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bias": "False"}, "bias is True or False, not 'False'"),
        ({"batch_first": 1}, "batch_first is True or False, not 1"),
        ({"bidirectional": None}, "bidirectional is True or False, not None"),
        ({"num_layers": "2"}, "num_layers is a whole number, not '2'"),
        ({"num_layers": 1.0}, r"num_layers is a whole number, not 1\.0"),
        ({"hidden_size": 5.0}, r"hidden_size is a whole number, not 5\.0"),
        ({"input_size": "4"}, "input_size is a whole number, not '4'"),
    ],
)
def test_types_are_as_strict_as_torchs(kind: str, options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        getattr(us.nn, kind)(**{"input_size": 4, "hidden_size": 5} | options)
    if kind == "LSTM":
        with pytest.raises(TypeError, match="proj_size is a whole number, not '2'"):
            us.nn.LSTM(4, 5, proj_size="2")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"dropout is a probability between 0 and 1, not '0\.1'"):
        getattr(us.nn, kind)(4, 5, 2, dropout="0.1")


@pytest.mark.parametrize(
    "call",
    [
        lambda layer: layer(torch.randn(3, 2, 6)),
        lambda layer: layer(torch.randn(3, 2, 4), torch.zeros(1, 3, 5)),
        lambda layer: layer(torch.randn(3, 2, 4), torch.zeros(2, 2, 5)),
        lambda layer: layer(torch.randn(3, 2, 4), torch.zeros(1, 2, 6)),
        lambda layer: layer(torch.randn(3, 2, 4), torch.zeros(2, 5)),
        lambda layer: layer(torch.randn(4)),
    ],
)
def test_errors_are_caught_where_torchs_are(call: Any) -> None:
    """RuntimeError or ValueError: whichever torch raises, and ours always ValueError."""
    errors: list[Exception] = []
    for layer in (nn.GRU(4, 5), us.nn.GRU(4, 5)):
        with pytest.raises((RuntimeError, ValueError)) as caught:
            call(layer)
        errors.append(caught.value)
    theirs, ours = errors
    assert isinstance(ours, type(theirs))
    assert isinstance(ours, ValueError)


def test_no_steps_at_all_give_the_state_back() -> None:
    """Where torch raises an error."""
    h = torch.randn(1, 2, 5)
    ys, last = us.nn.GRU(4, 5)(torch.randn(0, 2, 4), h)
    assert ys.shape == (0, 2, 5)
    assert last.equal(h)
    with pytest.raises(RuntimeError, match="larger than 0"):
        nn.GRU(4, 5)(torch.randn(0, 2, 4), h)


# --- torch's own classes ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"])
def test_whoever_asks_for_torchs_class_finds_ours(kind: str) -> None:
    ours = getattr(us.nn, kind)(4, 5)
    assert isinstance(ours, getattr(nn, kind))
    assert isinstance(ours, nn.RNNCellBase if "Cell" in kind else nn.RNNBase)
    assert type(ours) is not getattr(nn, kind)


def test_initialisers_find_the_layers() -> None:
    model = nn.Sequential(us.nn.LSTM(4, 5), nn.Linear(5, 2))

    def start(module: nn.Module) -> None:
        if isinstance(module, nn.LSTM):
            for name, weight in module.named_parameters():
                if "weight_hh" in name:
                    nn.init.orthogonal_(weight)

    weight: Any = model.apply(start)[0].weight_hh_l0
    torch.testing.assert_close(weight.T @ weight, torch.eye(5))


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
def test_what_goes_by_the_exact_class_passes_ours_by() -> None:
    """Dynamic quantisation looks for `type(module)`: it leaves our layers as they are."""
    model = nn.Sequential(us.nn.LSTM(4, 5))
    quantised = torch.ao.quantization.quantize_dynamic(model, {nn.LSTM}, dtype=torch.qint8)
    assert type(quantised[0]) is us.nn.LSTM


@every_kind
def test_whole_modules_are_copied_and_saved(kind: str, options: dict[str, Any]) -> None:
    _, layer = pair(kind, options)
    xs = torch.randn(4, 4, 4, dtype=torch.float64)
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    for other in (copy.deepcopy(layer), torch.load(file, weights_only=False)):
        close(other(xs), layer(xs))
        assert not {id(p) for p in other.parameters()} & {id(p) for p in layer.parameters()}


def test_weights_given_from_outside() -> None:
    """torch.func.functional_call, parametrizations, and the list that torch's layer reads."""
    layer, xs = us.nn.LSTM(4, 5), torch.randn(3, 2, 4)
    zeros = {name: torch.zeros_like(weight) for name, weight in layer.named_parameters()}
    ys, _ = torch.func.functional_call(layer, zeros, (xs,))
    assert not ys.any()
    theirs = nn.LSTM(4, 5)
    theirs.load_state_dict(layer.state_dict())
    for one in (layer, theirs):
        nn.utils.parametrizations.weight_norm(one, "weight_hh_l0")
        with torch.no_grad():
            one.parametrizations.weight_hh_l0.original0.mul_(2)  # type: ignore[union-attr]
    torch.testing.assert_close(layer(xs)[0], theirs(xs)[0])
    layer = us.nn.LSTM(4, 5)
    layer._flat_weights = [torch.zeros_like(weight) for weight in layer.parameters()]
    assert not layer(xs)[0].any()


# --- cells -----------------------------------------------------------------------------------

CELLS: list[tuple[str, dict[str, Any]]] = [
    ("RNNCell", {}),
    ("RNNCell", {"nonlinearity": "relu", "bias": False}),
    ("LSTMCell", {}),
    ("LSTMCell", {"bias": False}),
    ("GRUCell", {}),
    ("GRUCell", {"bias": False}),
]


@pytest.mark.parametrize(("kind", "options"), CELLS, ids=lambda v: str(v))
@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("given", [True, False])
def test_cells(kind: str, options: dict[str, Any], batched: bool, given: bool) -> None:
    theirs, ours = pair(kind, options)
    assert repr(ours) == repr(theirs)
    close(list(ours.state_dict().values()), list(theirs.state_dict().values()))
    rows = (3,) if batched else ()
    x = torch.randn(*rows, 4, dtype=torch.float64)
    state = [torch.randn(*rows, 5, dtype=torch.float64) for _ in range(1 + (kind == "LSTMCell"))]
    results = []
    for cell in (theirs, ours):
        inputs = [copies(x)] + ([copies(tuple(state))] if given else [])
        hx = () if not given else (inputs[1],) if len(state) > 1 else inputs[1]
        last = cell(inputs[0], *hx)
        loss = torch.stack(flat(last)).sin().sum()
        grads = torch.autograd.grad(loss, [*flat(inputs), *cell.parameters()], allow_unused=True)
        results.append((last, [g for g in grads if g is not None]))
        assert isinstance(last, tuple) == (kind == "LSTMCell")
    close(results[1], results[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: us.nn.GRUCell(4, 5)(torch.randn(2, 3, 4)), "got 3 dimensions"),
        (lambda: us.nn.GRUCell(4, 5)(torch.randn(2, 3)), "xs has 3 features a step"),
        (lambda: us.nn.GRUCell(4, 5)(torch.randn(2, 4), torch.zeros(3, 5)), "state h has shape"),
        (lambda: us.nn.GRUCell(4, 5)(torch.randn(2, 4), torch.zeros(5)), r"h, of shape \(B, H\)"),
        (lambda: us.nn.LSTMCell(4, 5)(torch.randn(4), torch.zeros(5)), r"\(h, c\), of shape \(H,"),
    ],
)
def test_what_cells_refuse(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert isinstance(caught.value, RuntimeError)


def test_cells_of_no_size() -> None:
    assert us.nn.GRUCell(4, 0)(torch.randn(3, 4)).shape == (3, 0)
    with pytest.raises(ValueError, match="hidden_size is a whole number, 0 or more, not -1"):
        us.nn.GRUCell(4, -1)


def test_whole_numbers_of_numpy() -> None:
    two: Any = np.int64(2)
    half: Any = np.float32(0.5)
    layer = us.nn.LSTM(2 * two, 2 * two + 1, two, dropout=half, proj_size=two)
    assert layer(torch.randn(3, 2, 4))[0].shape == (3, 2, 2)
    assert type(layer.num_layers) is int
    assert us.nn.GRUCell(2 * two, two)(torch.randn(3, 4)).shape == (3, 2)


def test_weights_of_another_shape_are_refused() -> None:
    """Kernels would read past their end."""
    layer = us.nn.GRU(4, 64)
    layer.bias_ih_l0 = nn.Parameter(torch.zeros(3))
    with pytest.raises(ValueError, match=r"parameter b_ir has shape \(1,\); .* ask for \(64,\)"):
        layer(torch.randn(3, 2, 4))
    cell = us.cells.GRU(4, 64)
    cell.U_r = nn.Parameter(torch.zeros(2, 64))
    with pytest.raises(ValueError, match=r"parameter U_r has shape \(2, 64\)"):
        us.unfold(cell, torch.randn(3, 2, 4))


def test_arguments_of_cells() -> None:
    with pytest.raises(TypeError, match="bias is True or False, not 'no'"):
        us.nn.GRUCell(4, 5, bias="no")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'tanh' or 'relu', not 'gelu'"):
        us.nn.RNNCell(4, 5, nonlinearity="gelu")
    wide = us.nn.LSTMCell(4, 5, True, "cpu", torch.float64)
    assert wide.weight_ih.dtype == torch.float64


class Doubled(torch.Tensor):
    """A tensor of another kind, whose operators count."""

    calls: int = 0

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Doubled.calls += "lstm" in str(func)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_tensors_of_other_kinds_meet_torchs_operator() -> None:
    """What subclasses of tensors do with torch's layer they do with ours."""
    theirs, ours = pair("LSTM", {})
    xs = torch.randn(3, 2, 4).double().as_subclass(Doubled)
    close(ours(xs)[0], theirs(xs)[0])
    assert Doubled.calls == 2


def test_gradients_for_each_sample() -> None:
    call_for_per_sample_grads = pytest.importorskip(
        "torch.nn.utils._per_sample_grad"
    ).call_for_per_sample_grads
    theirs, ours = pair("GRU", {"batch_first": True})
    xs = torch.randn(3, 5, 4, dtype=torch.float64)
    for layer in (theirs, ours):
        call_for_per_sample_grads(layer, batch_size=3)(xs)[0].sum().backward()
    close([p.grad_sample for p in ours.parameters()], [p.grad_sample for p in theirs.parameters()])


# --- what differs: every line of that table has its test ---------------------------------------

DIFFERS = {
    "numbers": "test_same_outputs_states_and_gradients",
    "`type(m) is nn.LSTM`": "test_what_goes_by_the_exact_class_passes_ours_by",
    "errors": "test_errors_are_caught_where_torchs_are",
    "no steps at all (T = 0)": "test_no_steps_at_all_give_the_state_back",
    "`flatten_parameters()`": "test_positional_arguments_are_torchs",
    "autocast on a CPU": "test_autocast_on_a_cpu_leaves_the_dtype",
    "float16, bfloat16 on a CPU": "test_slow_ways_warn",
    "`torch.func`, forward mode": "test_slow_ways_warn",
    "gradients of gradients, or many at once": "test_slow_ways_warn",
    "subclasses of `Tensor`": "test_tensors_of_other_kinds_meet_torchs_operator",
    "`torch.compile`": "test_graphs_break_at_torchs_classes",
    "`torch.export`, `torch.jit.trace`": "test_exported_at_other_lengths",
    "`torch.jit.script`": "test_scripts_get_torchs_layer_with_the_same_weights",
    "`torch.onnx.export`": "test_onnx_gets_torchs_operator_or_an_error",
    "`torch.fx.symbolic_trace`": "test_symbolic_traces_take_layers_as_leaves",
}


def test_every_difference_has_its_test() -> None:
    root = Path(__file__).parents[1]
    page = (root / "docs/coming-from-torch.md").read_text()
    table = page.partition("## What differs")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if "|" in line]
    assert rows[2:] == list(DIFFERS)
    files = [root / "tests" / name for name in ("test_nn.py", "engine/test_graphs.py")]
    tests = "".join(file.read_text() for file in files)
    assert all(f"def {test}(" in tests for test in DIFFERS.values())


def test_autocast_on_a_cpu_leaves_the_dtype() -> None:
    xs = torch.randn(3, 2, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert us.nn.LSTM(4, 5)(xs)[0].dtype == torch.float32
        assert nn.LSTM(4, 5)(xs)[0].dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (lambda layer, xs: layer.bfloat16()(xs.bfloat16()), "not in torch.bfloat16"),
        (lambda layer, xs: torch.func.vmap(lambda x: layer(x)[0])(xs[None]), "under torch.func"),
        (
            lambda layer, xs: torch.autograd.grad(layer(xs)[0].sum(), xs, create_graph=True),
            "no gradients of gradients",
        ),
        (
            lambda layer, xs: torch.autograd.functional.jacobian(
                lambda xs: layer(xs)[0], xs, vectorize=True
            ),
            "gradients of many outputs",
        ),
    ],
)
def test_slow_ways_warn(run: Any, reason: str) -> None:
    say._said.clear()
    with pytest.warns(us.SlowWarning, match=reason):
        run(us.nn.GRU(4, 5), torch.randn(3, 2, 4, requires_grad=True))
