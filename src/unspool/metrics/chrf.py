"""chrF by sacreBLEU: F-score of character n-grams, for languages whose words change their ends.

    chrF = 100 · (1 + β²) P R / (β² P + R),   β = 2,   n-grams of 1 to 6 characters

With `word_order=2` words and pairs of words count too: chrF++. Popović 2015, 2017.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from unspool.metrics.bleu import streams
from unspool.metrics.references import References, each_list


@dataclass(frozen=True)
class Chrf:
    """The score out of 100, and how it was computed."""

    score: float
    signature: str


def chrf(
    references: References,
    hypotheses: Sequence[str],
    *,
    lowercase: bool = False,
    word_order: int = 0,
) -> Chrf:
    """Of a whole corpus; a hypothesis may have a list of references."""
    from sacrebleu import CHRF

    lists = each_list(references, hypotheses)
    metric = CHRF(lowercase=lowercase, word_order=word_order)
    score = metric.corpus_score(list(hypotheses), streams(lists)).score
    return Chrf(score, str(metric.get_signature()))
