"""Constraints that hold all through training."""

from torch import nn
from torch.nn.utils import parametrizations, parametrize

from unspool.cells.cell import Cell
from unspool.cells.seeded import one_thread


def constrain_orthogonal(module: nn.Module, *names: str) -> nn.Module:
    """Keeps recurrent matrices orthogonal all through training, by torch's parametrizations.

    Works on every cell inside `module`. Without names it takes every square recurrent matrix.
    """
    constrained = 0
    for cell in [m for m in module.modules() if isinstance(m, Cell)]:
        for name in names or cell.equations.recurrent:
            if name not in cell.equations.matrices:
                listed = ", ".join(cell.equations.recurrent)
                raise ValueError(
                    f"{cell.kind.name} has no matrix {name!r}; its recurrent ones are {listed}"
                )
            matrix = cell.parameter(name)
            if parametrize.is_parametrized(cell, name):
                constrained += 1
            elif names or matrix.shape[0] == matrix.shape[1]:
                with one_thread():  # as the standard start, whatever the number of threads
                    parametrizations.orthogonal(cell, name)
                constrained += 1
    if not constrained:
        raise ValueError("no cell here has a square recurrent matrix to keep orthogonal")
    return module
