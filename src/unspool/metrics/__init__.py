"""Metrics: how good labels, tags, language models and translations are."""

from unspool.metrics.accuracy import Confusion, accuracy, macro_f1
from unspool.metrics.bleu import Bleu, bleu
from unspool.metrics.bootstrap import Contrast, Difference, contrast_groups, paired_bootstrap
from unspool.metrics.chrf import Chrf, chrf
from unspool.metrics.errors import ErrorRates, error_rates, exact_match, word_error_rate
from unspool.metrics.numbers import explained, root_mean_square
from unspool.metrics.perplexity import bits_per_character, perplexity
from unspool.metrics.several import micro_f1
from unspool.metrics.spans import Counts, SpanScores, span_scores

__all__ = [
    "Bleu", "Chrf", "Confusion", "Contrast", "Counts", "Difference", "ErrorRates", "SpanScores",
    "accuracy", "bits_per_character", "bleu", "chrf", "contrast_groups", "error_rates",
    "exact_match", "explained", "macro_f1", "micro_f1", "paired_bootstrap", "perplexity",
    "root_mean_square", "span_scores", "word_error_rate",
]  # fmt: skip
