"""One step at a time, against the reference over all steps at once."""

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Literal

import pytest
import torch
from torch import nn

import unspool as us
from tests.conformance.table import IDS, TABLE, build, inputs
from unspool.engine import step as module

every_cell = pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)


def same_as_a_sequence(
    kind: us.CellType, sizes: dict[str, int], T: int, rows: int, zoneout: float
) -> us.Stepper:
    cell = build(kind, sizes)
    xs, first = inputs(cell, T, rows)
    masks = us.expected_masks(cell, zoneout)
    with torch.no_grad():
        ys, last = us.unfold(cell, xs, first, masks=masks, backend="reference")
    stepper, state = us.Stepper(cell, masks), first
    for x, y in zip(xs, ys, strict=True):
        found, state = stepper(x, state)
        torch.testing.assert_close(found, y)
    torch.testing.assert_close(tuple(state), tuple(last))
    assert type(state) is type(last)
    return stepper


@every_cell
@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("zoneout", [0.0, 0.2])
def test_steps_make_a_sequence(
    kind: us.CellType, sizes: dict[str, int], rows: int, zoneout: float
) -> None:
    stepper = same_as_a_sequence(kind, sizes, T=5, rows=rows, zoneout=zoneout)
    assert all(session is not None for session in stepper.sessions.values())


def test_weights_are_laid_out_once_and_copied() -> None:
    cell, x = us.cells.LSTM(5, 9), torch.randn(3, 5)
    stepper = us.Stepper(cell)
    before, state = stepper(x)
    stepper(torch.randn(2, 5))  # another number of rows in between
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
    again, _ = stepper(x)
    assert torch.equal(before, again)
    assert not us.Stepper(cell)(x)[0].any()
    assert not state.h.requires_grad


def test_views_and_gradients_are_welcome() -> None:
    cell = us.cells.GRU(4, 6)
    stepper = us.Stepper(cell)
    x, h = torch.randn(4, 3).T, torch.randn(3, 12, requires_grad=True)[:, ::2]
    stepper(x.contiguous(), [h.contiguous()])
    expected, _ = us.unfold(cell, x[None], [h], backend="reference")
    for _ in range(2):
        found, _ = stepper(x, [h])
        torch.testing.assert_close(found, expected[0].detach())


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
def test_what_no_kernel_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    stepper = us.Stepper(us.cells.LSTM(4, 6))
    y, state = stepper(torch.zeros(0, 4))
    assert y.shape == state.c.shape == (0, 6)
    cell = us.cells.LSTM(4, 6).half()
    y, _ = us.Stepper(cell)(torch.ones(2, 4).half())
    assert y.dtype == torch.half

    def refuse(*_: object) -> None:
        raise module.CannotPrint("nothing is printed here")

    monkeypatch.setattr(module.CpuSession, "__init__", refuse)
    cell, x = us.cells.LSTM(4, 6), torch.randn(2, 4)
    torch.testing.assert_close(us.Stepper(cell)(x)[0], us.unfold(cell, x[None])[0][0])


@pytest.mark.parametrize(
    ("x", "state", "problem"),
    [
        (torch.zeros(4), None, r"\(B, I\); got \(4,\)"),
        (torch.zeros(1, 2, 4), None, r"\(B, I\); got \(1, 2, 4\)"),
        (torch.zeros(2, 5), None, "5 features"),
        (torch.zeros(2, 4), [torch.zeros(2, 6)], "tuple of 2"),
        (torch.zeros(2, 4), [torch.zeros(3, 6)] * 2, "expected"),
        (torch.zeros(2, 4).double(), None, "float64"),
        (None, None, "NoneType"),
    ],
)
def test_what_does_not_fit(x: torch.Tensor, state: object, problem: str) -> None:
    stepper = us.Stepper(us.cells.LSTM(4, 6))
    for _ in range(2):  # before and after there is a session
        with pytest.raises(ValueError, match=problem):
            stepper(x, state)  # type: ignore[arg-type]
        stepper(torch.zeros(2, 4))


class Doubling(nn.Module):
    state_sizes: ClassVar[dict[str, int]] = {"h": 2}
    output_size = 2

    def step(self, x: torch.Tensor, state: tuple[torch.Tensor]) -> tuple[torch.Tensor, object]:
        return x + state[0], (2 * state[0] + x,)


def test_a_python_cell_steps_too() -> None:
    stepper, xs = us.Stepper(Doubling()), torch.randn(3, 4, 2)
    ys, last = us.unfold(Doubling(), xs)
    state = None
    for x, y in zip(xs, ys, strict=True):
        found, state = stepper(x, state)
        torch.testing.assert_close(found, y)
    assert state is not None
    torch.testing.assert_close(state[0], last[0])


@pytest.mark.parametrize("skip", [None, "residual", "dense"])
@pytest.mark.parametrize("initial", ["zeros", "learned"])
def test_layers_step(
    skip: Literal["residual", "dense"] | None, initial: Literal["zeros", "learned"]
) -> None:
    dropout = us.Dropout(between=0.5, inputs=0.5, recurrent=0.5, zoneout=0.3, weights=0.5)
    layer = us.Recurrent(
        us.cells.LSTM, 3, [5, 4, 5], skip=skip, dropout=dropout, initial=initial, num_layers=3
    )
    if initial == "learned":
        with torch.no_grad():
            for start in layer.parameters():
                start.add_(0.1)
    step, state = layer.stepper(), None  # in evaluation, though the layer itself trains
    xs = torch.randn(4, 2, 3)
    layer.eval()
    ys, last = layer(xs)
    for x, y in zip(xs, ys, strict=True):
        found, state = step(x, state)
        torch.testing.assert_close(found, y)
    torch.testing.assert_close(state, last)
    with pytest.raises(ValueError, match="backwards"):
        us.Recurrent(us.cells.GRU, 3, 4, bidirectional=True).stepper()


def test_threads_may_share_a_stepper_and_a_cell() -> None:
    """Kernels run without Python's lock, so that calls do overlap."""
    cell = us.cells.LSTM(16, 40).double()
    stepper = us.Stepper(cell)
    xs = torch.randn(12, 30, 1, 16, dtype=torch.float64)
    expected = [us.unfold(cell, one, backend="reference")[0].detach() for one in xs]

    def sequence(one: torch.Tensor) -> torch.Tensor:
        return us.unfold(cell, one)[0].detach()

    def steps(one: torch.Tensor) -> torch.Tensor:
        ys, state = [], None
        for x in one:
            y, state = stepper(x, state)
            ys.append(y)
        return torch.stack(ys)

    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for run in (sequence, steps):
                for found, ys in zip(pool.map(run, xs), expected, strict=True):
                    torch.testing.assert_close(found, ys)


def test_a_layers_stepper_is_a_copy() -> None:
    layer = us.Recurrent(us.cells.GRU, 3, 4, skip="residual", initial="learned")
    x = torch.randn(2, 3)
    step = layer.stepper()
    before, _ = step(x)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(1)
    assert torch.equal(step(x)[0], before)


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
def test_steppers_can_be_copied_and_vmapped() -> None:
    stepper, x = us.Stepper(us.cells.GRU(3, 4)), torch.randn(2, 3)
    y, state = stepper(x)
    other = copy.deepcopy(stepper)
    assert torch.equal(other(x, state)[0], stepper(x, state)[0])
    many, _ = torch.func.vmap(stepper)(x[None], [state.h[None]])
    torch.testing.assert_close(many[0], stepper(x, state)[0])
    assert stepper(x)[0].equal(y)
    for rows in range(1, 20):
        stepper(torch.zeros(rows, 3))
    assert len(stepper.sessions) <= module.SESSIONS
