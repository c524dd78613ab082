"""Kernels for a GPU, interpreted here: every program a process, meeting in shared memory."""

import gc
import itertools
import re
import warnings
import weakref
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

import unspool as us
from tests.conformance.table import IDS, TABLE, build, inputs
from tests.engine.test_backends import DRAWN, check_random_cell, results, same
from tests.engine.test_op import compiled, gradients
from unspool.engine import cpu, cuda, launch, say, tiles, triton_source, trust
from unspool.engine.c_build import CannotBuild
from unspool.engine.call import prepare
from unspool.engine.triton_spec import Tiles

side_by_side = pytest.importorskip("tests.engine.side_by_side", exc_type=ModuleNotFoundError)
programs = side_by_side.programs
every_cell = pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)

# what a cell whose kernel divides or takes a logarithm does in places that nobody reads
pytestmark = [
    pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]


def cut(count: int, rows: int = 16, chunk: int = 16, split: int = 1, **how: Any) -> Tiles:
    """Every vector of up to 9 units among `count` programs, whatever a GPU would like."""
    units = tuple((n, tiles.power_of_two(-(-n // count))) for n in range(1, 10))
    return Tiles(rows, count, units, chunk, split, 4, **how)


WAYS = {
    "alone": (),  # as the rules have it for small cells: one program, nothing is exchanged
    "one": (cut(1),),
    "two, in groups of warps": (cut(2, rows=4, chunk=4, split=2),),
    "three, dawdling, weights read again": (cut(3, delay=30, held=0),),
}


@pytest.mark.parametrize("way", WAYS)
@every_cell
def test_equals_the_reference(way: str, kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=4, B=5)
    how: dict[str, Any] = {"reverse": way == "two, in groups of warps"}
    if way != "one":
        how["masks"] = us.draw_masks(cell, xs, zoneout=0.3, recurrent=0.3, weights=0.3)
        how["lengths"] = torch.tensor([4, 0, 3, 2, 1])
        how["record"] = kind.equations.recordable
        with torch.no_grad():
            xs[3:, 2] = float("nan")
    weights: list[Tensor] = []
    expected = results(cell, xs, state, weights, backend="reference", **how)
    with programs(*WAYS[way]):
        same(results(cell, xs, state, weights, backend="cuda", **how), expected)
        with torch.no_grad():  # nothing is saved there
            ys, last, *_ = us.unfold(cell, xs, state, backend="cuda", **how)
    same([ys, *last], expected[: 1 + len(last)])


@pytest.mark.parametrize("split", [2, 4, 8])
@pytest.mark.parametrize("kind", [us.cells.Elman, us.cells.GRU, us.cells.LSTM], ids=str)
def test_shares_of_warps_add_up(kind: us.CellType, split: int) -> None:
    """One sum, two and one, four together; among two, four and eight groups of warps."""
    cell = kind(3, 9).double()
    xs = torch.randn(3, 4, 3, dtype=torch.float64, requires_grad=True)
    state = [torch.randn(4, 9, dtype=torch.float64) for _ in cell.state_sizes]
    weights: list[Tensor] = []
    expected = results(cell, xs, state, weights, backend="reference")
    with programs(cut(2, rows=4, chunk=8, split=split)):
        same(results(cell, xs, state, weights, backend="cuda"), expected)


@settings(max_examples=settings().max_examples // 8)
@given(*DRAWN)
def test_random_cells(text: str, seed: int, reverse: bool, lengths: Any) -> None:
    with programs(*((), (cut(2),))[seed % 2]):
        check_random_cell("cuda", text, seed, reverse, list(lengths))


@pytest.mark.parametrize("kind", [us.cells.LSTM, us.cells.GRU, us.cells.LayerNormLSTM])
@pytest.mark.parametrize("zoneout", [0.0, 0.3])
def test_both_directions_share_a_launch(kind: us.CellType, zoneout: float) -> None:
    dropout = us.Dropout(zoneout=zoneout)
    layer = us.Recurrent(kind, 3, 4, bidirectional=True, dropout=dropout).double().eval()
    xs = torch.randn(3, 5, 3, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([3, 0, 2, 3, 1])
    tensors = [xs, *layer.parameters()]

    def run(backend: str) -> list[Tensor]:
        ys, ((first, second),) = layer(xs, lengths=lengths, backend=backend)
        return [ys, *first, *second]

    expected = gradients(lambda: run("reference"), tensors)
    sides: list[int] = []
    with programs(cut(2)), pytest.MonkeyPatch.context() as patch:
        start = launch.Kernel.launch
        patch.setattr(
            launch.Kernel, "launch", lambda self, s: (sides.append(len(s)), start(self, s))[1]
        )
        same(gradients(lambda: run("cuda"), tensors), expected)
    assert sides == [2, 2], "one launch forwards, one backwards"


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
def test_double_backward_of_both_directions_is_the_references() -> None:
    layer = us.Recurrent(us.cells.GRU, 2, 3, bidirectional=True).double()
    xs = torch.randn(2, 2, 2, dtype=torch.float64, requires_grad=True)

    def twice(backend: str) -> Tensor:
        ys, _ = layer(xs, backend=backend)
        (once,) = torch.autograd.grad(ys.sin().sum(), xs, create_graph=True)
        return torch.autograd.grad(once.cos().sum(), xs)[0]

    with programs():
        same([twice("cuda")], [twice("reference")])


def test_torch_layers_in_both_directions() -> None:
    layer = us.nn.GRU(3, 4, num_layers=2, bidirectional=True)
    xs = torch.randn(3, 2, 3)
    expected = layer(xs)
    with programs():
        found = layer(xs)
    same(list(found), list(expected), 1e-5)


def test_rows_that_do_not_fit_at_once_follow_one_another() -> None:
    cell = us.cells.LSTM(3, 4).double()
    xs = torch.randn(3, 9, 3, dtype=torch.float64)
    expected, _ = us.unfold(cell, xs, backend="reference")
    grids: list[int] = []
    with programs(cut(2, rows=2), at_once=5), pytest.MonkeyPatch.context() as patch:
        call = side_by_side._Processes.__call__
        patch.setattr(
            side_by_side._Processes,
            "__call__",
            lambda self, *a, **k: (grids.append(self.grid[0]), call(self, *a, **k))[1],
        )
        ys, _ = us.unfold(cell, xs, backend="cuda")
    assert grids == [4, 4, 2]
    same([ys], [expected])


def test_programs_that_cannot_be_there_at_once_are_refused() -> None:
    cell, xs = us.cells.LSTM(3, 4), torch.randn(3, 2, 3)
    with programs(cut(3), at_once=2), pytest.raises(ValueError, match="3 programs do not fit"):
        us.unfold(cell, xs, backend="cuda")


def test_a_program_that_waits_in_vain_gives_up() -> None:
    """Half of the programs are not there: the others end, and the call says so."""
    cell, xs = us.cells.Elman(3, 4), torch.randn(3, 2, 3)
    with programs(cut(2)), pytest.MonkeyPatch.context() as patch:
        patch.setattr(triton_source, "PATIENCE", 50)
        call = side_by_side._Processes.__call__

        def halved(self: Any, *args: Any, **how: Any) -> None:
            self.grid = (1,)
            call(self, *args, **how)

        patch.setattr(side_by_side._Processes, "__call__", halved)
        with pytest.raises(ValueError, match="waited for one another in vain"):
            us.unfold(cell, xs, backend="cuda")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_half_precision_rounds_no_more_than_it_must(dtype: torch.dtype) -> None:
    """Against float64: what is exchanged and kept is rounded, states and sums are not."""
    cell = us.cells.LSTM(5, 8).to(dtype)
    xs = torch.randn(6, 3, 5).to(dtype)
    truth = us.cells.LSTM(5, 8).double()
    truth.load_state_dict(cell.state_dict())
    tensors = [*cell.parameters()], [*truth.parameters()]
    ys, _ = us.unfold(truth, xs.double(), backend="reference")
    expected = [ys, *torch.autograd.grad(ys.sin().sum(), tensors[1])]
    with programs(cut(2)):
        ours, _ = us.unfold(cell, xs, backend="cuda")
        found = [ours, *torch.autograd.grad(ours.sin().sum(), tensors[0])]
    allowed = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype]
    for a, b in zip(found, expected, strict=True):
        assert (a.double() - b).norm() <= allowed * b.norm()


@pytest.mark.parametrize("pad", [0, 40])
def test_an_address_outside_of_what_was_given_is_noticed(pad: int) -> None:
    """The guard that all tests here stand behind: a row more than there are."""
    cell, xs = us.cells.Elman(3, 4), torch.randn(3, 2, 3)
    with programs(cut(1)), pytest.MonkeyPatch.context() as patch:
        start = launch.Kernel.start

        def longer(self: Any, arguments: list[Any], *rest: Any) -> None:
            arguments[0] += pad
            start(self, arguments, *rest)

        patch.setattr(launch.Kernel, "start", longer)
        if pad:
            with pytest.raises(ValueError, match="an address"):
                us.unfold(cell, xs, backend="cuda")
        else:
            us.unfold(cell, xs, backend="cuda")


def test_not_a_number_is_handed_on() -> None:
    """NaN is what marks a place as not yet written; a cell's own NaN is another one."""
    cell = us.cells.Elman(3, 4).double()
    xs = torch.randn(3, 2, 3, dtype=torch.float64)
    xs[1, 0, 0] = float("nan")
    with programs(cut(2)):
        ys, _ = us.unfold(cell, xs, backend="cuda")
    expected, _ = us.unfold(cell, xs, backend="reference")
    assert torch.equal(ys.isnan(), expected.isnan())


@every_cell
def test_compiled_equals_the_reference(kind: us.CellType, sizes: dict[str, int]) -> None:
    """One operator a layer, as on the CPU; what is saved has the shapes that were promised."""
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=3, B=2)

    def run(backend: str) -> list[Tensor]:
        ys, last = us.unfold(cell, xs, state, lengths=torch.tensor([3, 1]), backend=backend)
        return [ys, *last]

    tensors = [xs, *state, *cell.parameters()]
    expected = gradients(lambda: run("reference"), tensors)
    with programs(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "takes", lambda call: False)
        same(gradients(compiled(lambda: run("cuda")), tensors), expected)


def test_the_operator_refuses_a_backend_of_another_device() -> None:
    cell, xs = us.cells.LSTM(3, 4), torch.randn(3, 2, 3)
    with pytest.raises(Exception, match="the cuda backend does not run"):
        compiled(lambda: us.unfold(cell, xs, backend="cuda")[0])()
    with pytest.raises(ValueError, match="on a CUDA device"):
        us.unfold(cell, xs, backend="cuda")


def test_compiled_in_half_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is in float32; what comes back is in the cell's own dtype."""
    cell = us.cells.LSTM(3, 4).bfloat16()
    xs = torch.randn(3, 2, 3).bfloat16().requires_grad_()
    monkeypatch.setattr(cpu, "takes", lambda call: False)
    tensors = [xs, *cell.parameters()]

    def run() -> Tensor:
        return us.unfold(cell, xs, backend="cuda", record=("i",))[0].sin().sum()

    with programs():
        eager = torch.autograd.grad(run(), tensors)
        found = torch.autograd.grad(compiled(run)(), tensors)
    assert all(gradient.dtype == torch.bfloat16 for gradient in found)
    same(list(found), list(eager), 1e-2)


def test_compiled_for_any_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = us.cells.GRU(3, 4).double()
    monkeypatch.setattr(cpu, "takes", lambda call: False)
    torch._dynamo.reset()
    with programs():
        run = torch.compile(
            lambda xs: us.unfold(cell, xs)[0].sin().sum(), fullgraph=True, backend="aot_eager"
        )
        for rows in (2, 3, 5):
            xs = torch.randn(3, rows, 3, dtype=torch.float64)
            found = torch.autograd.grad(run(xs), [*cell.parameters()])
            ys, _ = us.unfold(cell, xs, backend="reference")
            same(list(found), list(torch.autograd.grad(ys.sin().sum(), [*cell.parameters()])))


@pytest.mark.parametrize("backend", ["auto", "cuda"])
def test_compiled_where_kernels_do_not_run(monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    cell, xs = us.cells.GRU(3, 4).double(), torch.randn(3, 2, 3, dtype=torch.float64)
    off_cpu(monkeypatch)

    def missing(*_: Any) -> Any:
        raise CannotBuild("the assembler is missing")

    monkeypatch.setattr(launch.triton_build, "load", missing)
    run = compiled(lambda: us.unfold(cell, xs, backend=backend)[0].sin().sum())
    with programs():
        if backend == "cuda":
            with pytest.raises(ValueError, match="the assembler is missing"):
                run()
            return
        with pytest.warns(UserWarning, match="the assembler is missing"):
            found = torch.autograd.grad(run(), [*cell.parameters()])
    ys, _ = us.unfold(cell, xs, backend="reference")
    same(list(found), list(torch.autograd.grad(ys.sin().sum(), [*cell.parameters()])))


def off_cpu(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cpu, "takes", lambda call: False)
    trust._verdicts.clear()
    say._said.clear()


def test_auto_takes_the_kernels_once_they_have_earned_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(20, 2, 3, requires_grad=True)
    off_cpu(monkeypatch)
    steps: list[int] = []
    forwards = cuda.forwards
    monkeypatch.setattr(
        cuda, "forwards", lambda calls, t: (steps.append(len(calls[0].xs)), forwards(calls, t))[1]
    )
    with programs():
        ours, _ = us.unfold(cell, xs)
        assert steps == [20, 16, 20], "all steps, those that are compared, and the call itself"
        us.unfold(cell, xs)
    assert steps[3:] == [20]
    same([ours], [us.unfold(cell, xs, backend="reference")[0]], 1e-5)


@pytest.mark.parametrize("wrong", ["forwards", "backwards"])
def test_auto_leaves_kernels_that_compute_something_else(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    cell, xs = us.cells.LSTM(3, 4), torch.randn(5, 2, 3, requires_grad=True)
    off_cpu(monkeypatch)
    right = getattr(cuda, wrong)

    def off(*args: Any) -> Any:
        found = right(*args)
        first = found[0][0][0] if wrong == "forwards" else found[0]["U_f"]
        first.mul_(1.01)
        return found

    monkeypatch.setattr(cuda, wrong, off)
    with programs():
        with pytest.warns(UserWarning, match=r"are off by .* it is not used"):
            ys, _ = us.unfold(cell, xs)
        us.unfold(cell, xs)  # said once
    same([ys], [us.unfold(cell, xs, backend="reference")[0]], 1e-5)


def test_auto_runs_the_planned_loop_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, xs = us.cells.LSTM(3, 4), torch.randn(5, 2, 3)
    off_cpu(monkeypatch)

    def missing(*_: Any) -> Any:
        raise CannotBuild("Triton is not installed")

    monkeypatch.setattr(launch.triton_build, "load", missing)
    with programs(), pytest.warns(UserWarning, match="Triton is not installed"):
        ys, _ = us.unfold(cell, xs)
    same([ys], [us.unfold(cell, xs, backend="reference")[0]], 1e-5)


def test_what_no_kernel_is_written_for_runs_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "h: both\na = A @ x\nb: part\nb = B @ h\nh' = tanh(layer_norm(concat(a, b)))"
    cell, xs = us.cell(text)(3, 4, both=6, part=2), torch.randn(5, 2, 3)
    off_cpu(monkeypatch)
    with programs():
        with pytest.raises(ValueError, match="the cuda backend cannot run this cell"):
            us.unfold(cell, xs, backend="cuda")
        with pytest.warns(us.SlowWarning, match="layer_norm reads what concat joins"):
            ys, _ = us.unfold(cell, xs)
    same([ys], [us.unfold(cell, xs, backend="reference")[0]], 1e-5)


def test_names_of_any_kind_are_printed() -> None:
    """Names in a kernel are its own, whatever a cell calls its lines."""
    text = "T = sigmoid(W @ x + U @ pid)\npid' = T * pid + tl * tanh(x0 * T)"
    cell = us.cell(text, name="odd")(3, 3).double()
    xs = torch.randn(3, 2, 3, dtype=torch.float64)
    expected, _ = us.unfold(cell, xs, backend="reference")
    with programs(cut(2)):
        same([us.unfold(cell, xs, backend="cuda")[0]], [expected])


def test_every_argument_has_a_name_of_its_own() -> None:
    body = _body(us.cells.LSTM)
    names = [name for name, _ in triton_source.arguments(body)]
    source = triton_source.print_triton(*_spec(us.cells.LSTM)).source
    assigned = re.findall(r"^\s*(\w+) = ", source, re.MULTILINE)
    assert "pid" in assigned
    assert len(set(names)) == len(names)
    assert not set(names) & set(assigned)


def _spec(kind: us.CellType) -> Any:
    cell, xs = kind(8, 8), torch.randn(2, 2, 8)
    call = prepare(cell, xs, None, lengths=None, reverse=False, masks=None, record=())
    passes = cuda.backward_passes(cuda.plan_of(call))
    side = launch.Side(cuda.stages_of(call, compact=False), {}, call.state, True)
    loop = cuda._loop(passes, [side, side], 2)
    return loop.rec, cut(2), "bf16"


def _body(kind: us.CellType) -> Any:
    return triton_source.Body(*_spec(kind))


def test_refusals_hold_on_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict is remembered, and not what it was passed on."""
    cell = us.cells.LSTM(3, 4)
    off_cpu(monkeypatch)

    def missing(*_: Any) -> Any:
        raise CannotBuild("no")

    monkeypatch.setattr(launch.triton_build, "load", missing)
    seen = []
    with programs(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            xs = torch.randn(5, 2, 3)
            seen.append(weakref.ref(xs))
            us.unfold(cell, xs)
            del xs
    gc.collect()
    assert [one() for one in seen] == [None] * 3


def test_nothing_is_learned_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs that are zero or no number prove nothing: the next call is compared again."""
    cell = us.cells.LSTM(3, 4)
    off_cpu(monkeypatch)
    right = cuda.forwards

    def off(calls: Any, training: bool) -> Any:
        found = right(calls, training)
        found[0][0][0].mul_(1.5)
        return found

    monkeypatch.setattr(cuda, "forwards", off)
    with programs():
        us.unfold(cell, torch.full((5, 2, 3), float("nan")))
        with pytest.warns(UserWarning, match="are off by"):
            us.unfold(cell, torch.randn(5, 2, 3))


def test_what_cannot_be_printed_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "h: both\na = A @ x\nb: part\nb = B @ h\nh' = tanh(concat(a, b))"
    cell, xs = us.cell(text)(3, 4, both=6, part=2), torch.randn(5, 2, 3)
    off_cpu(monkeypatch)
    tried: list[int] = []
    check = trust._verdict
    monkeypatch.setattr(trust, "_verdict", lambda *a: (tried.append(1), check(*a))[1])
    with programs():
        us.unfold(cell, xs)
        us.unfold(cell, xs)
    assert tried == [1]


def test_more_units_than_fit_run_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    off_cpu(monkeypatch)
    cell, xs = us.cells.Elman(3, 300), torch.randn(20, 2, 3)
    with programs(at_once=2):
        with pytest.raises(ValueError, match="more units than the programs can hold"):
            us.unfold(cell, xs, backend="cuda")
        with pytest.warns(UserWarning, match="more units than the programs can hold"):
            ys, _ = us.unfold(cell, xs)
        compiled(lambda: us.unfold(cell, xs)[0])()
    same([ys], [us.unfold(cell, xs, backend="reference")[0]], 1e-4)


def test_outputs_have_memory_of_their_own() -> None:
    cell = us.cell("h' = tanh(U @ h + W @ x)\ny: input\ny = x")(3, 4).double()
    xs = torch.randn(3, 2, 3, dtype=torch.float64)
    elman = us.cells.Elman(3, 4).double()
    with programs(), torch.no_grad():
        ys, _, lines = us.unfold(cell, xs, backend="cuda", record=("h", "y"))
        before = xs.clone()
        ys.mul_(2)
        assert torch.equal(xs, before)
        assert torch.equal(lines["y"], before)
        ys, _, lines = us.unfold(elman, xs, backend="cuda", record=("h",))
    assert ys.data_ptr() != lines["h"].data_ptr()


@pytest.mark.parametrize("lengths", [torch.tensor([3, 9, 2, 9, 1, 9])[::2], torch.tensor([2])])
def test_lengths_may_be_laid_out_in_any_way(lengths: Tensor) -> None:
    cell = us.cells.Elman(3, 4).double()
    xs, lengths = torch.randn(3, 3, 3, dtype=torch.float64), lengths.expand(3)
    with programs(cut(1)):
        ys, _ = us.unfold(cell, xs, lengths=lengths, backend="cuda")
    same([ys], [us.unfold(cell, xs, lengths=lengths, backend="reference")[0]])


def test_gradients_under_autocast_are_those_without() -> None:
    cell, xs = us.cells.Elman(3, 4), torch.randn(5, 2, 3)
    weights = [*cell.parameters()]
    expected = torch.autograd.grad(us.unfold(cell, xs, backend="reference")[0].sum(), weights)
    for backend in ("cuda", "planned"):
        with programs(), torch.autocast("cpu", torch.bfloat16):
            ys, _ = us.unfold(cell, xs, backend=backend)
            found = torch.autograd.grad(ys.sum(), weights)
        same(list(found), list(expected), 1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "h' = maximum(0, minimum(1, 0.2 * h + W @ x + 0.5))",
        "h' = log(softplus(20 * tanh(U @ h + W @ x) - 15)) * 0.1",
        "h' = tanh(1e-9 * (U @ h + W @ x)) * 1e9",
        "h' = abs(1 - h) ** 2 + minimum(W @ x, U @ h) ** 3 - softplus(W @ x)",
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_keep_their_digits(text: str, dtype: torch.dtype) -> None:
    cell, truth = us.cell(text)(3, 3).to(dtype), us.cell(text)(3, 3).double()
    truth.load_state_dict(cell.state_dict())
    xs, weights = torch.randn(3, 2, 3).to(dtype), [torch.ones(()), torch.ones(())]
    expected = results(truth, xs.double(), _zeros(truth, xs.double()), weights, backend="reference")
    with programs():
        found = results(cell, xs, _zeros(cell, xs), weights, backend="cuda")
    for a, b in zip(found, expected, strict=True):
        assert (a.double() - b).norm() <= (2e-6 if dtype == torch.float32 else 1e-13) * b.norm()


def _zeros(cell: us.Cell, xs: Tensor) -> list[Tensor]:
    return [xs.new_zeros(xs.shape[1], n) for n in cell.state_sizes.values()]


def test_the_precision_of_float32_is_torchs_own() -> None:
    before = torch.backends.cuda.matmul.fp32_precision
    try:
        torch.backends.cuda.matmul.fp32_precision = "ieee"
        assert launch.precision_of(torch.float32) == "tf32x3"
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        assert launch.precision_of(torch.float32) == "tf32"
        assert launch.precision_of(torch.bfloat16) == "ieee"
    finally:
        torch.backends.cuda.matmul.fp32_precision = before


# --- how work is cut -------------------------------------------------------------------------


@pytest.mark.parametrize("element", [2, 4, 8])
@pytest.mark.parametrize("sides", [1, 2])
def test_every_way_covers_every_unit_and_fits(element: int, sides: int) -> None:
    for H, B in itertools.product((1, 7, 64, 100, 650, 1024, 3000, 8000), (1, 16, 20, 300)):
        work = tiles.Work((H,), ((H, H),) * 4, (H,), 1)
        ways = tiles.candidates(work, B, element, tiles.Chip(132), sides)
        assert ways or H * sides > 64 * 132, "a grid that fits exists"
        for way in ways:
            assert way.programs * way.of(H) >= H
            assert way.programs * sides <= 132
            assert way.chunk % way.split == 0
            assert len(set(ways)) == len(ways)


def test_weights_that_do_not_fit_are_read_again() -> None:
    work = tiles.Work((4096,), ((4096, 4096),) * 4, (4096,), 1)
    for way in tiles.candidates(work, 16, 2, tiles.Chip(132)):
        assert 0 < way.held < tiles.weight_bytes(work, way, 2), "some are held, others read again"
    small = tiles.Work((512,), ((512, 512),) * 4, (512,), 1)
    way = tiles.candidates(small, 16, 2, tiles.Chip(132))[0]
    assert way.held >= tiles.weight_bytes(small, way, 2)


class _OnAGpu(torch.Tensor):
    is_cuda = True  # type: ignore[assignment]


def test_a_variant_is_looked_up_where_nothing_differs_that_matters() -> None:
    """Triton compiles by types, alignment and strides; a launch of the same kind finds it."""
    found: list[tuple[int, list[Any]]] = []
    compiled: list[tuple[int, ...]] = []

    class Variant:
        def __getitem__(self, grid: tuple[int, ...]) -> Any:
            return lambda *numbers: found.append((grid[0], list(numbers)))

    class Function:
        def __getitem__(self, grid: tuple[int, ...]) -> Any:
            def launched(*arguments: Any, **how: Any) -> Variant:
                compiled.append(grid)
                return Variant()

            return launched

    kernel = launch.Kernel.__new__(launch.Kernel)
    kernel.function, kernel.variants = Function(), {}
    kernel.tiles = Tiles(16, 2, ((16, 8),), 16, 1, 4)
    room = torch.zeros(100).as_subclass(_OnAGpu)

    def run(T: int, xs: torch.Tensor, stride: int, dtype: torch.dtype = torch.float32) -> None:
        kernel.run(8, [T, 4, 0, 1, xs, room.to(dtype), stride])

    run(5, room[:64], 16)
    assert (len(compiled), found) == (1, [])
    run(7, room[32:96], 16)  # another place, as well aligned; another number of steps
    assert len(compiled) == 1
    assert found == [(8, [7, 4, 0, 1, room[32:].data_ptr(), room.data_ptr(), 16])]
    run(7, room[1:65], 16)
    run(7, room[:64], 1)
    run(7, room[:64], 16, torch.float64)
    assert len(compiled) == 4
