"""Backpropagation through time with the derived equations, one step after the other.

Nothing is traced: the forward pass keeps the values of every line, and the backward step of
`equations.derivative` runs over them from the last step to the first. It gives what autograd
does not: the total gradient dL/dh_t of every state, and of every line, at every step.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.engine.call import (
    Call,
    autocast_is_on,
    bound_of,
    prepare,
    state_like,
    without_autocast,
)
from unspool.engine.masks import Masks
from unspool.engine.reference import Rows, active_rows, step_inputs, take
from unspool.equations.derivative import OUTPUT, Backward, adjoint, derive, from_next
from unspool.equations.evaluate import evaluate, run


class Gradients(NamedTuple):
    """Of a loss, with respect to: the inputs, the initial state, each parameter by its name in
    the equations, and each recorded line at each step, (T, B, n)."""

    xs: Tensor
    state: Any
    parameters: dict[str, Tensor]
    recorded: dict[str, Tensor]


@torch.no_grad()
def bptt(
    cell: Any,
    xs: Tensor,
    state: Sequence[Tensor] | None = None,
    *,
    d_ys: Tensor,
    d_state: Sequence[Tensor] | None = None,
    lengths: Tensor | Sequence[int] | None = None,
    reverse: bool = False,
    masks: Masks | None = None,
    record: Sequence[str] = (),
) -> Gradients:
    """The gradients of `unfold(cell, xs, state, ...)`, given those of its outputs.

    `d_ys` (T, B, O) is the direct gradient of the outputs (`ys.grad`), `d_state` that of the
    returned state (zeros if None). `record` names lines whose total gradients are wanted at
    every step; a state's name means its new value, so `record=("h",)` gives dL/dh_t.
    """
    call = prepare(cell, xs, state, lengths=lengths, reverse=reverse, masks=masks, record=record)
    if not isinstance(call.cell, Bound):
        raise ValueError("bptt differentiates equations; a Python cell has none: use autograd")
    if autocast_is_on(xs.device.type):
        d_ys = d_ys.to(call.xs.dtype)
    if d_ys.shape != (*xs.shape[:2], call.cell.output_size) or d_ys.dtype != call.xs.dtype:
        raise ValueError(
            f"d_ys has shape {tuple(d_ys.shape)} of {d_ys.dtype}; the outputs have "
            f"{(*xs.shape[:2], call.cell.output_size)} of {call.xs.dtype}"
        )
    ends = state_like(call.cell, d_state, call.xs, "gradient d_state,")
    with without_autocast(xs.device.type):
        found = _Tape(call, call.cell, masks or Masks()).backward(d_ys, ends)
    own = bound_of(cell)
    assert isinstance(own, Bound)
    shares = {name: share.to(own.tensors[name].dtype) for name, share in found.parameters.items()}
    return found._replace(parameters=shares)


class _Tape:
    """The forward values of every step, and the walk back over them."""

    def __init__(self, call: Call, bound: Bound, masks: Masks):
        self.call, self.bound, self.masks = call, bound, masks
        self.derived: Backward = derive(bound.equations)
        self.active = active_rows(call.lengths, len(call.xs), call.xs.device)
        self.steps: list[tuple[int, Rows, dict[str, Any]]] = []
        forward = self.derived.forward
        # the derived lines read pre-activations too, which have names of their own there
        self.size_of = Bound(forward, bound.sizes, bound.tensors).size_of
        values = dict(zip(forward.states, call.state, strict=True))
        order = range(len(call.xs))
        for t in reversed(order) if call.reverse else order:
            rows = self.active[t]
            x = take(call.xs[t], rows)
            env = {**step_inputs(call, t, rows), "x": x}
            env |= {name: take(value, rows) for name, value in values.items()}
            run(forward.lines, env, x, self.size_of)
            self.steps.append((t, rows, env))
            for name, line in forward.carried.items():
                values[name] = _put(values[name], rows, env[line])

    def backward(self, d_ys: Tensor, ends: Sequence[Tensor]) -> Gradients:
        call, bound, eqs = self.call, self.bound, self.bound.equations
        flow = dict(zip(eqs.states, ends, strict=True))
        parameters = {name: torch.zeros_like(value) for name, value in bound.tensors.items()}
        d_xs = torch.zeros_like(call.xs)
        recorded = {name: self._zeros(name) for name in call.record}
        for t, rows, env in reversed(self.steps):
            env[OUTPUT] = take(d_ys[t], rows)
            for name, value in flow.items():
                env[from_next(name)] = take(value, rows)
            for line in self.derived.lines:
                env[line.name] = evaluate(line.expr, env, self.size_of)
            self._add_parameters(parameters, env)
            for name, value in flow.items():
                flow[name] = _put(value, rows, env.get(adjoint(name), torch.zeros_like(env[name])))
            if adjoint("x") in env:
                d_xs[t] = _put(d_xs[t], rows, env[adjoint("x")])
            for name, history in recorded.items():
                line = adjoint(eqs.carried.get(name, name))
                if line in env:
                    history[t] = _put(history[t], rows, env[line])
        for name, mask in self.masks.weights.items():
            parameters[name] = parameters[name] * mask
        return Gradients(d_xs, type(call.state)(*flow.values()), parameters, recorded)

    def _zeros(self, name: str) -> Tensor:
        size = self.bound.size(self.bound.equations.carried.get(name, name))
        return self.call.xs.new_zeros(*self.call.xs.shape[:2], size)

    def _add_parameters(self, parameters: dict[str, Tensor], env: dict[str, Any]) -> None:
        """This step's share: sums of outer products for matrices, of rows for vectors."""
        for name, outers in self.derived.matrices.items():
            for outer in outers:
                left = evaluate(outer.left, env, self.size_of)
                right = evaluate(outer.right, env, self.size_of)
                assert isinstance(left, Tensor)
                assert isinstance(right, Tensor)
                parameters[name] += left.T @ right
        for name, share in self.derived.vectors.items():
            value = evaluate(share, env, self.size_of)
            assert isinstance(value, Tensor)
            parameters[name] += value.sum(0)


def _put(whole: Tensor, rows: Rows, value: Tensor) -> Tensor:
    """`whole` with these rows replaced."""
    return value if rows is None else whole.index_copy(0, rows, value)
