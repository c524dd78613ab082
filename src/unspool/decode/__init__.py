"""Decoding: from a model that gives the next token's chances to whole sequences."""

from unspool.decode.greedy import greedy
from unspool.decode.loop import Decoded
from unspool.decode.protocol import State, Step, reorder
from unspool.decode.sample import sample, truncate

__all__ = ["Decoded", "State", "Step", "greedy", "reorder", "sample", "truncate"]
