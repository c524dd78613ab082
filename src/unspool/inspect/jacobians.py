"""How one step's state depends on an earlier one: Jacobians, their products, and two bounds.

The state s is all states of a cell joined in their order, [h; c] for an LSTM. Along one row

    ds_T/ds_t = J_T @ J_(T-1) @ ... @ J_(t+1),    J_t = ds_t/ds_(t-1),

in this order: matrices do not commute (Bilici eq 67 and Masi and Faralli pull them apart). With
J = diag(f'(a)) @ U the norm is at most (gamma * sigma_1)^(T-t), where gamma is the largest slope
of f and sigma_1 the largest singular value of U (Tutek et al.). So gamma * sigma_1 < 1 is enough
for gradients to vanish, while > 1 is needed for them to explode, and is not enough.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound, Cell, CellType
from unspool.engine.call import Call, prepare
from unspool.engine.unfold import unfold
from unspool.equations.expr import Apply, Expr, Name, Product, names
from unspool.equations.program import Equations
from unspool.equations.rewrite import terms

SLOPES = {"tanh": 1.0, "relu": 1.0, "sigmoid": 0.25}  # the largest of each activation
TOGETHER = 64  # rows of the Jacobians that are computed at once: what memory allows for


@torch.no_grad()
def step_jacobians(cell: Any, xs: Tensor, state: Sequence[Tensor] | None = None) -> Tensor:
    """J_t = ds_t/ds_(t-1) of every step, (T, S, S), along one row `xs` (T, I) or (T, 1, I).

    Any cell: equations, or a Python class. At index t stands the step from s_t to s_(t+1),
    counted from the initial state s_0, which is `state` (of one row) or zeros.
    """
    if isinstance(xs, Tensor) and xs.dim() == 2:
        xs = xs[:, None]
    call = prepare(cell, xs, state, lengths=None, reverse=False, masks=None, record=())
    if call.xs.shape[1] != 1:
        raise ValueError(
            f"xs has {call.xs.shape[1]} rows, and Jacobians are those of one: give xs[:, :1]"
        )
    sizes = list(call.cell.state_sizes.values())
    steps = call.xs.transpose(0, 1)  # each step becomes a row, and all are taken at once

    def new_states(old: Tensor) -> Tensor:
        _, new = unfold(call.cell, steps, old.split(sizes, -1), backend="reference")
        return torch.cat(new, -1).sum(0)  # a row reads its own state alone: the sum loses nothing

    jacobian = torch.func.jacrev(new_states, chunk_size=TOGETHER)(_states_before(call))
    assert isinstance(jacobian, Tensor)
    return jacobian.transpose(0, 1)


def _states_before(call: Call) -> Tensor:
    """The state that each step starts from, joined, (T, S)."""
    record = tuple(call.cell.state_sizes)
    lines = unfold(call.cell, call.xs, call.state, record=record, backend="reference")[2]
    after = torch.cat([lines[name][:, 0] for name in record], -1)
    return torch.cat([torch.cat(tuple(call.state), -1), after])[: len(call.xs)]


def products(jacobians: Tensor) -> Tensor:
    """At index t ds_T/ds_t, (T + 1, S, S), of the Jacobians (T, S, S); the identity at T.

    Further dimensions may stand in front.
    """
    *_, size, columns = _matrices(jacobians, "the Jacobians").shape
    if size != columns:
        raise ValueError(f"Jacobians of a state are square, not {size} by {columns}")
    identity = torch.eye(size, dtype=jacobians.dtype, device=jacobians.device)
    found = [identity.expand(*jacobians.shape[:-3], size, size)]
    for jacobian in reversed(jacobians.unbind(-3)):
        found.append(found[-1] @ jacobian)
    return torch.stack(found[::-1], -3)


def singular_values(products: Tensor) -> Tensor:
    """Of each matrix, the largest first; the first is its norm. (T + 1, S, S) to (T + 1, S).

    What lies a factor of 10^16 below the largest is rounding (in float64). A product that has
    grown beyond all numbers has nan for its singular values.
    """
    finite = _matrices(products, "the products").isfinite().all(-1).all(-1)
    safe = torch.where(finite[..., None, None], products, 0.0)
    return torch.where(finite[..., None], torch.linalg.svdvals(safe), torch.nan)


def norm_bound(jacobians: Tensor) -> Tensor:
    """At index t the product of the norms of the steps after t, (T + 1,).

    ||A @ B|| <= ||A|| ||B||, so it bounds ||ds_T/ds_t|| for every cell.
    """
    return _after(singular_values(_matrices(jacobians, "the Jacobians"))[..., 0])


def scalar_products(w: float | Tensor, slopes: Tensor) -> Tensor:
    """The case of one unit, h_t = f(a_t), a_t = w * h_(t-1) + ...: at index t dh_T/dh_t, (T + 1,).

    `slopes` (T,) are f'(a_t), such as 1 - h_t^2 for tanh. Numbers do commute, so this is
    w^(T-t) times the product of the slopes.
    """
    return _after(w * slopes)


def _after(factors: Tensor) -> Tensor:
    """At each index the product of all factors from there on, and 1 at the end."""
    one = torch.ones_like(factors[..., :1]) if factors.shape[-1] else factors.new_ones(1)
    return torch.cat([factors.flip(-1).cumprod(-1).flip(-1), one], -1)


def _matrices(given: Tensor, what: str) -> Tensor:
    if not isinstance(given, Tensor) or given.dim() < 3:
        found = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        raise ValueError(f"{what} are a tensor of matrices, one for each step; got {found}")
    return given


def bound(cell: Any, steps: int) -> Tensor | None:
    """The bound of the lecture, (gamma * sigma_1)^(T-t) at index t, (steps + 1,).

    For a cell with one state whose update is f(... + U @ h + ...), f tanh, relu, sigmoid or
    nothing, and h nowhere else in it, whatever the names; for any other cell None.
    """
    if isinstance(cell, CellType):
        raise ValueError(
            f"{cell.name} is a cell type and has no weights yet; the bound is that of a cell: "
            f"{cell.name}(input_size, hidden_size)"
        )
    weights = cell.bind() if isinstance(cell, Cell) else cell
    form = _plain_form(weights.equations) if isinstance(weights, Bound) else None
    if form is None:
        return None
    gamma, matrix = form
    with torch.no_grad():
        base = gamma * torch.linalg.matrix_norm(weights.tensors[matrix], 2)
        return base ** torch.arange(steps, -1, -1, dtype=base.dtype, device=base.device)


def _plain_form(equations: Equations) -> tuple[float, str] | None:
    """The largest slope and the recurrent matrix of h' = f(... + U @ h + ...)."""
    if len(equations.states) != 1:
        return None
    (state,) = equations.states
    lines = {line.name: line.expr for line in equations.lines if line.name in equations.stateful}
    update, gamma = _written_out(Name(equations.carried[state]), lines), 1.0
    match update:
        case Apply(function=function, args=(inside,)) if function in SLOPES:
            update, gamma = inside, SLOPES[function]
    match list(islice(_stateful_terms(update, {state, *lines}, lines), 2)):
        case [Product(matrix=matrix, operand=operand)]:
            return (gamma, matrix) if _written_out(operand, lines) == Name(state) else None
    return None


def _written_out(expr: Expr, lines: Mapping[str, Expr]) -> Expr:
    """What a name stands for, so that a pre-activation may have a line of its own."""
    while isinstance(expr, Name) and expr.id in lines:
        expr = lines[expr.id]
    return expr


def _stateful_terms(expr: Expr, stateful: Set[str], lines: Mapping[str, Expr]) -> Iterator[Expr]:
    """The terms of a sum, and of the sums that it names, that depend on a state."""
    for term in terms(expr):
        if isinstance(term, Name) and term.id in lines:
            yield from _stateful_terms(lines[term.id], stateful, lines)
        elif names(term) & stateful:
            yield term
