"""Decoding: from a model that gives the next token's chances to whole sequences."""

from unspool.decode.beam import beam
from unspool.decode.exhaustive import exhaustive
from unspool.decode.greedy import greedy
from unspool.decode.hypothesis import Found, Hypothesis
from unspool.decode.loop import Decoded
from unspool.decode.normalise import Normalise
from unspool.decode.protocol import State, Step, keep, reorder
from unspool.decode.rerank import Reranked, rerank
from unspool.decode.sample import sample, truncate
from unspool.decode.tree import Node, Tree

__all__ = [
    "Decoded",
    "Found",
    "Hypothesis",
    "Node",
    "Normalise",
    "Reranked",
    "State",
    "Step",
    "Tree",
    "beam",
    "exhaustive",
    "greedy",
    "keep",
    "reorder",
    "rerank",
    "sample",
    "truncate",
]
