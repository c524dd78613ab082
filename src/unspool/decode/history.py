"""What the hypotheses of a beam have said, step by step, and which of them ended where."""

from typing import NamedTuple

import numpy as np

from unspool.decode.candidates import Array, Candidates
from unspool.decode.hypothesis import Hypothesis, ranked
from unspool.decode.normalise import Normalise


class Layer(NamedTuple):
    """The candidates of one step; `rows` (B,) says in which of their rows a sentence stands."""

    rows: Array
    said: Candidates


class End(NamedTuple):
    """A hypothesis that has ended: its last token is in this slot of the layer of this step."""

    finished: bool
    score: float
    step: int
    slot: int


class History:
    """Backpointers, and for every sentence its ends.

    `counts` (B,) are how many hypotheses of each sentence have finished, `worst` (B,) the score
    that one must exceed to be among the best `nbest`, -inf while there are fewer.
    """

    def __init__(self, limits: Array, rule: Normalise, nbest: int):
        B = len(limits)
        self.limits, self.rule, self.nbest = limits, rule, nbest
        self.divisors = np.array([rule.divisor(limit) for limit in limits.tolist()])
        self.layers: list[Layer] = []
        self.ends: list[list[End]] = [[] for _ in range(B)]
        self.counts, self.worst = np.zeros(B, dtype=np.int64), np.full(B, -np.inf)
        for sentence in (limits == 0).nonzero()[0].tolist():
            self.ends[sentence].append(End(False, rule.score(0.0, 0), 0, 0))

    def add(self, sentences: Array, said: Candidates, finished: Array) -> None:
        """A step of these sentences, and where in it hypotheses `finished` (b, n)."""
        rows = np.zeros(len(self.limits), dtype=np.int64)
        rows[sentences] = np.arange(len(sentences))
        self.layers.append(Layer(rows, said))
        self._end(sentences, finished, True)

    def stop(self, sentences: Array, alive: Array, *, bound: bool) -> Array:
        """Which of the sentences (b,) go no further, hypotheses `alive` (b, n) or not.

        Those that are at their limit; and by the bound those that have nothing alive that can
        still come among the best.
        """
        limited = self.limits[sentences] <= len(self.layers)
        self._end(sentences, alive & limited[:, None], False)
        if not bound:
            return limited
        totals = np.where(alive, self.layers[-1].said.totals, -np.inf).max(1)
        return limited | (totals / self.divisors[sentences] <= self.worst[sentences])

    def _end(self, sentences: Array, where: Array, finished: bool) -> None:
        step, totals = len(self.layers), self.layers[-1].said.totals
        for row, slot in np.argwhere(where).tolist():
            sentence = int(sentences[row])
            score = self.rule.score(float(totals[row, slot]), step)
            ends = self.ends[sentence]
            ends.append(End(finished, score, step, slot))
            if finished:
                self.counts[sentence] += 1
                if len(ends) >= self.nbest:
                    self.worst[sentence] = ranked(ends)[self.nbest - 1].score

    def hypotheses(self) -> list[list[Hypothesis]]:
        """The best of each sentence, the best first."""
        best = [ranked(ends)[: self.nbest] for ends in self.ends]
        every = [(sentence, end) for sentence, ends in enumerate(best) for end in ends]
        tokens, log_probs = self._trace(every)
        found: list[list[Hypothesis]] = [[] for _ in best]
        for (sentence, end), said, chances in zip(every, tokens, log_probs, strict=True):
            length = end.step - end.finished
            found[sentence].append(
                Hypothesis(
                    said[:length].tolist(), chances[: end.step].tolist(), end.score, end.finished
                )
            )
        return found

    def _trace(self, ends: list[tuple[int, End]]) -> tuple[Array, Array]:
        """Tokens and log-probabilities (len(ends), steps), from the last layer back."""
        sentences = np.array([sentence for sentence, _ in ends], dtype=np.int64)
        steps = np.array([end.step for _, end in ends], dtype=np.int64)
        slots = np.array([end.slot for _, end in ends], dtype=np.int64)
        shape = (len(ends), len(self.layers))
        tokens, log_probs = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        for at, (rows, said) in reversed(list(enumerate(self.layers))):
            on = (steps > at).nonzero()[0]
            place = rows[sentences[on]], slots[on]
            tokens[on, at], log_probs[on, at] = said.tokens[place], said.log_probs[place]
            slots[on] = said.parents[place]
        return tokens, log_probs
