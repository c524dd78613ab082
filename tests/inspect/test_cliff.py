"""The cliff: what clipping does to a step, and surfaces that leave no trace."""

import pytest
import torch
from torch import Tensor, nn

import unspool as us
from unspool.inspect.cliff import Cliff, Clip, Descent, Unit, cliff, descend, surface


@pytest.fixture(scope="module")
def classic() -> Cliff:
    return cliff()


def jumps(descent: Descent) -> Tensor:
    return (descent.points[1:] - descent.points[:-1]).norm(dim=-1)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_the_unit_is_a_cell_of_one(activation: str) -> None:
    unit = Unit(activation, steps=7, first=0.3, target=-0.2)  # pyright: ignore[reportArgumentType]
    cell = us.cell(f"h' = {activation}(w * h + b)")(1, 1).double()
    w, b = torch.randn(2, dtype=torch.float64)
    with torch.no_grad():
        cell.parameter("w").fill_(w)
        cell.parameter("b").fill_(b)
    start = (torch.full((1, 1), 0.3, dtype=torch.float64),)
    _, last = us.unfold(cell, torch.zeros(7, 1, 1, dtype=torch.float64), start)
    torch.testing.assert_close(unit.loss(w, b), (last.h[0, 0] + 0.2).detach() ** 2)


def test_the_grid_is_the_loss_at_each_place(classic: Cliff) -> None:
    assert classic.loss.shape == (len(classic.b), len(classic.w))
    for row, column in ((0, 0), (3, 70), (80, 11)):
        expected = Unit().loss(classic.w[column], classic.b[row])
        torch.testing.assert_close(classic.loss[row, column], expected)


def test_plain_descent_is_thrown_off_and_clipped_descent_is_not(classic: Cliff) -> None:
    assert jumps(classic.clipped).max() <= 0.4 * 0.1 * (1 + 1e-12)
    assert jumps(classic.plain).max() > 20 * jumps(classic.clipped).max()
    assert classic.plain.losses[-1] > classic.plain.losses[:20].min()  # and does not come back
    assert classic.clipped.losses[-20:].max() < 0.1 * classic.plain.losses[-1]


@pytest.mark.parametrize("limit", [0.1, 0.07, 1 / 3])
def test_a_clip_by_norm_keeps_the_direction_and_sets_the_length(limit: float) -> None:
    descent = cliff(limit=limit, points=2).clipped
    over = descent.norms > limit
    assert over.any()
    assert (~over).any()
    before, after = descent.gradients[over], descent.cut[over]
    torch.testing.assert_close(
        descent.cut_norms[over], torch.full_like(descent.norms[over], limit), rtol=1e-14, atol=0
    )
    cosine = (before * after).sum(-1) / before.norm(dim=-1) / after.norm(dim=-1)
    assert (cosine - 1).abs().max() <= 1e-12
    assert descent.cut[~over].equal(descent.gradients[~over])  # bit for bit


def test_a_clip_by_value_cuts_each_number_alone(classic: Cliff) -> None:
    descent = classic.clipped_by_value
    assert descent.cut.equal(descent.gradients.clamp(-0.1, 0.1))
    assert not descent.cut.equal(descent.gradients)
    assert classic.plain.cut.equal(classic.plain.gradients)


@pytest.mark.parametrize("clip", ["none", "norm", "value"])
def test_a_descent_is_what_its_parts_say(clip: Clip) -> None:
    """On a bowl, by hand: the gradient of (k . p^2) / 2 is k * p."""
    k = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
    parts = [torch.tensor([[3.0]]).double(), torch.tensor([-1.0, 0.125]).double()]
    for p in parts:
        p.requires_grad_()
    old = parts[0].grad = torch.ones_like(parts[0])

    def loss() -> Tensor:
        return (k * torch.cat([p.reshape(-1) for p in parts]) ** 2).sum() / 2

    descent = descend(loss, parts, rate=0.1, updates=15, limit=0.7, clip=clip)
    at = torch.tensor([3.0, -1.0, 0.125], dtype=torch.float64)
    for t in range(16):
        torch.testing.assert_close(descent.points[t], at)
        torch.testing.assert_close(descent.losses[t], (k * at**2).sum() / 2)
        gradient = k * at
        if clip == "norm":
            gradient = gradient * min(1.0, 0.7 / gradient.norm().item())
        elif clip == "value":
            gradient = gradient.clamp(-0.7, 0.7)
        at = at - 0.1 * gradient
    assert descent.gradients.shape == descent.cut.shape == (15, 3)
    assert parts[0].tolist() == [[3.0]]
    assert parts[1].tolist() == [-1.0, 0.125]
    assert parts[0].grad is old
    assert parts[1].grad is None
    nowhere = descend(loss, parts, rate=0.1, updates=0, limit=0.7)
    assert nowhere.points.shape == (1, 3)
    assert nowhere.gradients.shape == (0, 3)


def test_a_surface_of_a_bowl_is_known() -> None:
    p = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    a, b = torch.randn(2, 3, dtype=torch.float64)
    found = surface(lambda: (p**2).sum(), [p], ([a], [b]), span=0.5, points=5)
    for i, v in enumerate(found.v):
        for j, u in enumerate(found.u):
            expected = ((p + u * a + v * b) ** 2).sum().detach()
            torch.testing.assert_close(found.loss[i, j], expected)
    assert not found.loss.requires_grad
    inside = found.origin + torch.tensor([[0.1, -0.4], [2.0, 0.3]]).double() @ found.directions
    expected = torch.tensor([[0.1, -0.4], [2.0, 0.3]], dtype=torch.float64)
    torch.testing.assert_close(found.coordinates(inside), expected)


def test_a_surface_of_a_net_leaves_no_trace() -> None:
    cell, xs = us.cells.LSTM(3, 4), torch.randn(5, 2, 3)
    parameters = list(cell.parameters())
    before = [p.detach().clone() for p in parameters]

    def loss() -> Tensor:
        return us.unfold(cell, xs)[0].square().mean()

    found = surface(loss, parameters, points=3)
    assert found.loss[1, 1].equal(loss().detach())  # the middle is where the net stands
    assert len(set(found.loss.flatten().tolist())) == 9
    calls: list[int] = []

    def breaks() -> Tensor:
        calls.append(1)
        if len(calls) == 4:
            raise RuntimeError("out of luck")
        return loss()

    with pytest.raises(RuntimeError, match="out of luck"):
        surface(breaks, parameters, points=3)
    assert all(p.equal(old) for p, old in zip(parameters, before, strict=True))
    assert surface(loss, parameters, points=3).loss.equal(found.loss)
    assert not surface(loss, parameters, points=3, seed=1).loss.equal(found.loss)


def test_drawn_directions_are_as_long_as_what_they_move() -> None:
    net = nn.Linear(3, 4).double()
    weight, bias = net.weight, net.bias
    with torch.no_grad():
        weight[2] = 0.0
    found = surface(lambda: weight.sum(), [weight, bias], points=2)
    for direction in found.directions:
        rows, vector = direction[:12].view(4, 3), direction[12:]
        torch.testing.assert_close(rows.norm(dim=-1), weight.detach().norm(dim=-1))
        torch.testing.assert_close(vector.norm(), bias.detach().norm())
    assert not found.directions[0].equal(found.directions[1])


def test_what_is_refused() -> None:
    p = torch.zeros(2, requires_grad=True)
    with pytest.raises(ValueError, match=r"a direction has shapes \[\(3,\)\]; those of the"):
        surface(lambda: p.sum(), [p], ([torch.zeros(3)], [torch.zeros(2)]))
    with pytest.raises(ValueError, match="not 'both'"):
        descend(p.sum, [p], rate=1, updates=1, limit=1, clip="both")  # pyright: ignore
    for rate, limit in ((0.0, 1.0), (1.0, 0.0), (1.0, float("nan"))):
        with pytest.raises(ValueError, match="finite and above 0, not"):
            descend(p.sum, [p], rate=rate, updates=1, limit=limit)
    with pytest.raises(ValueError, match="'sigmoid' or 'tanh', not 'relu'"):
        Unit("relu")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="1 step or more, not 0"):
        Unit(steps=0)
