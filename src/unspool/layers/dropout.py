"""The kinds of dropout a recurrent layer can have."""

from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor

from unspool.engine.masks import (
    Masks,
    check_probability,
    draw_masks,
    expected_masks,
    keep_mask,
)
from unspool.layers.drop import drop


@dataclass(frozen=True)
class Dropout:
    """Probabilities; every kind is off at 0. Masks are drawn anew at each call, in training only.

    between:   entries of each layer's output, but for the last one's (torch's `dropout`)
    inputs:    features of each layer's input, the same ones at every step (variational)
    recurrent: entries of what recurrent products read, the same ones at every step (variational;
               Gal and Ghahramani 2016)
    zoneout:   entries of each state keep their old value; in evaluation the two values are mixed
               by this share (Krueger et al. 2017)
    weights:   entries of the recurrent matrices (Merity et al. 2018)
    """

    between: float = 0.0
    inputs: float = 0.0
    recurrent: float = 0.0
    zoneout: float = 0.0
    weights: float = 0.0

    def __post_init__(self) -> None:
        for kind in fields(self):
            check_probability(kind.name, getattr(self, kind.name))

    def drop_between(self, ys: Tensor, training: bool) -> Tensor:
        return drop(ys, self.between, training)

    def input_mask(self, xs: Tensor, training: bool) -> Tensor | None:
        """A factor for every step's input, (B, I)."""
        if not (training and self.inputs):
            return None
        return keep_mask(tuple(xs.shape[1:]), self.inputs, xs)

    def masks(self, cell: Any, xs: Tensor, training: bool) -> Masks | None:
        """What happens inside the recurrence of one cell over `xs`."""
        if not (self.recurrent or self.zoneout or self.weights):
            return None
        if not training:
            return expected_masks(cell, self.zoneout)
        return draw_masks(
            cell, xs, zoneout=self.zoneout, recurrent=self.recurrent, weights=self.weights
        )
