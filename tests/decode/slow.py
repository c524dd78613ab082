"""A beam search as one would tell it, a hypothesis at a time: what the fast one must equal."""

from typing import NamedTuple

from tests.decode.toy import END, Table
from unspool.decode import Normalise


class Said(NamedTuple):
    tokens: list[int]
    log_probs: list[float]
    score: float
    finished: bool


def slow_beam(
    model: Table, row: int, *, steps: int, width: int, nbest: int, rule: Normalise
) -> list[Said]:
    """With the stop by count; among equals the lower parent, then the lower token."""
    beam: list[tuple[list[int], list[float]]] = [([], [])]
    finished: list[Said] = []
    for _ in range(steps):
        candidates = []
        for slot, (tokens, log_probs) in enumerate(beam):
            before, last = [1, 1, *tokens][-2:]
            for token, log_prob in enumerate(model.tables[row, before, last].tolist()):
                total = sum(log_probs) + log_prob
                longer = ([*tokens, token], [*log_probs, log_prob])
                candidates.append((-total, slot, token, longer))
        beam = []
        for _, _, token, (tokens, log_probs) in sorted(candidates)[: width - len(finished)]:
            if token == END:
                score = rule.score(sum(log_probs), len(log_probs))
                finished.append(Said(tokens[:-1], log_probs, score, True))
            else:
                beam.append((tokens, log_probs))
    cut = [Said(t, p, rule.score(sum(p), len(p)), False) for t, p in beam]
    by_score = [sorted(group, key=lambda said: -said.score) for group in (finished, cut)]
    return (by_score[0] + by_score[1])[:nbest]
