"""How parameters start. Every initialiser is a function of a cell: `LSTM.with_init(chrono(100))`.

The standard start, for every cell: matrices that multiply the input are Glorot uniform, those
that multiply something that depends on a state are orthogonal; vectors that are added are zero,
vectors that multiply are one; and the bias of every gate that keeps the old state is shifted by
one towards keeping (the forget bias of Jozefowicz et al. 2015, found by `equations.gates`).
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from unspool.equations.expr import Apply, Name, walk
from unspool.equations.gates import gates
from unspool.equations.program import Equations

if TYPE_CHECKING:
    from unspool.cells.cell import Cell


def standard(cell: Cell) -> None:
    eqs = cell.equations
    scales = _scales(eqs)
    for name in eqs.parameters:
        parameter = cell.parameter(name)
        if name in eqs.recurrent:
            nn.init.orthogonal_(parameter)
        elif name in eqs.matrices:
            nn.init.xavier_uniform_(parameter)
        else:
            parameter.fill_(1.0 if name in scales else 0.0)
    keep_bias(1.0)(cell)


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


def keep_bias(value: float) -> Callable[[Cell], None]:
    """Every gate that keeps the old state starts at sigmoid(value)."""

    def init(cell: Cell) -> None:
        for gate in gates(cell.equations):
            if gate.role == "keep":
                cell.parameter(gate.bias).fill_(gate.sign * value)

    return init


def chrono(longest: int) -> Callable[[Cell], None]:
    """Gates start out remembering for between 1 and `longest` steps (Tallec and Ollivier 2018).

    The bias that keeps is log(u) with u uniform in [1, longest - 1]; the one that writes, where
    it is a gate of its own, is its negative.
    """
    if longest < 3:
        raise ValueError(f"chrono needs a longest dependency of 3 steps or more, not {longest}")

    def init(cell: Cell) -> None:
        found = gates(cell.equations)
        if not found:
            raise ValueError(f"chrono finds no gate in {cell.kind.name} that keeps the old state")
        memory: Tensor | None = None
        for gate in found:  # a writing gate comes after the one that keeps
            bias = cell.parameter(gate.bias)
            if gate.role == "keep":
                memory = torch.empty_like(bias).uniform_(1, longest - 1).log_()
                bias.copy_(gate.sign * memory)
            else:
                assert memory is not None
                bias.copy_(-gate.sign * memory)

    return init


def orthogonal(gain: float = 1.0) -> Callable[[Cell], None]:
    """Recurrent matrices start orthogonal, times `gain`."""

    def init(cell: Cell) -> None:
        for name in cell.equations.recurrent:
            nn.init.orthogonal_(cell.parameter(name), gain)

    return init


def identity(scale: float = 1.0) -> Callable[[Cell], None]:
    """Recurrent matrices start as the identity, times `scale` (Le, Jaitly and Hinton 2015)."""

    def init(cell: Cell) -> None:
        for name in cell.equations.recurrent:
            nn.init.eye_(cell.parameter(name)).mul_(scale)

    return init


def normal(std: float, names: str = "*") -> Callable[[Cell], None]:
    """Matrices whose name matches start normal around zero."""

    def init(cell: Cell) -> None:
        for name in _matching(cell, names, cell.equations.matrices):
            nn.init.normal_(cell.parameter(name), std=std)

    return init


def uniform(low: float, high: float, names: str = "*") -> Callable[[Cell], None]:
    """Parameters whose name matches start uniform between `low` and `high`."""

    def init(cell: Cell) -> None:
        for name in _matching(cell, names, cell.equations.parameters):
            nn.init.uniform_(cell.parameter(name), low, high)

    return init


def constant(value: float, names: str) -> Callable[[Cell], None]:
    """Parameters whose name matches start at `value`: constant(0.0, "p_*")."""
    return uniform(value, value, names)


def _matching(cell: Cell, pattern: str, among: object) -> list[str]:
    found = [n for n in cell.equations.parameters if n in among and fnmatchcase(n, pattern)]  # type: ignore[operator]
    if not found:
        listed = ", ".join(cell.equations.parameters)
        raise ValueError(f"no parameter of {cell.kind.name} matches {pattern!r}; it has {listed}")
    return found
