"""A linear-chain conditional random field: tags chosen together, not each alone.

A sequence of tags y over emissions e (Lafferty et al. 2001) scores

    s(y) = start[y_1] + sum_t e[t, y_t] + sum_t transitions[y_(t-1), y_t] + end[y_T]

and log p(y) = s(y) - log sum_y' exp s(y').
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class CRF(nn.Module):
    """Scores for tag sequences over emissions (T, B, K), where row b has `lengths[b]` steps.

    `allowed` is a pair of boolean masks: which tags may come first (K,), and which may follow
    which (K, K), from row to column; a sequence that breaks them has probability 0. See
    `iob2_transitions`. What stands past a row's end changes nothing.
    """

    def __init__(self, tags: int, allowed: tuple[Tensor, Tensor] | None = None):
        super().__init__()
        if tags < 1:
            raise ValueError(f"a CRF chooses among at least 1 tag, not {tags}")
        first, follows = allowed or (
            torch.ones(tags, dtype=torch.bool),
            torch.ones(tags, tags, dtype=torch.bool),
        )
        _check_allowed(first, follows, tags)
        self.tags = tags
        self.transitions = nn.Parameter(torch.zeros(tags, tags))
        self.start = nn.Parameter(torch.zeros(tags))
        self.end = nn.Parameter(torch.zeros(tags))
        # Not saved: whoever makes the model makes them anew from its labels.
        self.register_buffer("may_start", first.clone(), persistent=False)
        self.register_buffer("may_follow", follows.clone(), persistent=False)

    def log_likelihood(self, emissions: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """log p(tags) for each row (B,); 0 for a row without steps."""
        inside, lengths = self._check(emissions, lengths)
        if tags.shape != emissions.shape[:2]:
            raise ValueError(
                f"tags have shape {tuple(tags.shape)}; expected {tuple(emissions.shape[:2])}, "
                "a tag for each step and row of the emissions"
            )
        if not len(emissions):
            return emissions.sum((0, 2))
        emissions = torch.where(inside[..., None], emissions, 0)
        tags = torch.where(inside, tags, 0)
        self._check_tags(tags, inside)
        likelihood = self._score(emissions, tags, lengths, inside) - self._log_total(
            emissions, inside
        )
        return torch.where(lengths > 0, likelihood, 0)

    @torch.no_grad()
    def best(self, emissions: Tensor, lengths: Tensor) -> list[list[int]]:
        """The likeliest tags of each row (Viterbi 1967)."""
        inside, lengths = self._check(emissions, lengths)
        if not len(emissions):
            return [[] for _ in range(emissions.shape[1])]
        emissions = torch.where(inside[..., None], emissions, 0)
        start, transitions = self._masked()
        score_BK = start + emissions[0]
        stay = torch.arange(self.tags, device=emissions.device).expand_as(score_BK)
        pointers = []
        for e_BK, on in zip(emissions[1:], inside[1:, :, None], strict=True):
            through, before = (score_BK[:, :, None] + transitions).max(1)
            score_BK = torch.where(on, through + e_BK, score_BK)
            pointers.append(torch.where(on, before, stay))
        path = [(score_BK + self.end).argmax(1)]
        for before in reversed(pointers):
            path.append(before.gather(1, path[-1][:, None])[:, 0])
        rows = torch.stack(path[::-1], 1).tolist()
        return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]

    def _score(self, emissions: Tensor, tags: Tensor, lengths: Tensor, inside: Tensor) -> Tensor:
        """s(tags) for each row."""
        here = emissions.gather(2, tags[..., None])[..., 0].sum(0)
        steps = torch.where(inside[1:], self.transitions[tags[:-1], tags[1:]], 0).sum(0)
        last = tags.gather(0, (lengths - 1).clamp(min=0)[None])[0]
        return self.start[tags[0]] + here + steps + self.end[last]

    def _log_total(self, emissions: Tensor, inside: Tensor) -> Tensor:
        """log sum_y exp s(y) for each row, by the forward algorithm."""
        start, transitions = self._masked()
        score_BK = start + emissions[0]
        for e_BK, on in zip(emissions[1:], inside[1:, :, None], strict=True):
            through = _log_sum(score_BK[:, :, None] + transitions) + e_BK
            score_BK = torch.where(on, through, score_BK)
        return _log_sum((score_BK + self.end)[:, :, None])[:, 0]

    def _masked(self) -> tuple[Tensor, Tensor]:
        """Scores of first tags and of transitions, -inf where they are forbidden."""
        return (
            torch.where(self.get_buffer("may_start"), self.start, -torch.inf),
            torch.where(self.get_buffer("may_follow"), self.transitions, -torch.inf),
        )

    def _check(self, emissions: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """`inside` (T, B), True up to each row's end, and the lengths beside the emissions."""
        if emissions.ndim != 3 or emissions.shape[2] != self.tags:
            raise ValueError(
                f"emissions have shape {tuple(emissions.shape)}; expected (T, B, {self.tags})"
            )
        T, B, _ = emissions.shape
        lengths = torch.as_tensor(lengths, device=emissions.device)
        if lengths.shape != (B,) or (B and not 0 <= int(lengths.min()) <= int(lengths.max()) <= T):
            raise ValueError(f"lengths are {B} numbers from 0 to {T}, not {lengths.tolist()}")
        return torch.arange(T, device=emissions.device)[:, None] < lengths, lengths

    def _check_tags(self, tags: Tensor, inside: Tensor) -> None:
        """An impossible tag sequence would have a loss of infinity: better to say where it is."""
        outside = (tags < 0) | (tags >= self.tags)
        if outside.any():
            t, b = outside.nonzero()[0].tolist()
            raise ValueError(
                f"tag {int(tags[t, b])} at step {t} of row {b}: tags run from 0 to {self.tags - 1}"
            )
        forbidden = ~self.get_buffer("may_follow")[tags[:-1], tags[1:]] & inside[1:]
        first = ~self.get_buffer("may_start")[tags[:1]] & inside[:1]
        broken = torch.cat((first, forbidden)).nonzero()
        if len(broken):
            t, b = broken[0].tolist()
            after = f"after tag {int(tags[t - 1, b])}" if t else "as the first"
            raise ValueError(
                f"tag {int(tags[t, b])} at step {t} of row {b} may not stand {after}: "
                "convert the tags to the scheme that `allowed` describes, or leave it out"
            )


def iob2_transitions(labels: Sequence[str]) -> tuple[Tensor, Tensor]:
    """`allowed` for IOB2: I-X stands only after B-X or I-X. Other labels stand anywhere."""
    first = torch.ones(len(labels), dtype=torch.bool)
    follows = torch.ones(len(labels), len(labels), dtype=torch.bool)
    for to, label in enumerate(labels):
        prefix, _, kind = label.partition("-")
        if prefix == "I":
            first[to] = False
            may = (label, f"B-{kind}" if kind else "B")
            follows[:, to] = torch.tensor([before in may for before in labels])
    return first, follows


def _log_sum(scores: Tensor) -> Tensor:
    """log sum exp over dimension 1; where all is -inf the gradient is 0, torch's own is NaN."""
    dead = (scores == -torch.inf).all(1, keepdim=True)
    total = scores.masked_fill(dead, 0).logsumexp(1)
    return total.masked_fill(dead[:, 0], -torch.inf)


def _check_allowed(first: Tensor, follows: Tensor, tags: int) -> None:
    for name, mask, shape in (("first", first, (tags,)), ("second", follows, (tags, tags))):
        if mask.dtype != torch.bool or tuple(mask.shape) != shape:
            raise ValueError(
                f"the {name} mask of `allowed` is {mask.dtype} of shape {tuple(mask.shape)}; "
                f"expected torch.bool of shape {shape}"
            )
    if first.is_meta:
        return  # a model that is planned without memory has no values
    reached = first
    for length in range(1, tags + 2):  # a path longer than there are tags goes round for ever
        if not reached.any():
            raise ValueError(f"`allowed` forbids every sequence of length {length}")
        reached = follows[reached].any(0)
