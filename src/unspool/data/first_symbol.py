"""The first-symbol task: a test of memory and nothing else."""

import torch
from torch import Tensor


def first_symbol(
    rows: int, steps: int, symbols: int, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Random symbols as one-hot vectors (T, B, I), and the first symbol of each row (B,).

    Whoever reads the sequence must hold the first symbol while `steps - 1` others of the same
    alphabet go by.
    """
    ids = torch.randint(symbols, (steps, rows), generator=generator)
    return torch.nn.functional.one_hot(ids, symbols).to(torch.get_default_dtype()), ids[0]
