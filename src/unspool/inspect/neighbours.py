"""The states most like another: where else was the network in the same mind?"""

from operator import index
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

BLOCK = 4_000_000  # numbers that are compared at a time: 32 MB in float64

Metric = Literal["euclidean", "cosine"]


class Neighbour(NamedTuple):
    """The place of a state among the states, and how far it is from the query."""

    at: int
    distance: float


def nearest(
    states: Tensor, query: Tensor | int, k: int = 10, *, gap: int = 1, metric: Metric = "euclidean"
) -> list[Neighbour]:
    """The k states (N, S) nearest to a query, the nearest first; among equals, as they came.

    The query is a state (S,), or the place of one of the states. A state's own place is not
    among its neighbours, nor are the `gap` places on either side, which are like it only because
    time is short. Fewer than k come back where there are no more. The cosine distance is 1 minus
    the cosine of the angle, and 1 where a state is zero.
    """
    if not isinstance(states, Tensor) or states.dim() != 2 or 0 in states.shape:
        found = tuple(states.shape) if isinstance(states, Tensor) else type(states).__name__
        raise ValueError(f"states is a tensor of shape (N, S), a state a row; got {found}")
    if k < 1 or gap < 0:
        raise ValueError(f"k is 1 or more and gap 0 or more; got k={k}, gap={gap}")
    if metric not in ("euclidean", "cosine"):
        raise ValueError(f"metric is 'euclidean' or 'cosine', not {metric!r}")
    at = None if isinstance(query, Tensor) and query.dim() else _place(query, len(states))
    vector = _vector(states, query) if at is None else states[at].detach().double()
    if not vector.isfinite().all():
        raise ValueError("the query holds NaN or infinity, and is near to nothing")
    distances = _distances(states.detach(), vector, metric)
    order = distances.sort(stable=True).indices
    if at is not None:
        order = order[(order - at).abs() > gap]
    return [Neighbour(n, distances[n].item()) for n in order[:k].tolist()]


def _distances(states: Tensor, query: Tensor, metric: Metric) -> Tensor:
    """Of every state, (N,): by differences, so that what is close comes out exactly."""
    found = []
    for block in states.split(max(1, BLOCK // states.shape[1])):
        values = block.double()
        if metric == "euclidean":
            found.append((values - query).norm(dim=1))
            continue
        a, b = _unit(values), _unit(query)
        # Half the squared distance of two unit vectors is 1 minus their cosine.
        both = a.any(1) & b.any()
        found.append(torch.where(both, (a - b).square().sum(1) / 2, 1.0))
    distances = torch.cat(found)
    if distances.isnan().any():
        place = int(distances.isnan().nonzero()[0])
        raise ValueError(f"state {place} holds NaN or infinity: leave such states out")
    return distances


def _unit(vectors: Tensor) -> Tensor:
    norms = vectors.norm(dim=-1, keepdim=True)
    return vectors / torch.where(norms > 0, norms, 1.0)


def _place(query: Any, count: int) -> int:
    try:
        at = index(query)
    except (TypeError, ValueError):
        raise ValueError(
            f"a query is a state (S,) or the place of one; got {type(query).__name__}"
        ) from None
    if not -count <= at < count:
        raise ValueError(f"there are {count} states, places 0 to {count - 1}; got place {at}")
    return at % count


def _vector(states: Tensor, query: Any) -> Tensor:
    if query.shape != states.shape[1:]:
        raise ValueError(
            f"a query has the {states.shape[1]} units of a state; got shape {tuple(query.shape)}"
        )
    return query.detach().to(states.device, torch.float64)
