"""One line of a chart: its stroke with gaps, its markers, its intervals."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from unspool.draw.frame import Frame
from unspool.draw.numbers import coordinate, short
from unspool.draw.svg import Element, element
from unspool.draw.theme import DASHES, fill_class, line_class

MARKED = 40  # a line of more points than this has no markers: they would hide it


class Point(NamedTuple):
    """A point of a line, and the interval that y may lie in."""

    x: float
    y: float
    low: float = math.nan
    high: float = math.nan

    @property
    def drawn(self) -> bool:
        return math.isfinite(self.x) and math.isfinite(self.y)

    @property
    def ranged(self) -> bool:
        return self.drawn and math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def words(self) -> str:
        interval = f" ({short(self.low)} to {short(self.high)})" if self.ranged else ""
        return f"{short(self.x)}, {short(self.y)}{interval}"


def draw_line(
    name: str, at: int, points: Sequence[Point], plan: Frame, intervals: str, shift: float
) -> Element:
    """The line with number `at`, moved by `shift` pixels to the right."""
    runs = _runs(points, "drawn")
    strokes = [_path(run, plan, shift) for run in runs if len(run) > 1]
    marked = points if len(points) <= MARKED else [run[0] for run in runs if len(run) == 1]
    return element(
        "g",
        *_intervals(at, points, plan, intervals, shift),
        element(
            "path",
            element("title", name),
            class_=line_class(at),
            d=" ".join(strokes),
            fill="none",
            stroke_width=1.8,
            stroke_dasharray=DASHES[at % len(DASHES)],
            stroke_linejoin="round",
        )
        if strokes
        else None,
        *(
            _marker(at, plan.x(p.x) + shift, plan.y(p.y), f"{name}: {p.words}")
            for p in marked
            if p.drawn
        ),
    )


def sample(at: int, x: float, y: float) -> Element:
    """The line as a legend shows it."""
    dash = DASHES[at % len(DASHES)]
    line = element(
        "path",
        class_=line_class(at),
        d=f"M{coordinate(x)} {coordinate(y)}h30",
        stroke_width=1.8,
        stroke_dasharray=dash,
    )
    return element("g", line, _marker(at, x + 15, y))


def _runs(points: Sequence[Point], kind: str) -> list[list[Point]]:
    """The stretches of neighbouring points that are all drawn, or all ranged."""
    groups = groupby(points, key=lambda point: getattr(point, kind))
    return [list(run) for good, run in groups if good]


def _path(run: Sequence[Point], plan: Frame, shift: float, end: str = "y") -> str:
    places = [(plan.x(point.x) + shift, plan.y(getattr(point, end))) for point in run]
    return "M" + "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in places)


def _intervals(
    at: int, points: Sequence[Point], plan: Frame, intervals: str, shift: float
) -> list[Element]:
    parts = []
    for run in _runs(points, "ranged"):
        # A band over one point would have no width.
        if intervals == "bars" or len(run) == 1:
            parts += [_bar(at, point, plan, shift) for point in run]
            continue
        upper, lower = _path(run, plan, shift, "high"), _path(run[::-1], plan, shift, "low")
        outline = f"{upper}L{lower[1:]}Z"
        parts.append(element("path", class_=fill_class(at), d=outline, fill_opacity=0.15))
    return parts


def _bar(at: int, point: Point, plan: Frame, shift: float) -> Element:
    x = coordinate(plan.x(point.x) + shift)
    high, low = coordinate(plan.y(point.high)), coordinate(plan.y(point.low))
    shape = f"M{x} {high}V{low}M{x} {high}m-3 0h6M{x} {low}m-3 0h6"
    return element("path", class_=line_class(at), d=shape, fill="none", stroke_width=1)


def _marker(at: int, x: float, y: float, tip: str = "") -> Element:
    shape = (
        "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0Z",  # circle
        "m-3 -3h6v6h-6Z",  # square
        "m0 -4.2l4 7h-8Z",  # triangle
        "m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4Z",  # diamond
    )[at % 4]
    place = f"M{coordinate(x)} {coordinate(y)}"
    return element(
        "path", element("title", tip) if tip else None, class_=fill_class(at), d=place + shape
    )
