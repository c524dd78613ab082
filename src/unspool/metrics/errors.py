"""Error rates by edit distance, with jiwer: of words in texts, of sounds in pronunciations.

Words are what stands between spaces; a pronunciation is written so too, `HH AH L OW`, and its
sounds are then the words here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from unspool.metrics.references import References, each_list


@dataclass(frozen=True)
class ErrorRates:
    """`whole`: the share of texts that are not right as a whole; `words`: edits for each word.

    Of pronunciations these are the error rates of words (WER) and of phonemes (PER).
    """

    whole: float
    words: float


def error_rates(references: References, hypotheses: Sequence[str]) -> ErrorRates:
    """Both rates; where a hypothesis has several references, any of them is right.

    How words are spaced does not count.
    """
    lists = each_list(references, hypotheses)
    even = [[_even(text) for text in texts] for texts in lists]
    whole = 1 - exact_match(even, [_even(text) for text in hypotheses])
    return ErrorRates(whole, word_error_rate(references, hypotheses))


def exact_match(references: References, hypotheses: Sequence[str]) -> float:
    """The share of hypotheses that equal one of their references, character by character."""
    lists = each_list(references, hypotheses)
    right = sum(text in texts for texts, text in zip(lists, hypotheses, strict=True))
    return right / len(lists)


def word_error_rate(references: References, hypotheses: Sequence[str]) -> float:
    """(substitutions + deletions + insertions) / words in the references, over all texts.

    With several references, the one with the fewest edits counts; of two such, the longer.
    """
    import jiwer

    lists = each_list(references, hypotheses)
    sides = [
        (_even(right), _even(text))
        for texts, text in zip(lists, hypotheses, strict=True)
        for right in texts
    ]
    found = jiwer.process_words([right for right, _ in sides], [text for _, text in sides])
    edits = [
        sum(
            max(c.ref_end_idx - c.ref_start_idx, c.hyp_end_idx - c.hyp_start_idx)
            for c in chunks
            if c.type != "equal"
        )
        for chunks in found.alignments
    ]
    lengths = [len(words) for words in found.references]
    costs = iter(zip(edits, (-length for length in lengths), strict=True))
    nearest = [min(next(costs) for _ in texts) for texts in lists]
    words = -sum(length for _, length in nearest)
    if not words:
        raise ValueError("the references hold no words, so there is no rate of errors among them")
    return sum(count for count, _ in nearest) / words


def _even(text: str) -> str:
    return " ".join(text.split())
