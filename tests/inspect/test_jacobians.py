"""Jacobians against autograd and finite differences; the bounds against what they bound."""

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import unspool as us
from tests.conformance.table import IDS, TABLE, build
from unspool.cells.cell import Bound
from unspool.inspect.jacobians import (
    bound,
    norm_bound,
    products,
    scalar_products,
    singular_values,
    step_jacobians,
)

every_cell = pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)
ROUNDING = 1 + 1e-9  # of 30 factors, and of the singular values
CASES, GROUPS = 100, 25  # of each of four activations: 10,000


def joined(state: Any) -> Tensor:
    return torch.cat([value[0] for value in state])


def case(cell: Any, steps: int = 5) -> tuple[Tensor, list[Tensor]]:
    xs = torch.randn(steps, cell.input_size, dtype=torch.float64)
    return xs, [torch.randn(1, n, dtype=torch.float64) for n in cell.state_sizes.values()]


def last_state(cell: Any, xs: Tensor, joined_state: Tensor) -> Tensor:
    """s_T as a function of s_0, one unfold."""
    state = joined_state[None].split(list(cell.state_sizes.values()), -1)
    return joined(us.unfold(cell, xs[:, None], state, backend="reference")[1])


def states_on_the_way(cell: Any, xs: Tensor, state: list[Tensor]) -> list[Tensor]:
    lasts = [us.unfold(cell, xs[:t, None], state)[1] for t in range(len(xs) + 1)]
    return [joined(last).detach() for last in lasts]


@every_cell
def test_products_are_the_jacobians_of_the_whole_unfold(
    kind: us.CellType, sizes: dict[str, int]
) -> None:
    cell = build(kind, sizes)
    xs, state = case(cell)
    ours = products(step_jacobians(cell, xs, state))
    assert not ours.requires_grad
    for t, s in enumerate(states_on_the_way(cell, xs, state)):
        theirs = torch.autograd.functional.jacobian(lambda s, t=t: last_state(cell, xs[t:], s), s)
        torch.testing.assert_close(ours[t], theirs, rtol=1e-10, atol=1e-12)


@every_cell
def test_products_are_what_finite_differences_say(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = case(cell)
    ours, eps = products(step_jacobians(cell, xs, state)), 1e-5
    for t, s in enumerate(states_on_the_way(cell, xs, state)):
        columns = [
            (last_state(cell, xs[t:], s + eps * e) - last_state(cell, xs[t:], s - eps * e))
            / (2 * eps)
            for e in torch.eye(len(s), dtype=torch.float64)
        ]
        theirs = torch.stack(columns, -1).detach()
        assert (ours[t] - theirs).norm() <= 1e-7 * theirs.norm()


@every_cell
def test_no_cell_goes_above_the_product_of_its_norms(
    kind: us.CellType, sizes: dict[str, int]
) -> None:
    cell = build(kind, sizes)
    jacobians = step_jacobians(cell, *case(cell, steps=12))
    measured = singular_values(products(jacobians))[:, 0]
    assert (measured <= norm_bound(jacobians) * ROUNDING).all()


class Spring(nn.Module):
    """A Python cell with two states; its branch looks at a number, as Python code may."""

    state_sizes = {"place": 2, "speed": 1}  # noqa: RUF012
    output_size = 2
    input_size = 3

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        sign = 1.0 if float(x.detach().sum()) < 1e9 else -1.0
        place = torch.tanh(state.place * sign + state.speed + x[:, :2])
        return place, (place, state.speed - state.place.sum(-1, keepdim=True) * x[:, 2:])


def test_a_python_cell_has_jacobians_too() -> None:
    cell = Spring()
    xs, state = case(cell)
    ours = products(step_jacobians(cell, xs[:, None], state))
    theirs = torch.autograd.functional.jacobian(lambda s: last_state(cell, xs, s), joined(state))
    torch.testing.assert_close(ours[0], theirs)
    assert bound(cell, 5) is None


def test_the_order_of_a_product_matters() -> None:
    a, b, c = jacobians = torch.randn(3, 4, 4, dtype=torch.float64)
    ours = products(jacobians)
    expected = torch.stack([c @ b @ a, c @ b, c, torch.eye(4, dtype=torch.float64)])
    torch.testing.assert_close(ours, expected)
    assert not torch.allclose(ours[0], a @ b @ c)
    many = torch.randn(2, 5, 3, 4, 4, dtype=torch.float64)
    torch.testing.assert_close(products(many)[1, 2], products(many[1, 2]))
    torch.testing.assert_close(norm_bound(many)[1, 2], norm_bound(many[1, 2]))


def test_without_steps_only_the_identity_is_left() -> None:
    jacobians = step_jacobians(us.cells.LSTM(2, 3), torch.zeros(0, 2))
    assert jacobians.shape == (0, 6, 6)
    assert products(jacobians).equal(torch.eye(6)[None])
    assert norm_bound(jacobians).tolist() == [1.0]


def random_cases(activation: str) -> Any:
    """Cells h' = f(...) under other names, all drawn at random, a hundred of a size at once."""
    text = "A @ x + B @ s + c"
    kind = us.cell(f"s' = {activation}({text})" if activation else f"s' = {text}")
    for _ in range(GROUPS):
        inputs, hidden, steps = (int(torch.randint(1, top, ())) for top in (5, 8, 30))

        def draw(*shape: int, low: float, high: float) -> Tensor:
            scale = torch.empty(CASES, dtype=torch.float64).uniform_(low, high).exp()
            numbers = torch.randn(CASES, *shape, dtype=torch.float64)
            return numbers * scale.view(-1, *(1 for _ in shape))

        tensors = {
            "A": draw(hidden, inputs, low=-3, high=1),
            "B": draw(hidden, hidden, low=-3, high=1.5),
            "c": draw(hidden, low=-4, high=1),
        }
        sizes = {"input": inputs, "hidden": hidden}
        yield kind.equations, sizes, steps, tensors, draw(steps, inputs, low=-3, high=2)


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid", ""])
def test_ten_thousand_random_cells_stay_below_both_bounds(activation: str) -> None:
    count, tightest = 0, 0.0
    for equations, sizes, steps, tensors, xs in random_cases(activation):

        def one(
            tensors: dict[str, Tensor],
            xs: Tensor,
            equations: Any = equations,
            sizes: dict[str, int] = sizes,
            steps: int = steps,
        ) -> tuple[Tensor, Tensor]:
            cell = Bound(equations, sizes, tensors)
            above = bound(cell, steps)
            assert above is not None
            return step_jacobians(cell, xs), above

        jacobians, above = torch.func.vmap(one)(tensors, xs)
        measured = singular_values(products(jacobians))[..., 0]
        by_norms = norm_bound(jacobians)
        assert (measured <= by_norms * ROUNDING).all()
        assert (by_norms <= above * ROUNDING).all()
        count += len(measured)
        tightest = max(tightest, (measured / above)[:, :-1].max().item())
    assert count == CASES * GROUPS
    assert tightest > 0.5  # the bound is one that cells come near to


def test_above_one_is_not_enough_to_explode() -> None:
    linear = us.cell("h' = W @ x + U @ h")(1, 2).double()
    squashed = us.cell("h' = tanh(W @ x + U @ h)")(1, 2).double()
    xs = torch.full((40, 1), 9.0, dtype=torch.float64)
    with torch.no_grad():
        linear.parameter("U").copy_(torch.tensor([[0.0, 3.0], [0.0, 0.0]]))  # twice: nothing left
        squashed.parameter("U").copy_(3 * torch.eye(2))  # and far out tanh is flat
        squashed.parameter("W").fill_(1.0)
    for cell in (linear, squashed):
        above = bound(cell, 40)
        assert above is not None
        assert above[0] > 1e19
        assert singular_values(products(step_jacobians(cell, xs)))[0, 0] < 1e-9


RECOGNISED = {
    "h' = tanh(W @ x + U @ h + b)": 1.0,
    "s' = relu(A @ x + U @ s)": 1.0,
    "h' = sigmoid(U @ h + W @ x)": 0.25,
    "h' = b - U @ h + W @ x": 1.0,
    "h' = U @ h": 1.0,
    "a = W @ x + U @ h + b\nh' = sigmoid(a)": 0.25,
    "u = W @ x\nv = U @ h\na = u - (v + b)\nh' = tanh(a)\ny = sigmoid(V @ h' + h)": 1.0,
    "h' = tanh(sigmoid(W @ x) * b + U @ h)": 1.0,
}


@pytest.mark.parametrize("text", RECOGNISED)
def test_the_bound_of_the_lecture_is_found_under_any_name(text: str) -> None:
    cell = us.cell(text)(3, 4).double()
    with torch.no_grad():
        cell.parameter("U").normal_()
    base = RECOGNISED[text] * torch.linalg.svdvals(cell.parameter("U")).max().item()
    found = bound(cell, 6)
    assert found is not None
    assert found.tolist() == pytest.approx([base ** (6 - t) for t in range(7)])


@pytest.mark.parametrize(
    "text",
    [
        "h' = tanh(W @ x + U @ h + V @ h)",
        "h' = tanh(W @ x + U @ h) + h",
        "h' = tanh(W @ x + U @ h + h)",
        "h' = tanh(W @ x + U @ (b * h))",
        "h' = tanh(W @ x + b * (U @ h))",
        "h' = b * tanh(W @ x + U @ h)",
        "h' = softplus(W @ x + U @ h)",
        "h' = tanh(tanh(W @ x + U @ h))",
        "h' = W @ x + tanh(U @ h)",
        "h' = tanh(W @ x + u * h)",
        "h' = tanh(W @ x)",
        "h' = h",
        "h' = tanh(W @ x + U @ h + V @ c)\nc' = tanh(V @ h)",
        # written out, this sum has 2^40 terms
        "a0 = U @ h\n" + "".join(f"a{n + 1} = a{n} + a{n}\n" for n in range(40)) + "h' = a40",
    ],
)
def test_any_other_form_has_no_such_bound(text: str) -> None:
    assert bound(us.cell(text)(3, 3), 5) is None


@pytest.mark.parametrize("kind", [us.cells.LSTM, us.cells.GRU, us.cells.IndRNN, us.cells.MUT3])
def test_cells_with_gates_have_no_such_bound(kind: us.CellType) -> None:
    assert bound(kind(3, 3), 5) is None


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_one_unit_is_the_scalar_case(activation: str) -> None:
    cell = us.cell(f"h' = {activation}(V @ x + U @ h + b)")(2, 1).double()
    w, xs = 1.7, torch.randn(9, 2, dtype=torch.float64)
    with torch.no_grad():
        cell.parameter("U").fill_(w)
    h = us.unfold(cell, xs[:, None])[0].flatten().detach()
    slopes = 1 - h**2 if activation == "tanh" else h * (1 - h)
    ours = products(step_jacobians(cell, xs)).flatten()
    torch.testing.assert_close(scalar_products(w, slopes), ours)
    by_hand = [w ** (9 - t) * slopes[t:].prod().item() for t in range(10)]
    assert ours.tolist() == pytest.approx(by_hand)


def test_what_has_grown_beyond_all_numbers_is_nan() -> None:
    jacobians = 10 * torch.eye(2, dtype=torch.float64).expand(400, 2, 2)
    found = singular_values(products(jacobians))
    assert found[0].isnan().all()
    assert found[-2:].isfinite().all()
    assert norm_bound(jacobians)[0] == torch.inf


def test_what_is_refused() -> None:
    cell = us.cells.Elman(2, 3)
    with pytest.raises(ValueError, match="xs has 4 rows, and Jacobians are those of one"):
        step_jacobians(cell, torch.zeros(5, 4, 2))
    with pytest.raises(ValueError, match="elman is a cell type and has no weights yet"):
        bound(us.cells.Elman, 3)
    with pytest.raises(ValueError, match="square, not 2 by 3"):
        products(torch.zeros(1, 2, 3))
    for function, shape in product((products, singular_values, norm_bound), ((3,), (3, 3))):
        with pytest.raises(ValueError, match="one for each step; got"):
            function(torch.zeros(shape))
