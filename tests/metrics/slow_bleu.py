"""BLEU as its definition reads, on texts whose tokens stand between spaces."""

import math
from collections import Counter


def ngrams(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[k : k + n]) for k in range(len(tokens) - n + 1))


def slow_bleu(references: list[list[str]], hypotheses: list[str]) -> float:
    """Out of 100; 0 where some order has no match (no smoothing)."""
    matches, totals, c, r = [0] * 4, [0] * 4, 0, 0
    for texts, text in zip(references, hypotheses, strict=True):
        tokens, right = text.split(), [t.split() for t in texts]
        c += len(tokens)
        r += min((abs(len(t) - len(tokens)), len(t)) for t in right)[1]
        for n in range(1, 5):
            for gram, count in ngrams(tokens, n).items():
                matches[n - 1] += min(count, max(ngrams(t, n)[gram] for t in right))
                totals[n - 1] += count
    if 0 in matches:
        return 0.0
    logs = [math.log(m / t) for m, t in zip(matches, totals, strict=True)]
    return 100 * min(1.0, math.exp(1 - r / c)) * math.exp(sum(logs) / 4)
