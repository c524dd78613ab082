"""Layers: cells stacked, in both directions, with skips and dropout of several kinds."""

from unspool.layers.dropout import Dropout
from unspool.layers.initial import LearnedState
from unspool.layers.recurrent import Recurrent

__all__ = ["Dropout", "LearnedState", "Recurrent"]
