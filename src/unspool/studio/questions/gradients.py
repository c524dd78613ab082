"""Gradients through time: cells side by side, the cliff, and the random ReLU network."""

import math
from typing import Any

from unspool.cells.cell import CellType
from unspool.cells.init import keep_bias
from unspool.inspect.cliff import Descent
from unspool.inspect.cliff import cliff as descend_both
from unspool.inspect.flow import Flow, gradient_flow
from unspool.inspect.relu import random_relu
from unspool.studio.cancel import check
from unspool.studio.desk import Desk
from unspool.studio.params import CELLS, Params, kind_of_cell, number, several, whole
from unspool.studio.plain import plain

# The most numbers of a cell whose gradients through time are worked out here.
STATES = 256  # Jacobians are as large as its square
LINES = 50_000  # in every step
PARAMETERS = 2_000_000
SCALES = (0.5, 0.75, 1.0, 1.5, 2.0)  # of the point at which norms stay about the same


def gradients(desk: Desk, params: Params) -> dict[str, Any]:
    """Each cell by itself: one that cannot be built says so, and the others are shown."""
    how = how_to_flow(params)
    return {"flows": [flow_of(which, how) for which in several(params, "cells", CELLS, 8)]}


def how_to_flow(params: Params) -> dict[str, Any]:
    return {
        "steps": whole(params, "steps", 128, 1, 256),
        "hidden_size": whole(params, "hidden", 32, 1, 64),
        "gain": number(params, "gain", 1.0, 0.0, 10.0),
        "seed": whole(params, "seed", 0, 0, 10**6),
        "keep": None if params.get("keep") is None else number(params, "keep", 1.0, -10.0, 10.0),
    }


def flow_of(which: str, how: dict[str, Any]) -> dict[str, Any]:
    """`keep` is the bias that gates start with which keep the old state; None: the cell's own."""
    check()
    keep = how.get("keep")
    how = {name: value for name, value in how.items() if name != "keep"}
    try:
        kind = kind_of_cell(which)
        check_affordable(kind, how["hidden_size"])
        kind = kind if keep is None else kind.with_init(keep_bias(keep))
        (found,) = gradient_flow([kind], **how)
    except ValueError as error:
        return NOTHING | {"name": "your own" if "=" in which else which, "error": str(error)}
    return flow_plain(found)


def check_affordable(kind: CellType, hidden: int) -> None:
    """Refuses a cell whose lines, parameters or Jacobians are too large to look at at once.

    All named sizes are `hidden`; others stand in the cell's own text, and may be anything.
    """
    eqs = kind.equations
    sizes = dict.fromkeys(eqs.named_sizes, hidden)
    lengths = {name: size.value(sizes) for name, size in eqs.sizes.items()}
    parameters = [math.prod(size.value(sizes) for size in eqs.shape(p)) for p in eqs.parameters]
    numbers = {
        "states": (sum(lengths[state] for state in eqs.states), STATES),
        "lines": (sum(lengths[line.name] for line in eqs.lines), LINES),
        "parameters": (sum(parameters), PARAMETERS),
    }
    for what, (count, limit) in numbers.items():
        if count > limit:
            raise ValueError(
                f"its {what} have {count:,} numbers, and gradients of more than {limit:,} take too "
                "long here: choose fewer units"
            )


NOTHING: dict[str, Any] = {
    "states": [], "measured": [], "norm_bound": [], "bound": None, "singular": [],
}  # fmt: skip


def flow_plain(flow: Flow) -> dict[str, Any]:
    norms = flow.norms
    return {
        "name": flow.name,
        "error": "",
        "states": [
            {"name": name, "norms": plain(norms[name]), "units": plain(values, 4)}
            for name, values in flow.gradients.items()
        ],
        "measured": plain(flow.measured),
        "norm_bound": plain(flow.norm_bound),
        "bound": None if flow.bound is None else plain(flow.bound),
        "singular": plain(flow.singular, 5),
    }


def cliff(desk: Desk, params: Params) -> dict[str, Any]:
    found = descend_both(
        limit=number(params, "limit", 0.1, 1e-3, 100.0), rate=number(params, "rate", 0.4, 1e-3, 5.0)
    )
    return {
        "x": {"name": "w", "values": plain(found.w)},
        "y": {"name": "b", "values": plain(found.b)},
        "loss": plain(found.loss, 5),
        "plain": descent_plain(found.plain),
        "clipped": descent_plain(found.clipped),
    }


def descent_plain(descent: Descent) -> dict[str, Any]:
    return {
        "points": plain(descent.points),
        "losses": plain(descent.losses),
        "norms": plain(descent.norms),
    }


def relu(desk: Desk, params: Params) -> dict[str, Any]:
    hidden = whole(params, "hidden", 64, 1, 512)
    steps = whole(params, "steps", 50, 1, 256)
    seed = whole(params, "seed", 0, 0, 10**6)
    runs = []
    for factor in SCALES:
        check()
        scale = factor * (2 / hidden) ** 0.5
        found = random_relu(steps=steps, hidden=hidden, scale=scale, seed=seed)
        norms = {"forward": found.forward_norms, "backward": found.gradient_norms}
        runs.append({"scale": scale} | {name: plain(values) for name, values in norms.items()})
    return {"runs": runs}
