"""An alignment as a heat-map: which source token each target token was read from."""

from collections.abc import Sequence
from typing import Any

from unspool.draw.labels import cut, pixels, prose, visible
from unspool.draw.numbers import coordinate, short
from unspool.draw.svg import Element, element, picture
from unspool.draw.weights import alignment_rows

CELL = 22
LONGEST = 24  # columns of a label; its tooltip has all of it
SLOPE = 0.71  # sine and cosine of the angle at which source labels stand


def alignment(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    weights: Any,
    title: str = "Alignment",
) -> str:
    """The weights (target, source) as an SVG: a row a target token, a column a source token.

    The stronger the colour, the larger the weight; a cell's tooltip has its number.
    """
    title = prose(title) or "Alignment"
    rows = alignment_rows(source_tokens, target_tokens, weights)
    source, target = list(map(visible, source_tokens)), list(map(visible, target_tokens))
    slanted = [pixels(cut(token, LONGEST)) * SLOPE for token in source]
    left = 20 + max(62.0, *(pixels(cut(token, LONGEST)) for token in target))
    top = 44 + max(30.0, *slanted)
    wide, high = CELL * len(source), CELL * len(target)
    overhang = max(at * CELL + length for at, length in enumerate(slanted)) + CELL - wide
    width = left + wide + max(12.0, overhang)
    return picture(
        max(width, left + 150, 20 + 1.2 * pixels(title)),
        top + high + 40,
        element("text", title, class_="title ink", x=12, y=22),
        element("text", "source →", class_="faint", x=left - 8, y=top - 20, text_anchor="end"),
        element("text", "target ↓", class_="faint", x=left - 8, y=top - 5, text_anchor="end"),
        _source_labels(source, left, top),
        _target_labels(target, left, top),
        element("rect", class_="floor", x=left, y=top, width=wide, height=high),
        _cells(source, target, rows, left, top),
        _ramp(left, top + high + 12),
        title=title,
        description=_in_words(source, target, rows),
    )


def _source_labels(tokens: Sequence[str], left: float, top: float) -> Element:
    labels = []
    for at, token in enumerate(tokens):
        place = f"{coordinate(left + (at + 0.6) * CELL)} {coordinate(top - 5)}"
        labels.append(_label(token, transform=f"translate({place}) rotate(-45)"))
    return element("g", *labels)


def _target_labels(tokens: Sequence[str], left: float, top: float) -> Element:
    return element(
        "g",
        *(
            _label(token, x=left - 8, y=top + (at + 0.5) * CELL + 4, text_anchor="end")
            for at, token in enumerate(tokens)
        ),
    )


def _label(token: str, **attributes: Any) -> Element:
    shown = cut(token, LONGEST)
    tip = None if shown == token else element("title", token)
    return element("text", shown, tip, class_="ink", **attributes)


def _cells(
    source: Sequence[str],
    target: Sequence[str],
    rows: Sequence[Sequence[float]],
    left: float,
    top: float,
) -> Element:
    cells = []
    for i, row in enumerate(rows):
        for j, weight in enumerate(row):
            tip = element("title", f"{source[j]} → {target[i]}: {short(weight)}")
            x, y = left + j * CELL + 0.5, top + i * CELL + 0.5
            cells.append(_cell(weight, x, y, CELL - 1, tip))
    return element("g", *cells)


def _cell(weight: float, x: float, y: float, size: float, tip: Element | None = None) -> Element:
    # Over either paper, opacity gives a ramp of one hue from the paper's colour to the full one.
    return element(
        "rect", tip, class_="heat", x=x, y=y, width=size, height=size, fill_opacity=weight
    )


def _ramp(left: float, top: float) -> Element:
    """What the colours mean."""
    steps = [_cell(k / 5, left + 12 + 12 * k, top, 12) for k in range(6)]
    return element(
        "g",
        element("rect", class_="floor", x=left + 12, y=top, width=72, height=12),
        *steps,
        element("text", "0", class_="faint", x=left, y=top + 10),
        element("text", "1", class_="faint", x=left + 90, y=top + 10),
    )


def _in_words(source: Sequence[str], target: Sequence[str], rows: Sequence[Sequence[float]]) -> str:
    """The strongest weight of each row, for those who do not see the picture."""
    parts = []
    for token, row in zip(target, rows, strict=True):
        best = max(range(len(row)), key=row.__getitem__)
        parts.append(f"{token} from {source[best]} ({short(row[best], 2)})")
    return "Target tokens and the source token that each weighs most: " + ", ".join(parts) + "."
