"""An alignment for a terminal, in characters of growing darkness."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from unspool.draw.labels import columns, cut, visible
from unspool.draw.weights import alignment_rows

SHADES = " ░▒▓█"  # they cover 0, 1/4, 1/2, 3/4 and all of a place
LONGEST = 16  # columns of a label
NARROWEST = 12


def alignment_text(
    source_tokens: Sequence[str], target_tokens: Sequence[str], weights: Any, *, width: int = 100
) -> str:
    """The weights (target, source) as lines of at most `width` columns.

    A line a target token; under each source token a bar as wide as the token, in the shade that
    is nearest to the weight. Source tokens that do not fit stand in blocks further down.
    """
    if width < NARROWEST:
        raise ValueError(f"an alignment needs {NARROWEST} columns or more, not {width}")
    rows = alignment_rows(source_tokens, target_tokens, weights)
    names = [cut(visible(token), min(LONGEST, width // 3)) for token in target_tokens]
    margin = max(map(columns, names))
    heads = [cut(visible(t), min(LONGEST, width - margin - 1)) for t in source_tokens]
    blocks = []
    for first, last in pairwise(_breaks([columns(head) for head in heads], width - margin)):
        part = heads[first:last]
        lines = [" ".join([" " * margin, *part])]
        for name, row in zip(names, rows, strict=True):
            bars = (
                _shade(weight) * columns(head)
                for weight, head in zip(row[first:last], part, strict=True)
            )
            lines.append(" ".join([" " * (margin - columns(name)) + name, *bars]))
        blocks.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(blocks)


def _breaks(widths: Sequence[int], room: int) -> list[int]:
    """Where blocks begin, and where the last one ends: each column has a space before it."""
    breaks, used = [0], 0
    for at, size in enumerate(widths):
        used += 1 + size
        if used > room:
            breaks.append(at)
            used = 1 + size
    return [*breaks, len(widths)]


def _shade(weight: float) -> str:
    return SHADES[int(weight * (len(SHADES) - 1) + 0.5)]
