"""How parameters start. Every initialiser is a function of a cell: `LSTM.with_init(chrono(100))`.

The standard start, for every cell: matrices that multiply the input are Glorot uniform, those
that multiply something that depends on a state are orthogonal; vectors that are added are zero,
vectors that multiply are one; and the bias of every gate that keeps the old state is shifted by
one towards keeping (the forget bias of Jozefowicz et al. 2015). Such a gate is recognised where
it is written as lectures write it, a line `f = sigmoid(... + b)` that multiplies the state in its
update, or one minus it does (see `equations.gates`).
"""

from __future__ import annotations

from collections.abc import Callable, Container
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from unspool.cells.seeded import one_thread
from unspool.equations.expr import Apply, Name, walk
from unspool.equations.gates import gates
from unspool.equations.program import Equations

if TYPE_CHECKING:
    from unspool.cells.cell import Cell


Init = Callable[["Cell"], None]


def standard(cell: Cell) -> None:
    eqs = cell.equations
    scales = _scales(eqs)
    for name in eqs.parameters:
        parameter = cell.parameter(name)
        if name in eqs.recurrent:
            _orthogonal_(parameter, 1.0)
        elif name in eqs.matrices:
            nn.init.xavier_uniform_(parameter)
        else:
            parameter.fill_(1.0 if name in scales else 0.0)
    _keep_bias(1.0, cell)


def _scales(equations: Equations) -> set[str]:
    """Vector parameters that stand as a factor."""
    return {
        arg.id
        for line in equations.lines
        for node in walk(line.expr)
        if isinstance(node, Apply) and node.function in ("*", "/")
        for arg in node.args
        if isinstance(arg, Name) and arg.id in equations.vectors
    }


def _orthogonal_(matrix: Tensor, gain: float) -> None:
    wide = torch.empty(matrix.shape, dtype=torch.promote_types(matrix.dtype, torch.float32))
    with one_thread():  # one seed gives the same weights whatever the number of threads
        matrix.copy_(nn.init.orthogonal_(wide, gain))  # torch has no QR for bfloat16


def keep_bias(value: float) -> Init:
    """Every gate that keeps the old state starts at sigmoid(value)."""
    return partial(_keep_bias, value)


def _keep_bias(value: float, cell: Cell) -> None:
    for gate in gates(cell.equations):
        if gate.role == "keep":
            cell.parameter(gate.bias).fill_(gate.sign * value)


def chrono(longest: int) -> Init:
    """Gates start out remembering for between 1 and `longest` steps (Tallec and Ollivier 2018).

    The bias that keeps is log(u) with u uniform in [1, longest - 1]; the one that writes, where
    it is a gate of its own, is its negative.
    """
    if longest < 3:
        raise ValueError(f"chrono needs a longest dependency of 3 steps or more, not {longest}")
    return partial(_chrono, longest)


def _chrono(longest: int, cell: Cell) -> None:
    found = gates(cell.equations)
    if not found:
        raise ValueError(f"chrono finds no gate in {cell.kind.name} that keeps the old state")
    memory = torch.zeros(())
    for gate in found:  # a writing gate comes after the one that keeps
        bias = cell.parameter(gate.bias)
        if gate.role == "keep":
            memory = torch.empty_like(bias).uniform_(1, longest - 1).log_()
            bias.copy_(gate.sign * memory)
        else:
            bias.copy_(-gate.sign * memory)


def orthogonal(gain: float = 1.0) -> Init:
    """Recurrent matrices start orthogonal, times `gain`."""
    return partial(_orthogonal, gain)


def _orthogonal(gain: float, cell: Cell) -> None:
    for name in cell.equations.recurrent:
        _orthogonal_(cell.parameter(name), gain)


def identity(scale: float = 1.0) -> Init:
    """Recurrent matrices start as the identity, times `scale` (Le, Jaitly and Hinton 2015)."""
    return partial(_identity, scale)


def _identity(scale: float, cell: Cell) -> None:
    for name in cell.equations.recurrent:
        nn.init.eye_(cell.parameter(name)).mul_(scale)


def normal(std: float, names: str = "*") -> Init:
    """Matrices whose name matches start normal around zero."""
    return partial(_normal, std, names)


def _normal(std: float, names: str, cell: Cell) -> None:
    for name in _matching(cell, names, cell.equations.matrices):
        nn.init.normal_(cell.parameter(name), std=std)


def uniform(low: float, high: float, names: str = "*") -> Init:
    """Parameters whose name matches start uniform between `low` and `high`."""
    return partial(_uniform, low, high, names)


def _uniform(low: float, high: float, names: str, cell: Cell) -> None:
    for name in _matching(cell, names, cell.equations.parameters):
        nn.init.uniform_(cell.parameter(name), low, high)


def constant(value: float, names: str) -> Init:
    """Parameters whose name matches start at `value`: constant(0.0, "p_*")."""
    return uniform(value, value, names)


def _matching(cell: Cell, pattern: str, among: Container[str]) -> list[str]:
    found = [n for n in cell.equations.parameters if n in among and fnmatchcase(n, pattern)]
    if not found:
        listed = ", ".join(cell.equations.parameters)
        raise ValueError(f"no parameter of {cell.kind.name} matches {pattern!r}; it has {listed}")
    return found
