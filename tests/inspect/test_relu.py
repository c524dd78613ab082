"""The random ReLU experiment against autograd, and what a scale does to it."""

import pytest
import torch

import unspool as us
from unspool.inspect.relu import random_relu


def weights(hidden: int, scale: float, seed: int) -> torch.Tensor:
    """As the experiment draws them."""
    draw = torch.Generator().manual_seed(seed)
    return scale * torch.randn(hidden, hidden, generator=draw, dtype=torch.float64)


@pytest.mark.parametrize(("hidden", "seed"), [(5, 0), (5, 1), (16, 2), (64, 3)])
def test_states_and_gradients_are_those_of_autograd(hidden: int, seed: int) -> None:
    run = random_relu(steps=12, hidden=hidden, scale=0.4, seed=seed)
    U = weights(hidden, 0.4, seed)
    states = [run.states[0].clone().requires_grad_()]
    for _ in range(12):
        states.append(torch.relu(U @ states[-1]))
        states[-1].retain_grad()
    (states[-1] @ run.gradients[-1]).backward()
    for t, state in enumerate(states):
        assert state.grad is not None
        torch.testing.assert_close(run.states[t], state.detach())
        torch.testing.assert_close(run.gradients[t], state.grad)
    assert run.active.equal(run.states[1:] > 0)


def test_it_is_the_cell_of_that_equation() -> None:
    run = random_relu(steps=10, hidden=8, scale=0.5)
    cell = us.cell("h' = relu(U @ h)")(1, 8).double()
    with torch.no_grad():
        cell.parameter("U").copy_(weights(8, 0.5, 0))
    d_ys = torch.zeros(10, 1, 8, dtype=torch.float64)
    d_ys[-1, 0] = run.gradients[-1]
    xs = torch.zeros(10, 1, 1, dtype=torch.float64)
    found = us.bptt(cell, xs, (run.states[:1],), d_ys=d_ys, record=("h",))
    torch.testing.assert_close(found.recorded["h"][:, 0], run.gradients[1:])
    torch.testing.assert_close(found.state.h[0], run.gradients[0])


def test_a_scale_is_a_power_at_every_step() -> None:
    """Twice a number is exact, so these are the same bits."""
    one, two = random_relu(steps=20, scale=0.125), random_relu(steps=20, scale=0.25)
    powers = 2.0 ** torch.arange(21)
    assert two.active.equal(one.active)
    assert two.forward_norms.equal(one.forward_norms * powers)
    assert two.gradient_norms.equal(one.gradient_norms * powers.flip(0))


def test_small_weights_vanish_and_large_ones_explode() -> None:
    for seed in range(5):
        small, large = (random_relu(scale=scale, seed=seed) for scale in (0.05, 1.0))
        assert small.gradient_norms[0] < 1e-15 * small.gradient_norms[-1]
        assert small.forward_norms[-1] < 1e-15 * small.forward_norms[0]
        assert large.gradient_norms[0] > 1e15 * large.gradient_norms[-1]
        assert large.forward_norms[-1] > 1e15 * large.forward_norms[0]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more, not 0 and 5"):
        random_relu(steps=0, hidden=5)
    for scale in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="a number, 0 or above, not"):
            random_relu(scale=scale)
