"""Every fast backend against the reference: outputs, states, recorded lines, every gradient."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import unspool as us
from tests.conformance.table import IDS, TABLE, build, inputs
from tests.equations.random_cells import cells
from tests.equations.test_random_cells import build as build_random
from unspool.engine import cpu, layout

BACKENDS = ["planned", "cpu"]
every_backend = pytest.mark.parametrize("backend", BACKENDS)
every_cell = pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)


def results(
    cell: us.Cell, xs: Tensor, state: list[Tensor], weights: list[Tensor], **how: Any
) -> list[Tensor]:
    """Outputs, states and recorded lines; then the gradients of a weighted sum of them all."""
    ys, last, *recorded = us.unfold(cell, xs, state, **how)
    outputs = [ys, *last, *(recorded[0].values() if recorded else ())]
    if not weights:
        weights += [torch.randn_like(output) for output in outputs]
    loss = sum((output * weight).sum() for output, weight in zip(outputs, weights, strict=True))
    assert isinstance(loss, Tensor)
    wanted = [tensor for tensor in (xs, *state, *cell.parameters()) if tensor.requires_grad]
    found = torch.autograd.grad(loss, wanted, allow_unused=True)
    return outputs + [
        torch.zeros_like(w) if g is None else g for w, g in zip(wanted, found, strict=True)
    ]


def same(ours: list[Tensor], theirs: list[Tensor], tolerance: float = 1e-10) -> None:
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        assert (a - b).norm() <= tolerance * max(b.norm().item(), 1.0)


FORMS = ["plain", "lengths", "masks", "everything"]
# few rows take the input's products before the loop, many take them in it
TRIALS = [("planned", 4, form) for form in FORMS]
TRIALS += [("cpu", 4, form) for form in FORMS if form != "masks"]  # each plan is compiled
TRIALS += [("cpu", 7, "plain"), ("cpu", 7, "everything")]


@pytest.mark.parametrize(("backend", "rows", "form"), TRIALS)
@every_cell
@pytest.mark.parametrize("reverse", [False, True])
def test_equals_the_reference(
    backend: str, rows: int, form: str, kind: us.CellType, sizes: dict[str, int], reverse: bool
) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=6, B=rows)
    how: dict[str, Any] = {"reverse": reverse}
    if form in ("masks", "everything"):
        how["masks"] = us.draw_masks(cell, xs, zoneout=0.3, recurrent=0.3, weights=0.3)
    if form in ("lengths", "everything"):
        how["lengths"] = torch.tensor([6, 0, 3, 5, 1, 6, 6][:rows])
        with torch.no_grad():
            xs[3:, 2] = float("nan")
    if form == "everything":
        how["record"] = kind.equations.recordable
    weights: list[Tensor] = []
    expected = results(cell, xs, state, weights, backend="reference", **how)
    same(results(cell, xs, state, weights, backend=backend, **how), expected)
    with torch.no_grad():  # nothing is saved there
        ys, last, *_ = us.unfold(cell, xs, state, backend=backend, **how)
    same([ys, *last], expected[: 1 + len(last)])


def check_random_cell(
    backend: str, text: str, seed: int, reverse: bool, lengths: list[int]
) -> None:
    cell, xs, state = build_random(text, seed)
    xs.requires_grad_(seed % 3 != 0)
    state = [value.requires_grad_() for value in state]
    record = ("h",) if "h" in cell.state_sizes else ()
    how: dict[str, Any] = {"reverse": reverse, "lengths": lengths, "record": record}
    weights: list[Tensor] = []
    expected = results(cell, xs, state, weights, backend="reference", **how)
    same(results(cell, xs, state, weights, backend=backend, **how), expected)
    with torch.no_grad():
        ys, last, *_ = us.unfold(cell, xs, state, backend=backend, **how)
    same([ys, *last], expected[: 1 + len(last)])


DRAWN = (cells(), st.integers(0, 99), st.booleans(), st.tuples(*[st.integers(0, 3)] * 2))


@given(*DRAWN)
def test_planned_on_random_cells(text: str, seed: int, reverse: bool, lengths: Any) -> None:
    check_random_cell("planned", text, seed, reverse, list(lengths))


@settings(max_examples=settings().max_examples // 8)  # each is compiled
@given(*DRAWN, st.booleans())
def test_cpu_on_random_cells(
    text: str, seed: int, reverse: bool, lengths: Any, hoist: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "FEW_ROWS", 99 if hoist else 0)
        patch.setattr(layout, "SMALL", 0)
        torch.set_num_threads(1 + seed % 2)
        try:
            check_random_cell("cpu", text, seed, reverse, list(lengths))
        finally:
            torch.set_num_threads(1)


@every_backend
def test_padding_may_be_where_the_cell_is_not_defined(backend: str) -> None:
    """log and 1 / x of the padding are never taken, whatever fills it."""
    cell = us.cell("h' = tanh(log(x) + 1 / x + U @ h)")(3, 3).double()
    xs = torch.rand(5, 2, 3, dtype=torch.float64) + 0.5
    xs[3:, 1] = 0.0
    xs.requires_grad_()
    ys, _ = us.unfold(cell, xs, lengths=[5, 3], backend=backend)
    ys.sum().backward()
    assert xs.grad is not None
    assert torch.isfinite(xs.grad).all()
    assert all(torch.isfinite(p.grad).all() for p in cell.parameters() if p.grad is not None)


@every_backend
def test_what_autograd_functions_cannot_do_goes_to_the_reference(backend: str) -> None:
    cell, xs = us.cells.GRU(3, 4).double(), torch.randn(5, 2, 3).double()

    def through(xs: Tensor) -> Tensor:
        return us.unfold(cell, xs, backend=backend)[0]

    for call in (
        lambda: torch.func.jvp(through, (xs,), (xs,)),
        lambda: torch.func.vmap(through)(xs[None]),
        lambda: torch.func.grad(lambda xs: through(xs).sum())(xs),
    ):
        with pytest.raises(ValueError, match=r"under torch.func .*backend='auto' does"):
            call()
    with torch.autograd.forward_ad.dual_level(), pytest.raises(ValueError, match="forward mode"):
        through(xs)


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
@every_backend
def test_double_backward_is_the_references(backend: str) -> None:
    cell = us.cells.LSTM(3, 4).double()
    xs = torch.randn(4, 2, 3, dtype=torch.float64, requires_grad=True)
    found = []
    for one in ("reference", backend):
        ys, _ = us.unfold(cell, xs, backend=one, lengths=[4, 2])
        (first,) = torch.autograd.grad(ys.sin().sum(), xs, create_graph=True)
        found.append(torch.autograd.grad(first.square().sum(), [xs, *cell.parameters()]))
    same(list(found[1]), list(found[0]))


@every_backend
def test_only_what_is_asked_for_gets_a_gradient(backend: str) -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(5, 2, 3)
    cell.requires_grad_(False)
    cell.parameter("U_n").requires_grad_(True)
    us.unfold(cell, xs, backend=backend)[0].sum().backward()
    assert [n for n, p in cell.named_parameters() if p.grad is not None] == ["U_n"]
    frozen = us.cells.GRU(3, 4).requires_grad_(False)
    assert not us.unfold(frozen, xs, backend=backend)[0].requires_grad


@every_backend
def test_a_bias_may_be_added_and_taken_away(backend: str) -> None:
    cell = us.cell("h' = tanh(W @ x + b - b + c + c + U @ h)")(3, 4).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.normal_()
    xs, state = inputs(cell)
    weights: list[Tensor] = []
    expected = results(cell, xs, state, weights, backend="reference")
    same(results(cell, xs, state, weights, backend=backend), expected)


@every_backend
@every_cell
def test_outputs_may_be_changed_in_place(
    kind: us.CellType, sizes: dict[str, int], backend: str
) -> None:
    """As dropout behind a layer may do."""
    cell = build(kind, sizes)
    xs, state = inputs(cell)
    wanted = [xs, *cell.parameters()]

    def found(name: str, in_place: bool) -> list[Tensor]:
        how: dict[str, Any] = {"backend": name, "record": kind.equations.recordable}
        ys, last, lines = us.unfold(cell, xs, state, **how)
        outputs = [ys, *last, *lines.values()]
        if in_place:
            for output in outputs:
                output.mul_(2.0)
        else:
            outputs = [2.0 * output for output in outputs]
        loss = sum(output.sum() for output in outputs)
        assert isinstance(loss, Tensor)
        shares = torch.autograd.grad(loss, wanted, allow_unused=True)
        return [
            torch.zeros_like(w) if g is None else g for w, g in zip(wanted, shares, strict=True)
        ]

    same(found(backend, True), found("reference", False))


@every_backend
@pytest.mark.parametrize(
    "text", ["h' = tanh(W @ x + U @ h)", "h' = tanh(W @ x + U @ h)\ny = tanh(h')"]
)
def test_outputs_changed_in_place_never_give_wrong_gradients(backend: str, text: str) -> None:
    """Either the gradient is right, or torch says that something it needs was changed."""
    cell = us.cell(text)(3, 4).double()
    xs, state = inputs(cell)
    wanted = [xs, *cell.parameters()]

    def loss_and_outputs(name: str) -> tuple[Tensor, list[Tensor]]:
        ys, last, lines = us.unfold(cell, xs, state, backend=name, record=("h",))
        return ys.sum() + last.h.sum() + lines["h"].sum(), [ys, last.h, lines["h"]]

    expected = torch.autograd.grad(loss_and_outputs("reference")[0], wanted)
    for k in range(3):
        loss, outputs = loss_and_outputs(backend)
        with torch.no_grad():
            outputs[k].mul_(2)
        try:
            same(list(torch.autograd.grad(loss, wanted)), list(expected))
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)  # noqa: PT017


@pytest.mark.parametrize("backend", ["reference", *BACKENDS])
@every_cell
@pytest.mark.parametrize("reverse", [False, True])
def test_recomputing_changes_nothing(
    backend: str, kind: us.CellType, sizes: dict[str, int], reverse: bool
) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=7, B=4)
    how: dict[str, Any] = {"reverse": reverse, "backend": backend}
    how["masks"] = us.draw_masks(cell, xs, zoneout=0.3, recurrent=0.3, weights=0.3)
    how |= {"lengths": torch.tensor([7, 0, 3, 5]), "record": kind.equations.recordable}
    weights: list[Tensor] = []
    expected = results(cell, xs, state, weights, **how)
    same(results(cell, xs, state, weights, recompute=3, **how), expected)


def test_recomputing_keeps_less() -> None:
    """Counted where autograd keeps it: a few states, not all lines of all steps."""
    cell, xs = us.cells.LSTM(8, 8), torch.randn(64, 2, 8)

    def kept(recompute: int | None) -> int:
        sizes: list[int] = []

        def pack(tensor: Tensor) -> Tensor:
            sizes.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            us.unfold(cell, xs, recompute=recompute)
        return sum(sizes) - sum(parameter.numel() for parameter in cell.parameters())

    assert kept(None) > 6 * 64 * 2 * 8
    assert kept(8) < kept(None) / 4


@pytest.mark.parametrize("steps", [0, -1, 2.5, True])
def test_recompute_is_a_number_of_steps(steps: Any) -> None:
    with pytest.raises(ValueError, match="recompute is a number of steps"):
        us.unfold(us.cells.LSTM(2, 2), torch.zeros(3, 1, 2), recompute=steps)


@every_backend
@pytest.mark.parametrize("rows", [2, 8])
@pytest.mark.parametrize(
    "text",
    [
        "y = w * x + 0 * h\nh' = tanh(U @ h + b)",  # the input's gradient needs no loop
        "y = w * x\nh' = tanh(U @ h + b) + x",
        "h' = tanh(x + h + b)",
        "h' = tanh(W @ x + U @ h)",
    ],
)
def test_an_input_that_needs_no_gradient(backend: str, rows: int, text: str) -> None:
    cell = us.cell(text)(4, 4).double()
    xs, found = torch.randn(5, rows, 4, dtype=torch.float64), []
    for one in ("reference", backend):
        ys, last = us.unfold(cell, xs, backend=one)
        loss = ys.square().sum() + last[0].square().sum()
        found.append(torch.autograd.grad(loss, list(cell.parameters())))
    same(list(found[1]), list(found[0]))
