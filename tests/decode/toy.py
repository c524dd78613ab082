"""Small models to decode from."""

from typing import Any

import torch
from torch import Tensor

from unspool.decode import State

V = 6
END = 2


class Table:
    """What comes next depends on the last two tokens and the sentence, at random.

    `live` holds the token before the last, `fixed` the sentences' tables. `sizes` are how many
    rows and sentences each call had.
    """

    def __init__(self, rows: int, dtype: torch.dtype = torch.float64):
        generator = torch.Generator().manual_seed(rows)
        scores = torch.randn(rows, V, V, V, generator=generator, dtype=torch.float64)
        self.tables = (1.5 * scores).log_softmax(-1).to(dtype)
        self.sizes: list[tuple[int, int]] = []

    def start(self, rows: list[int]) -> tuple[Tensor, State]:
        first = torch.ones(len(rows), dtype=torch.long)
        return first, ({"before": first}, self.tables[rows])

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, State]:
        live, tables = state
        self.sizes.append((len(tokens), len(tables)))
        rows = torch.arange(len(tokens)) // (len(tokens) // len(tables))
        return tables[rows, live["before"], tokens], ({"before": tokens}, tables)

    def log_probs(self, row: int, said: list[int]) -> list[float]:
        """Of each token of one row, looked up."""
        tokens = [1, 1, *said]
        return [
            float(self.tables[row, tokens[i], tokens[i + 1], tokens[i + 2]])
            for i in range(len(said))
        ]


class Prefixes:
    """What comes next depends on all that was said: a true tree. Each sentence has its own V <= 4.

    `live` holds a number made of the whole prefix, `fixed` the sentences' V.
    """

    def __init__(self, sentences: int):
        self.sizes = torch.randint(2, 5, (sentences,))
        self.limits = torch.randint(1, 5, (sentences,)).tolist()

    def start(self) -> tuple[Tensor, State]:
        seeds = torch.arange(len(self.sizes))
        return torch.ones_like(seeds), (seeds, self.sizes)

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, State]:
        live, sizes = state
        live = _mix(live * 8 + tokens)
        scores = _mix(live[:, None] + torch.arange(4)) % 1000 / 250.0
        no_token = torch.arange(4) >= sizes.repeat_interleave(len(tokens) // len(sizes))[:, None]
        log_probs = scores.double().masked_fill(no_token, -torch.inf).log_softmax(1)
        return log_probs, (live, sizes)


def _mix(x: Tensor) -> Tensor:
    """Whole numbers to others that look random, all 0 or more."""
    for _ in range(2):
        x = (x ^ (x >> 29)) * 0x2545F4914F6CDD1D
    return (x ^ (x >> 31)) & (2**62 - 1)
