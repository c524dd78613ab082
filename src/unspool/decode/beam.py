"""Beam search: at every step the best few of all continuations go on."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from unspool.decode.candidates import Array, Candidates, rank
from unspool.decode.check import limits_of
from unspool.decode.history import History
from unspool.decode.hypothesis import Found
from unspool.decode.normalise import ALPHA, Normalise
from unspool.decode.protocol import State, Step, keep, reorder
from unspool.decode.tree import Recorder

STOPS = ("bound", "count")


@torch.no_grad()
def beam(
    step: Step,
    first: Tensor,
    state: State,
    *,
    end: int | None,
    steps: int | Sequence[int],
    width: int,
    nbest: int = 1,
    normalise: str = "mean",
    alpha: float = ALPHA,
    stop: str = "bound",
    record: bool = False,
) -> Found:
    """The `nbest` best hypotheses after `first` (B,) that a beam of `width` finds.

    Of all continuations of a sentence's hypotheses the likeliest go on, `width` less those that
    have finished: END takes a slot for good, so that a beam of 1 is `greedy`. Among equals the
    lower slot comes first, then the lower token. A sentence takes at most `steps` steps, one
    number for all or one a sentence, END counted; hypotheses without END by then come after all
    that are finished.

    The best are those of the highest score (see `Normalise`). `stop="count"` goes on until the
    whole beam has finished; "bound" finds the same, and stops as soon as nothing that is alive
    can come among the best. `record` gives the trees of the search too.
    """
    limits, rule = np.array(limits_of(first, steps), dtype=np.int64), Normalise(normalise, alpha)
    _check(width, nbest, stop)
    history = History(limits, rule, nbest)
    recorder = Recorder(first.tolist(), rule, end) if record else None
    sentences = np.arange(len(first))  # those in the batch
    totals = np.where(limits > 0, 0.0, -np.inf)[:, None]  # of hypotheses; -inf is an empty slot
    tokens = first
    while (totals > -np.inf).any():
        log_probs, state = step(tokens, state)
        found = rank(log_probs, totals, sentences, width, everything=record)
        room = width - history.counts[sentences]
        if recorder is not None:
            _record(recorder, sentences, found, room)
            found = Candidates(*(part[:, :width] for part in found))
        taken = (found.totals > -np.inf) & (np.arange(found.totals.shape[1]) < room[:, None])
        finished = taken & (found.tokens == (-1 if end is None else end))
        history.add(sentences, found, finished)
        alive = taken & ~finished
        alive[history.stop(sentences, alive, bound=stop == "bound")] = False
        state, left = _carry(state, totals.shape[1], found.parents, alive, first.device)
        sentences, alive = sentences[left], alive[left]
        totals = np.where(alive, found.totals[left], -np.inf)
        tokens = torch.from_numpy(found.tokens[left].reshape(-1)).to(first)
    return Found(history.hypotheses(), None if recorder is None else recorder.trees())


def _check(width: int, nbest: int, stop: str) -> None:
    if width < 1:
        raise ValueError(f"width is how many hypotheses go on at once, 1 or more, not {width}")
    if not 1 <= nbest <= width:
        raise ValueError(f"nbest lies between 1 and the width, {width}, not {nbest}")
    if stop not in STOPS:
        raise ValueError(f"stop is one of {', '.join(STOPS)}, not {stop!r}")


def _carry(
    state: State, slots: int, parents: Array, alive: Array, device: torch.device
) -> tuple[State, Array]:
    """The state of the next step, and which sentences (of b) are in it.

    When at most half of them are running, the others are dropped: by halves, so that a model sees
    few different sizes.
    """
    left, running = np.arange(len(alive)), np.any(alive, 1)
    rows = left[:, None] * slots + parents
    if 2 * np.count_nonzero(running) > len(left):
        return reorder(state, torch.from_numpy(rows.reshape(-1)).to(device)), left
    left = np.flatnonzero(running)
    gathered = (torch.from_numpy(index).to(device) for index in (rows[left].reshape(-1), left))
    return keep(state, *gathered), left


def _record(recorder: Recorder, sentences: Array, found: Candidates, room: Array) -> None:
    for row, sentence in enumerate(sentences.tolist()):
        there = found.totals[row] > -np.inf
        if there.any():  # a sentence that has stopped may still be in the batch
            candidates = zip(*(part[row][there].tolist() for part in found), strict=True)
            recorder.add(sentence, candidates, int(room[row]))
