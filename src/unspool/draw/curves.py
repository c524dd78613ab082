"""Lines over an axis: a loss by step, a score by length with its interval.

Each line has a colour, a dash and a marker of its own, so that colour alone never tells.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from unspool.draw.frame import Frame, frame
from unspool.draw.labels import pixels, prose, shorten
from unspool.draw.line import Point, draw_line, sample
from unspool.draw.numbers import short
from unspool.draw.scale import fit
from unspool.draw.svg import Element, element, picture
from unspool.draw.theme import fill_class

Named = Sequence[tuple[str, Sequence[Point]]]
WIDTH, PLOT = 760, 280
LONGEST = 24  # columns of a line's name; its tooltip has all of it
GAP = 15  # from the name of a line to the next


def curves(
    lines: Mapping[str, Sequence[Sequence[float]]],
    x_label: str,
    y_label: str,
    *,
    log_y: bool = False,
    title: str = "",
    intervals: Literal["band", "bars"] = "band",
) -> str:
    """Lines as an SVG: each a name and its points `(x, y)` or `(x, y, low, high)`, in order.

    A point that is not finite is a gap. From low to high goes a band, or a bar at each point.
    """
    x_label, y_label = prose(x_label), prose(y_label)
    title = prose(title) or f"{y_label} by {x_label}"
    named = [(prose(n), [_point(n, point, log_y) for point in line]) for n, line in lines.items()]
    if not named:
        raise ValueError("there are no lines to draw: give at least one name and its points")
    if intervals not in ("band", "bars"):
        raise ValueError(f"intervals are drawn as 'band' or 'bars', not {intervals!r}")
    legend, rows = _legend([name for name, _ in named]) if len(named) > 1 else (None, 0)
    top = 44 + 20 * rows
    bottom = top + max(PLOT, GAP * len(named))
    plan = _frame(named, log_y, top, bottom)
    # Bars at the same x stand side by side.
    beside = 5 if intervals == "bars" else 0
    drawn = [
        draw_line(name, at, points, plan, intervals, (at - (len(named) - 1) / 2) * beside)
        for at, (name, points) in enumerate(named)
    ]
    return picture(
        WIDTH,
        bottom + 46,
        element("text", shorten(title, 90), class_="title ink", x=12, y=22),
        legend,
        frame(plan, x_label, y_label),
        *drawn,
        _names(named, plan),
        title=title,
        description=_in_words(named, x_label, y_label),
    )


def _point(name: str, numbers: Sequence[float], log_y: bool) -> Point:
    if len(numbers) not in (2, 4):
        raise ValueError(
            f"a point of {name!r} has {len(numbers)} numbers; expected (x, y) or (x, y, low, high)"
        )
    point = Point(*map(float, numbers))
    if point.low > point.high:
        raise ValueError(
            f"at x = {point.x} of {name!r} the interval goes from {point.low} to {point.high}: "
            "the lower end comes first"
        )
    if log_y and min(y for y in (*point[1:], math.inf) if not math.isnan(y)) <= 0:
        raise ValueError(
            f"a logarithmic axis has no place for 0 and below, and {name!r} is {point[1:]} at "
            f"x = {point.x}: leave log_y out, or leave the point out"
        )
    return point


def _frame(named: Named, log_y: bool, top: float, bottom: float) -> Frame:
    points = [point for _, line in named for point in line if point.drawn]
    ys = [y for point in points for y in point[1:] if math.isfinite(y)]
    y = fit(ys, bottom, top, log=log_y, widen=True)
    left = 46 + max(pixels(label) for _, label in y.ticks())
    right = WIDTH - 22 - max(pixels(shorten(name, LONGEST)) for name, _ in named)
    x = fit([point.x for point in points], left + 12, right - 12)
    whole = all(point.x == round(point.x) for point in points)
    return Frame(x, y, left, right, top, bottom, whole, empty=not points)


def _legend(names: Sequence[str]) -> tuple[Element, int]:
    """What each dash and marker stands for, in as many rows as it takes."""
    entries, x, row = [], 12.0, 0
    for at, name in enumerate(names):
        shown = shorten(name, LONGEST)
        size = 36 + pixels(shown) + 16
        if x + size > WIDTH and x > 12:
            x, row = 12.0, row + 1
        y = 42 + 20 * row
        tip = None if shown == name else element("title", name)
        entries.append(sample(at, x, y))
        entries.append(element("text", shown, tip, class_="ink", x=x + 36, y=y + 4))
        x += size
    return element("g", *entries), row + 1


def _names(named: Named, plan: Frame) -> Element:
    """The name of each line where it ends."""
    lasts = {}
    for at, (name, points) in enumerate(named):
        drawn = [point for point in points if point.drawn]
        if drawn:
            lasts[at] = (name, plan.x(drawn[-1].x), plan.y(drawn[-1].y))
    heights = spread([y for _, _, y in lasts.values()], GAP, plan.top, plan.bottom)
    labels = []
    for (at, (name, x, y)), height in zip(lasts.items(), heights, strict=True):
        ink, right = fill_class(at), plan.right + 8
        if abs(height - y) > 2 or plan.right - x > 20:
            lead = {"x1": x + 5, "y1": y, "x2": right - 2, "y2": height}
            labels.append(element("line", class_="axis", stroke_width=0.6, **lead))
        labels.append(element("text", shorten(name, LONGEST), class_=ink, x=right, y=height + 4))
    return element("g", *labels)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places near the wanted ones, at least `gap` apart and between low and high if they fit."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    places, least = list(wanted), low
    for at in order:
        places[at] = least = max(places[at], least)
        least += gap
    most = high
    for at in reversed(order):
        places[at] = most = min(places[at], most)
        most -= gap
    return places


def _in_words(named: Named, x_label: str, y_label: str) -> str:
    """Where each line begins and ends, for those who do not see the picture."""
    parts = []
    for name, points in named:
        drawn = [point for point in points if point.drawn]
        if not drawn:
            parts.append(f"{name} has no finite points")
            continue
        (x, y, *_), (u, v, *_) = drawn[0], drawn[-1]
        parts.append(f"{name} from {short(y)} at {short(x)} to {short(v)} at {short(u)}")
    return f"{y_label} over {x_label}: {'; '.join(parts)}."
