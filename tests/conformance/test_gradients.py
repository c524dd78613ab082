"""What holds for the gradients of every cell: derived = autograd = finite differences."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

import unspool as us
from tests.conformance.table import IDS, TABLE, build, inputs
from unspool.equations.evaluate import run

every_cell = pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)


def distance(ours: Tensor, theirs: Tensor) -> float:
    """Normwise; where the right answer is zero, absolute."""
    return ((ours - theirs).norm() / theirs.norm().clamp(min=1e-3)).item()


@every_cell
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_derived_equals_autograd(
    kind: us.CellType, sizes: dict[str, int], reverse: bool, masked: bool
) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=6, B=4)
    masks = us.draw_masks(cell, xs, zoneout=0.3, recurrent=0.3, weights=0.3) if masked else None
    how: dict[str, Any] = {
        "lengths": torch.tensor([6, 0, 3, 5]),
        "reverse": reverse,
        "masks": masks,
    }
    ys, last = us.unfold(cell, xs, state, **how)
    d_ys = torch.randn_like(ys)
    d_state = [torch.randn_like(value) for value in last]
    loss = (ys * d_ys).sum() + sum((v * d).sum() for v, d in zip(last, d_state, strict=True))
    wanted = [xs, *state, *cell.parameters()]
    theirs = torch.autograd.grad(loss, wanted, allow_unused=True)
    ours = us.bptt(cell, xs, state, d_ys=d_ys, d_state=d_state, **how)
    parameters = [ours.parameters[name] for name in cell.equations.parameters]
    for got, want in zip([ours.xs, *ours.state, *parameters], theirs, strict=True):
        assert distance(got, torch.zeros_like(got) if want is None else want) < 1e-10


@every_cell
def test_total_gradient_of_every_line_at_every_step(
    kind: us.CellType, sizes: dict[str, int]
) -> None:
    """Against the same recurrence written out, where autograd can hold on to each line."""
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=4)
    bound, eqs = cell.bind(), cell.equations
    values: dict[str, Any] = dict(zip(eqs.states, state, strict=True))
    steps = []
    for x in xs:
        env: dict[str, Any] = {**bound.tensors, "x": x, **values}
        run(eqs.lines, env, x, bound.size_of)
        for line in eqs.lines:
            env[line.name].retain_grad()
        values = {name: env[line] for name, line in eqs.carried.items()}
        steps.append(env)
    ys = torch.stack([env[eqs.output] for env in steps])
    d_ys = torch.randn_like(ys)
    (ys * d_ys).sum().backward()
    ours = us.bptt(cell, xs, state, d_ys=d_ys, record=eqs.recordable).recorded
    for line in eqs.lines:
        held = [env[line.name] for env in steps]
        theirs = torch.stack([torch.zeros_like(v) if v.grad is None else v.grad for v in held])
        assert distance(ours[line.name.removesuffix("'")], theirs) < 1e-10


@every_cell
def test_gradcheck(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=3, B=2)
    names = list(cell.state_dict())

    def outputs(*tensors: Tensor) -> tuple[Tensor, ...]:
        given, weights = tensors[: 1 + len(state)], tensors[1 + len(state) :]
        parameters = dict(zip(names, weights, strict=True))
        call = {"lengths": [3, 2], "record": tuple(cell.state_sizes)}
        ys, last, lines = torch.func.functional_call(
            Unfolded(cell), {f"cell.{k}": v for k, v in parameters.items()}, given, call
        )
        return (ys, *last, *lines.values())

    everything = (xs, *state, *cell.parameters())
    assert gradcheck(outputs, everything, atol=1e-6, rtol=1e-4)


class Unfolded(torch.nn.Module):
    def __init__(self, cell: us.Cell):
        super().__init__()
        self.cell = cell

    def forward(self, xs: Tensor, *state: Tensor, **how: Any) -> Any:
        return us.unfold(self.cell, xs, state, **how)


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
@every_cell
def test_double_backward(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=2, B=1)
    assert gradgradcheck(
        lambda *given: us.unfold(cell, given[0], given[1:])[0], (xs, *state), atol=1e-6, rtol=1e-4
    )


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
@every_cell
def test_forward_mode_and_vmap(kind: us.CellType, sizes: dict[str, int]) -> None:
    """v . (J u) = (J^T v) . u, and vmap over sequences = one after the other."""
    cell = build(kind, sizes)
    xs, _ = inputs(cell)
    xs = xs.detach()
    u = torch.randn_like(xs)
    forward = torch.func.jvp(lambda xs: us.unfold(cell, xs)[0], (xs,), (u,))[1]
    v = torch.randn_like(forward)
    pull = torch.func.vjp(lambda xs: us.unfold(cell, xs)[0], xs)[1]
    torch.testing.assert_close((v * forward).sum(), (pull(v)[0] * u).sum())
    both = torch.stack((xs, u))
    mapped = torch.func.vmap(lambda xs: us.unfold(cell, xs)[0])(both)
    expected = torch.stack([us.unfold(cell, one)[0] for one in both])
    torch.testing.assert_close(mapped, expected)
