"""Cells that nobody wrote: checked against a slow reading of the text, and against autograd."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

import unspool as us
from tests.equations.random_cells import SIZES, cells
from tests.equations.slow import unfold_slowly
from unspool.equations.errors import EquationError
from unspool.equations.printing import ascii_line
from unspool.equations.roles import equations

NUMBERS = {"input": 2, "hidden": 3, "extra": 4}


def build(text: str, seed: int) -> tuple[us.Cell, torch.Tensor, list[torch.Tensor]]:
    torch.manual_seed(seed)
    kind = us.CellType(equations(text), "random")  # us.cell would warn of idle lines
    cell = us.Cell(kind, {name: NUMBERS[name] for name in kind.equations.named_sizes}).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.7)
    xs = torch.randn(3, 2, cell.input_size, dtype=torch.float64)
    state = [torch.randn(2, n, dtype=torch.float64) for n in cell.state_sizes.values()]
    return cell, xs, state


@given(cells(), st.integers(0, 99))
def test_reference_equals_the_slow_reading(text: str, seed: int) -> None:
    cell, xs, state = build(text, seed)
    ys, last = us.unfold(cell, xs, state, backend="reference")
    parameters = {name: value.tolist() for name, value in cell.state_dict().items()}
    for b in range(2):
        start = {n: v[b].tolist() for n, v in zip(cell.state_sizes, state, strict=True)}
        output = cell.equations.output
        slow_ys, slow_last = unfold_slowly(text, parameters, xs[:, b].tolist(), start, output)
        torch.testing.assert_close(ys[:, b], torch.tensor(slow_ys, dtype=torch.float64))
        for name, value in zip(cell.state_sizes, last, strict=True):
            expected = torch.tensor(slow_last[name], dtype=torch.float64)
            torch.testing.assert_close(value[b], expected)


@given(cells(), st.integers(0, 99), st.booleans())
def test_derivative_equals_autograd(text: str, seed: int, reverse: bool) -> None:
    cell, xs, state = build(text, seed)
    wanted = [xs.requires_grad_(), *(v.requires_grad_() for v in state), *cell.parameters()]
    how: dict[str, Any] = {"lengths": [3, 2], "reverse": reverse}
    ys, last = us.unfold(cell, xs, state, backend="reference", **how)
    d_ys, d_state = torch.randn_like(ys), [torch.randn_like(value) for value in last]
    loss = (ys * d_ys).sum() + sum((v * d).sum() for v, d in zip(last, d_state, strict=True))
    theirs = torch.autograd.grad(loss, wanted, allow_unused=True)
    ours = us.bptt(cell, xs, state, d_ys=d_ys, d_state=d_state, **how)
    parameters = [ours.parameters[name] for name in cell.equations.parameters]
    for got, want in zip([ours.xs, *ours.state, *parameters], theirs, strict=True):
        want = torch.zeros_like(got) if want is None else want
        assert (got - want).norm() <= 1e-10 * max(want.norm().item(), 1.0)


@given(cells())
def test_what_is_printed_is_the_same_cell(text: str) -> None:
    eqs = equations(text)
    declared = [line for line in text.split("\n") if ": " in line]
    again = equations("\n".join(declared + [ascii_line(line) for line in eqs.lines]))
    assert [line.name for line in again.lines] == [line.name for line in eqs.lines]
    assert again.matrices == eqs.matrices
    assert again.sizes == eqs.sizes
    printed = [ascii_line(line) for line in again.lines]
    assert printed == [ascii_line(line) for line in eqs.lines]


def test_the_draw_is_not_trivial() -> None:
    """The strategy reaches several sizes, functions and states; it would be easy to break it."""
    found: set[str] = set()

    @given(cells())
    def collect(text: str) -> None:
        eqs = equations(text)
        found.update([f"{len(eqs.states)} states", *eqs.named_sizes])
        found.update(name for name in ("concat", "layer_norm", "minimum", " / ") if name in text)

    collect()
    assert {"1 states", "2 states", "3 states", "concat", "layer_norm", "minimum"} <= found
    assert {*SIZES, " / "} <= found


CHARACTERS = "xhcWU'’ʹ_ab01.+-*/@()=:,# \n\t;[]{}\\\"^tanhsigmoidlambdaif\x00é⊙"


@given(st.text(alphabet=CHARACTERS, max_size=80))
def test_any_text_is_a_cell_or_a_clear_error(text: str) -> None:
    try:
        assert equations(text).states
    except EquationError as error:
        assert error.problem  # noqa: PT017
        assert error.hint  # noqa: PT017
