"""Unspool: recurrent sequence models whose equations are the program.

Letters in names stand for shapes: T steps, B rows of a batch, I input features, H hidden units,
O output features.
"""

from unspool import cells, data, inspect, models, nn, train
from unspool.cells import init
from unspool.cells.cell import Cell, CellType, cell
from unspool.cells.constrain import constrain_orthogonal
from unspool.cells.state import detach
from unspool.engine import (
    Gradients,
    Masks,
    SlowWarning,
    Stepper,
    bptt,
    draw_masks,
    expected_masks,
    unfold,
)
from unspool.equations.errors import EquationError, EquationWarning
from unspool.layers import Dropout, LearnedState, Recurrent
from unspool.train import load

__version__ = "0.1.0"

__all__ = [
    "Cell", "CellType", "Dropout", "EquationError", "EquationWarning", "Gradients", "LearnedState",
    "Masks", "Recurrent", "SlowWarning", "Stepper", "bptt", "cell", "cells", "constrain_orthogonal",
    "data",
    "detach", "draw_masks", "expected_masks", "init", "inspect", "load", "models", "nn", "train",
    "unfold",
]  # fmt: skip
