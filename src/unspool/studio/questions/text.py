"""A text inside a model: any unit of any line over it, its states as points, what is like them."""

from typing import Any

import torch
from torch import Tensor

from unspool.cells.cell import Cell
from unspool.inspect.fixed_points import fixed_points
from unspool.inspect.neighbours import nearest
from unspool.inspect.reading import GRADIENTS, Reading
from unspool.inspect.trajectory import Trajectory
from unspool.inspect.trajectory import trajectory as principal
from unspool.models import LanguageModel
from unspool.studio.corpus import corpus
from unspool.studio.desk import Desk
from unspool.studio.params import Params, text, whole
from unspool.studio.plain import plain
from unspool.studio.questions.run import layer_plain

GRADIENT = "dL/d"  # before the name of a state, in the list of lines
AROUND = 30  # characters shown on either side of one
SMALL = 64  # numbers in a state whose fixed points are looked for
STARTS = 24


def text_read(desk: Desk, params: Params) -> dict[str, Any]:
    given, kind = text(params, "text"), text(params, "kind")
    if not given.strip():
        raise ValueError("there is nothing to read: type or paste a text")
    reading = desk.reading(given, kind)
    check_not_empty(reading)
    followed = len(reading.symbols) <= GRADIENTS
    layers = []
    for layer in reading.layers:
        shown = layer_plain(layer)
        module = desk.model().get_submodule(layer.name)
        if followed and isinstance(module, Cell):
            states = module.state_sizes.items()
            shown["lines"] += [{"name": GRADIENT + name, "size": size} for name, size in states]
        layers.append(shown)
    return {
        "symbols": reading.symbols,
        "marks": list(reading.read.marks),
        "answer": reading.read.answer,
        "layers": layers,
        "ranked": isinstance(desk.model(), LanguageModel),
    }


def check_not_empty(reading: Reading) -> None:
    if not reading.symbols:
        raise ValueError("there is no symbol in this text that the model reads: write some more")


def values_of(desk: Desk, params: Params) -> Tensor:
    """The line that the question names at every symbol of its text, (N, n)."""
    given, kind = text(params, "text"), text(params, "kind")
    layer, line = whole(params, "layer", 0, 0, 1000), text(params, "line", "h")

    def make() -> Tensor:
        check_not_empty(desk.reading(given, kind))
        if line.startswith(GRADIENT):
            reading = desk.reading(given, kind, gradients=True)
            return reading.gradient(layer, line.removeprefix(GRADIENT))
        return desk.reading(given, kind).values(layer, line)

    return desk.keep(("values", given, kind, layer, line), make, large=True)


def unit(desk: Desk, params: Params) -> dict[str, Any]:
    values = values_of(desk, params)
    column = values[:, whole(params, "unit", 0, 0, values.shape[1] - 1)]
    return {
        "values": plain(column),
        "low": plain(column.min()) if len(column) else 0.0,
        "high": plain(column.max()) if len(column) else 0.0,
    }


def neighbours(desk: Desk, params: Params) -> dict[str, Any]:
    """Places in held-out text at which the line was most like it is at one symbol of this text."""
    values = values_of(desk, params)
    query = values[whole(params, "position", 0, 0, len(values) - 1)]
    line, kind = text(params, "line", "h"), text(params, "kind")
    if line.startswith(GRADIENT):
        raise ValueError("neighbours are looked for among values, not gradients: choose a line")
    held = corpus(desk, kind)
    layer = whole(params, "layer", 0, 0, 1000)
    states = desk.keep(("held", kind, layer, line), lambda: held.values(layer, line), large=True)
    found = []
    for at, distance in nearest(states, query, 8):
        other, (start, end) = held.place(at)
        found.append(
            {
                "distance": distance,
                "before": other[max(0, start - AROUND) : start],
                "symbol": other[start:end],
                "after": other[end : end + AROUND],
            }
        )
    return {"found": found}


def trajectory(desk: Desk, params: Params) -> dict[str, Any]:
    values = values_of(desk, params)
    found = principal(values)
    layer, line = whole(params, "layer", 0, 0, 1000), text(params, "line", "h")
    given, kind = text(params, "text"), text(params, "kind")
    reading = desk.reading(given, kind)
    key = ("fixed", given, kind, layer, line)
    fixed = desk.keep(key, lambda: _fixed(desk, reading, layer, line))
    return {
        "points": plain(found.points),
        "explained": plain(found.explained, 4),
        "fixed": [_point(found, state, about) for state, about in fixed],
    }


def _point(found: Trajectory, state: Tensor, about: Any) -> dict[str, Any]:
    return {
        "point": plain(found.project(state)),
        "kind": about.kind,
        "radius": about.radius,
        "speed": about.speed,
    }


def _fixed(desk: Desk, reading: Reading, layer: int, line: str) -> list[tuple[Tensor, Any]]:
    """Fixed points under no input, looked for from states of this text; of small cells only."""
    cell = desk.model().get_submodule(reading.layers[layer].name)
    if not isinstance(cell, Cell) or line not in cell.state_sizes:
        return []
    sizes = cell.state_sizes
    if sum(sizes.values()) > SMALL:
        return []
    states = torch.cat([reading.values(layer, name) for name in sizes], -1)
    starts = states[:: max(1, len(states) // STARTS)][:STARTS]
    names = list(sizes)
    begin = sum(sizes[name] for name in names[: names.index(line)])
    points = fixed_points(cell, starts=starts)
    return [(point.state[begin : begin + sizes[line]], point) for point in points if not point.slow]
