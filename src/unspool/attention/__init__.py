"""Attention: scores of keys for queries, one file each, and what is done with them."""

from unspool.attention.additive import Additive
from unspool.attention.attention import Attention, Memory
from unspool.attention.cosine import Cosine
from unspool.attention.dot import Dot
from unspool.attention.general import General
from unspool.attention.location import Location
from unspool.attention.nonlocal_block import NonLocal
from unspool.attention.pooling import AttentionPooling
from unspool.attention.protocol import Score
from unspool.attention.reduced_rank import ReducedRank
from unspool.attention.scaled_dot import ScaledDot, scaled_dot
from unspool.attention.scores import SCORES
from unspool.attention.weights import attend, weigh

__all__ = [
    "SCORES", "Additive", "Attention", "AttentionPooling", "Cosine", "Dot", "General", "Location",
    "Memory", "NonLocal", "ReducedRank", "ScaledDot", "Score", "attend", "scaled_dot", "weigh",
]  # fmt: skip
