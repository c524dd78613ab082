"""Attention: scores of keys for queries, one file each, and what is done with them."""

from unspool.attention.pooling import AttentionPooling
from unspool.attention.scaled_dot import scaled_dot
from unspool.attention.weights import attend

__all__ = ["AttentionPooling", "attend", "scaled_dot"]
