"""What a call is given: kinds and devices that do not fit, changes behind autograd's back."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import unspool as us

BACKENDS = ["planned", "cpu"]
every_backend = pytest.mark.parametrize("backend", BACKENDS)


def elsewhere(tensor: Tensor) -> Tensor:
    return tensor.to("meta")


@pytest.mark.parametrize("what", ["state", "parameter", "kind of parameter"])
def test_other_devices_and_kinds_are_refused(what: str) -> None:
    """Before an address is taken, whatever the backend."""
    cell, xs = us.cells.LSTM(3, 4), torch.randn(5, 2, 3)
    state = [torch.zeros(2, 4), torch.zeros(2, 4)]
    if what == "state":
        state[1] = elsewhere(state[1])
    elif what == "parameter":
        cell.b_f = nn.Parameter(elsewhere(cell.parameter("b_f")))
    else:
        cell.b_f = nn.Parameter(cell.parameter("b_f").double())
    with pytest.raises(ValueError, match=r"meta|float64"):
        us.unfold(cell, xs, state)
    if what == "state":
        stepper = us.Stepper(cell)
        stepper(xs[0])
        with pytest.raises(ValueError, match="meta"):
            stepper(xs[0], state)


def test_tensors_of_other_kinds_go_to_the_reference() -> None:
    xs = torch.randn(5, 2, 3)
    with torch._subclasses.FakeTensorMode() as mode:
        fake = us.unfold(us.cells.LSTM(3, 4), mode.from_tensor(xs))[0]
    assert fake.shape == (5, 2, 4)


@every_backend
@pytest.mark.parametrize("what", ["lengths", "mask", "xs", "weight"])
def test_changes_before_the_backward_pass_are_noticed(backend: str, what: str) -> None:
    cell, xs = us.cells.LSTM(3, 4), torch.randn(5, 2, 3)
    lengths, masks = torch.tensor([5, 3]), us.draw_masks(cell, xs, zoneout=0.3)
    ys, _ = us.unfold(cell, xs, lengths=lengths, masks=masks, backend=backend)
    mask = masks.keep["h"]
    assert isinstance(mask, Tensor)
    changed = {"lengths": lengths, "mask": mask, "xs": xs, "weight": cell.parameter("b_i").detach()}
    changed[what].fill_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        ys.sum().backward()


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
@every_backend
def test_a_graph_through_several_calls_is_differentiated_once(backend: str) -> None:
    """Double backward: the state of one call comes from another, or from its own input."""
    cell = us.cells.GRU(4, 4).double()
    xs = torch.randn(6, 2, 4, dtype=torch.float64, requires_grad=True)
    found = []
    for one in ("reference", backend):
        ys, state = us.unfold(cell, xs[:3], [xs[0].sin()], backend=one)
        more, _ = us.unfold(cell, xs[3:], state, backend=one)
        loss = ys.square().sum() + more.square().sum()
        first = torch.autograd.grad(loss, [xs, *cell.parameters()], create_graph=True)
        total = sum(gradient.square().sum() for gradient in first)
        assert isinstance(total, Tensor)
        found.append([*first, *torch.autograd.grad(total, [xs, *cell.parameters()])])
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
def test_lengths_of_any_whole_kind(dtype: torch.dtype) -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(120, 2, 3)
    lengths = torch.tensor([120, 7])
    expected, _ = us.unfold(cell, xs, lengths=lengths)
    for recompute in (None, 11):
        found, _ = us.unfold(cell, xs, lengths=lengths.to(dtype), recompute=recompute)
        torch.testing.assert_close(found, expected)
    with pytest.raises(ValueError, match="one whole number"):
        us.unfold(cell, xs, lengths=torch.tensor([1j, 2j]))


class Noisy(nn.Module):
    """Draws numbers at every step."""

    def __init__(self) -> None:
        super().__init__()
        self.state_sizes, self.output_size = {"h": 2}, 2
        self.w = nn.Parameter(torch.ones(2))

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        return torch.rand(x.shape) * self.w * x, state


def test_recomputing_draws_the_same_numbers_again() -> None:
    cell, xs = Noisy(), torch.randn(9, 3, 2)
    ys, _ = us.unfold(cell, xs, recompute=2)
    ys.sum().backward()
    assert cell.w.grad is not None  # linear in w: its gradient times it is the loss
    torch.testing.assert_close((cell.w.grad * cell.w).sum(), ys.sum())


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
def test_a_mask_may_be_learned() -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(5, 2, 3)
    keep = torch.full((5, 2, 4), 0.3, requires_grad=True)
    masks = us.Masks(keep={"h": keep})
    us.unfold(cell, xs, masks=masks)[0].sum().backward()
    assert keep.grad is not None
    assert keep.grad.any()


def test_a_name_recorded_twice_is_recorded() -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(5, 2, 3)
    for backend in ("reference", *BACKENDS):
        assert list(us.unfold(cell, xs, record=("h", "r", "h"), backend=backend)[2]) == ["h", "r"]


@pytest.mark.filterwarnings("ignore::unspool.SlowWarning")
@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.vmap])
def test_recomputing_under_torch_func(transform: Callable[..., Any]) -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(1, 5, 2, 3)
    given = xs if transform is torch.func.vmap else xs[0]
    transform(lambda xs: us.unfold(cell, xs, recompute=2)[0].sum())(given)
