"""How units lean with labels: AUC and Spearman's rank correlation, of many units at once.

Both are sums over a unit's ranks r (less their mean), so that the ranks, which take long, serve
every label that is asked about:

    2 AUC - 1 = sum of r over the places where it is true, * 2 / (yes * no)
    rho       = sum of r l / (|r| |l|), l the labels' ranks less their mean

Either is 1 for a unit that follows the labels, -1 for one that goes against them, and 0 for one
that has nothing to do with them: how it leans.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.inspect.properties import Kind
from unspool.models.stack import full

BLOCK = 1 << 21  # values that are ranked at once; in float64 they and their order are 16 MiB each


class Weights(NamedTuple):
    """What ranks are weighed by, (N, columns), and in which columns they are divided by |r|."""

    columns: Tensor
    divided: Tensor


def unit_scores(activations: Tensor, labels: Sequence[float] | np.ndarray, kind: Kind) -> Tensor:
    """The AUC ("yes/no") or the rank correlation ("number") of every unit of (N, n)."""
    values = as_labels(labels)
    weights = Weights(weighed(values, kind)[:, None], torch.tensor([kind == "number"]))
    return score_of(kind, leans(activations, weights)[:, 0])


def score_of(kind: Kind, lean: Tensor) -> Tensor:
    """The AUC or the rank correlation of what leans so."""
    return lean if kind == "number" else (1 + lean) / 2


def weighed(labels: Tensor, kind: Kind) -> Tensor:
    """The weights of a unit's ranks for these labels, (N,). They are not to be constant."""
    if kind == "yes/no":
        yes = labels.sum()
        return (labels - labels.mean()) * (2 / (yes * (len(labels) - yes)))
    ranks = midranks(labels[None])[0] - (len(labels) + 1) / 2
    return ranks / ranks.norm()


def leans(activations: Tensor, weights: Weights) -> Tensor:
    """How each unit of (N, n) leans with each column of labels, (n, columns)."""
    size, units = activations.shape
    found = torch.zeros(units, weights.columns.shape[1], dtype=torch.float64)
    width = max(1, BLOCK // max(1, size))
    for start in range(0, units, width):
        block = full(activations[:, start : start + width].detach().cpu())
        ranks = midranks(block.t().contiguous())
        ranks -= (size + 1) / 2
        norms = ranks.norm(dim=1, keepdim=True)
        # A constant unit has ranks of 0, and leans nowhere.
        divisors = torch.where(weights.divided, norms.masked_fill(norms == 0, 1.0), 1.0)
        found[start : start + width] = (ranks @ weights.columns) / divisors
    return found


def midranks(rows: Tensor) -> Tensor:
    """The rank of each value in its row (n, N), from 1; equal values share the mean of theirs."""
    # numpy's is more than twice as fast as torch's stable sort, and equal values get equal ranks.
    order = torch.from_numpy(np.argsort(rows.numpy(), axis=-1))
    ordered = rows.gather(-1, order)
    places = torch.arange(rows.shape[1], dtype=torch.float64).expand(rows.shape)
    begins = torch.ones(rows.shape, dtype=torch.bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = begins.roll(-1, -1)
    first = places.masked_fill(~begins, 0.0).cummax(-1).values
    last = places.masked_fill(~ends, torch.inf).flip(-1).cummin(-1).values.flip(-1)
    return torch.empty_like(first).scatter_(-1, order, (first + last) / 2 + 1)


def as_labels(labels: Sequence[float] | np.ndarray) -> Tensor:
    """Labels as a tensor (N,) of float64, checked."""
    found = torch.as_tensor(np.asarray(labels, dtype=float))
    if found.dim() != 1:
        raise ValueError(f"labels are one number for each symbol, not {tuple(found.shape)}")
    if not found.isfinite().all():
        at = int((~found.isfinite()).nonzero()[0])
        raise ValueError(f"label {at} is {found[at].item()}: give a finite number for each symbol")
    return found
