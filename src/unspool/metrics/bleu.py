"""BLEU by sacreBLEU, with the signature without which two figures do not compare.

    BLEU = BP · exp(sum_n w_n log p_n),   w_n = 1/4,   BP = min(1, exp(1 - r/c))

p_n is the share of the hypotheses' n-grams that their references have too, each n-gram counting
at most as often as in one reference; c and r are the lengths of all hypotheses and of the
references nearest to them in length. Papineni et al. 2002; Post 2018.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from unspool.metrics.references import References, each_list

ORDER = 4
SMOOTHING = "exp"  # sacreBLEU's own: an order without a match counts a half, a quarter, ...


@dataclass(frozen=True)
class Bleu:
    """The score and the precisions of 1- to 4-grams, out of 100; the brevity penalty; lengths."""

    score: float
    precisions: tuple[float, ...]
    brevity: float
    hypothesis_length: int
    reference_length: int
    signature: str


def bleu(
    references: References,
    hypotheses: Sequence[str],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> Bleu:
    """Of a whole corpus; a hypothesis may have a list of references.

    Give texts as people write them: "13a" cuts them into tokens itself, as everybody else's BLEU
    does. Use "none" for texts that are already cut, "zh" for Chinese, "char" for characters.
    """
    lists = each_list(references, hypotheses)
    metric = metric_for(lowercase, tokenize)
    found = metric.corpus_score(list(hypotheses), streams(lists))
    return Bleu(
        found.score,
        tuple(found.precisions),
        found.bp,
        found.sys_len,
        found.ref_len,
        str(metric.get_signature()),
    )


def statistics(
    references: References, hypotheses: Sequence[str], lowercase: bool, tokenize: str
) -> np.ndarray:
    """What BLEU sums over sentences, (sentences, 10): both lengths, matches, n-grams."""
    lists = each_list(references, hypotheses)
    metric = metric_for(lowercase, tokenize, effective_order=True)  # changes no count
    rows = []
    for right, text in zip(lists, hypotheses, strict=True):
        found = metric.sentence_score(text, right)
        rows.append([found.sys_len, found.ref_len, *found.counts, *found.totals])
    return np.array(rows)


def score_of(sums: np.ndarray) -> float:
    """BLEU of a corpus from the sums of its statistics."""
    from sacrebleu import BLEU

    counts = [int(value) for value in sums]
    matches, ngrams = counts[2 : 2 + ORDER], counts[2 + ORDER :]
    return BLEU.compute_bleu(matches, ngrams, counts[0], counts[1], SMOOTHING).score


def metric_for(lowercase: bool, tokenize: str, effective_order: bool = False) -> Any:
    """sacreBLEU's metric with these settings."""
    from sacrebleu import BLEU

    if tokenize not in BLEU.TOKENIZERS:
        known = ", ".join(sorted(BLEU.TOKENIZERS))
        raise ValueError(f"tokenize is one of {known}, not {tokenize!r}")
    try:
        return BLEU(
            lowercase=lowercase,
            tokenize=tokenize,
            force=tokenize == "none",  # no warning that texts look cut where that is meant
            smooth_method=SMOOTHING,
            effective_order=effective_order,
        )
    except RuntimeError as error:  # a tokeniser that needs another package
        raise ValueError(f"tokenize={tokenize!r} cannot be used here: {error}") from error


def streams(lists: list[list[str]]) -> list[list[Any]]:
    """First references of all, second references of all, ...; None where one has fewer."""
    return [list(stream) for stream in zip_longest(*lists)]
