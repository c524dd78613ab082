"""Metrics: how good labels, tags and language models are."""

from unspool.metrics.accuracy import Confusion, accuracy, macro_f1
from unspool.metrics.numbers import explained, root_mean_square
from unspool.metrics.perplexity import bits_per_character, perplexity
from unspool.metrics.several import micro_f1
from unspool.metrics.spans import Counts, SpanScores, span_scores

__all__ = [
    "Confusion", "Counts", "SpanScores", "accuracy", "bits_per_character", "explained",
    "macro_f1", "micro_f1", "perplexity", "root_mean_square", "span_scores",
]  # fmt: skip
