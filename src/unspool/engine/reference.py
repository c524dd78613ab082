"""The reference: one torch step after the other. It is the oracle of every other backend.

Rows past their end are left out of a step altogether, so what stands in the padding is never
computed with. The lengths are therefore read on the host, once a call.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.cells.state import make_state
from unspool.engine.call import Call, PythonCell
from unspool.equations.evaluate import run
from unspool.equations.rewrite import keep_name

Rows = Tensor | None  # the rows that take part in a step; None: all of them
Step = Callable[[int, Rows, Tensor, Any], tuple[Tensor, Any, dict[str, Tensor]]]


def unfold_reference(call: Call) -> tuple[Tensor, Any, dict[str, Tensor]]:
    """Outputs (T, B, O), the last state of each row, and what was recorded, by name."""
    cell, xs = call.cell, call.xs
    step = _equation_step(call, cell) if isinstance(cell, Bound) else _python_step(call, cell)
    T, B = xs.shape[:2]
    state = call.state
    names = ("", *call.record)  # the output has no name that a line could have
    history: dict[str, list[Tensor | None]] = {name: [None] * T for name in names}
    active = active_rows(call.lengths, T, xs.device)
    for t in reversed(range(T)) if call.reverse else range(T):
        rows = active[t]
        if rows is not None and not len(rows):
            continue
        y, new, recorded = step(t, rows, take(xs[t], rows), _each(take, state, rows))
        for name, value in zip(names, (y, *recorded.values()), strict=True):
            history[name][t] = (
                value
                if rows is None
                else value.new_zeros(B, value.shape[1]).index_copy(0, rows, value)
            )
        state = (
            new
            if rows is None
            else _each(lambda old, fresh, rows=rows: old.index_copy(0, rows, fresh), state, new)
        )
    sizes = {"": cell.output_size, **{name: _size(cell, name) for name in call.record}}
    stacked = {name: _stack(history[name], xs.new_zeros(B, sizes[name])) for name in names}
    return stacked.pop(""), state, stacked


def active_rows(lengths: Tensor | None, T: int, device: torch.device) -> list[Rows]:
    """For each step the rows that are not yet past their end."""
    if lengths is None:
        return [None] * T
    counts = lengths.tolist()
    if any(not 0 <= count <= T for count in counts):
        raise ValueError(f"lengths lie between 0 and the {T} steps of xs; got {counts}")
    steps: list[Rows] = []
    for t in range(T):
        rows = [b for b, count in enumerate(counts) if t < count]
        everyone = len(rows) == len(counts)
        steps.append(None if everyone else torch.tensor(rows, dtype=torch.long, device=device))
    return steps


def take(value: Tensor, rows: Rows) -> Tensor:
    return value if rows is None else value.index_select(0, rows)


def step_inputs(call: Call, t: int, rows: Rows) -> dict[str, Tensor | float]:
    """What a step reads beside x and the state: parameters, and its own rows of the masks."""
    assert isinstance(call.cell, Bound)
    steps = {
        k: take(m[t], rows) if isinstance(m, Tensor) else m for k, m in call.step_masks.items()
    }
    by_row = {k: take(mask, rows) for k, mask in call.row_masks.items()}
    return {**call.cell.tensors, **by_row, **steps}


def _equation_step(call: Call, bound: Bound) -> Step:
    eqs = bound.equations

    def step(t: int, rows: Rows, x: Tensor, state: Any) -> tuple[Tensor, Any, dict[str, Tensor]]:
        env = {**step_inputs(call, t, rows), "x": x, **dict(zip(eqs.states, state, strict=True))}
        run(eqs.lines, env, x, bound.size_of)
        new = make_state(eqs.states, (env[line] for line in eqs.carried.values()))
        return (
            env[eqs.output],
            new,
            {name: env[eqs.carried.get(name, name)] for name in call.record},
        )

    return step


def _python_step(call: Call, cell: PythonCell) -> Step:
    names = tuple(cell.state_sizes)

    def step(t: int, rows: Rows, x: Tensor, state: Any) -> tuple[Tensor, Any, dict[str, Tensor]]:
        y, new = _checked(cell, x, cell.step(x, state))
        kept = []
        for name, old, fresh in zip(names, state, new, strict=True):
            keep = call.step_masks.get(keep_name(name), 0.0)
            keep = take(keep[t], rows) if isinstance(keep, Tensor) else keep
            kept.append(
                fresh if isinstance(keep, float) and not keep else keep * old + (1 - keep) * fresh
            )
        by_name = dict(zip(names, kept, strict=True))
        return y, make_state(names, kept), {name: by_name[name] for name in call.record}

    return step


def _checked(cell: PythonCell, x: Tensor, result: Any) -> tuple[Tensor, tuple[Tensor, ...]]:
    """What a Python cell's step returned, if it is what the class says it is."""
    name, rows, sizes = type(cell).__name__, x.shape[0], list(cell.state_sizes.values())
    if not isinstance(result, tuple) or len(result) != 2:
        raise ValueError(f"{name}.step returns (y, state), not a {type(result).__name__}")
    y, state = result
    if not isinstance(y, Tensor) or y.shape != (rows, cell.output_size):
        found = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
        raise ValueError(f"{name}.step returned y {found}; expected {(rows, cell.output_size)}")
    shapes = [tuple(v.shape) for v in state] if isinstance(state, tuple | list) else type(state)
    if shapes != [(rows, n) for n in sizes]:
        expected = [(rows, n) for n in sizes]
        raise ValueError(f"{name}.step returned a state of shapes {shapes}; expected {expected}")
    return y, tuple(state)


def _size(cell: Bound | PythonCell, name: str) -> int:
    if isinstance(cell, Bound):
        return cell.size(cell.equations.carried.get(name, name))
    return cell.state_sizes[name]


def _each(change: Callable[..., Tensor], state: Any, other: Any) -> Any:
    """A state with every field changed; `other` is rows for all of them, or a state beside it."""
    others = other if isinstance(other, tuple) else (other,) * len(state)
    return type(state)(
        *(change(value, second) for value, second in zip(state, others, strict=True))
    )


def _stack(steps: list[Tensor | None], nothing: Tensor) -> Tensor:
    """All steps as one tensor, zeros where no row took part."""
    if not steps:
        return nothing.new_zeros(0, *nothing.shape)
    return torch.stack([nothing if value is None else value for value in steps])
