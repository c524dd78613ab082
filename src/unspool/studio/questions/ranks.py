"""A text under a language model: how it would have guessed each symbol (GLTR)."""

from typing import Any

from unspool.inspect.ranks import candidates as likeliest
from unspool.inspect.ranks import token_ranks
from unspool.studio.desk import Desk
from unspool.studio.params import Params, text, whole


def ranks(desk: Desk, params: Params) -> dict[str, Any]:
    given, kind = text(params, "text"), text(params, "kind") or None
    found = token_ranks(desk.model(), given, kind).in_text()
    return {
        "rank": found.rank,
        "probability": found.probability,
        "entropy": found.entropy,
        "counts": [{"within": one.within or 0, "count": one.count} for one in found.counts],
        "bits": found.bits,
    }


def candidates(desk: Desk, params: Params) -> dict[str, Any]:
    given, kind = text(params, "text"), text(params, "kind") or None
    position = whole(params, "position", 0, 0, len(given))
    found = likeliest(desk.model(), given, position, kind=kind)
    return {"likeliest": [{"token": one.token, "probability": one.probability} for one in found]}
