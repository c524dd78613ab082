"""The weights of an alignment as plain rows of numbers, checked."""

from collections.abc import Sequence
from typing import Any

SLACK = 1e-3  # what rounding to half precision can add to a weight of 1


def alignment_rows(source: Sequence[str], target: Sequence[str], weights: Any) -> list[list[float]]:
    """A row for each target token, a number from 0 to 1 for each source token.

    `weights` is a tensor, an array or a nest of lists, of shape (target, source).
    """
    rows = _plain(weights)
    wanted = (len(target), len(source))
    if 0 in wanted:
        raise ValueError(
            f"an alignment has at least one token on each side; "
            f"here are {wanted[1]} of the source and {wanted[0]} of the target"
        )
    if not _is_matrix(rows) or {(len(rows), len(row)) for row in rows} != {wanted}:
        raise ValueError(
            f"the weights have shape {_shape(rows)}; expected {wanted}: a row for each of the "
            f"{wanted[0]} target tokens, in it a number for each of the {wanted[1]} source tokens"
        )
    for i, row in enumerate(rows):
        for j, weight in enumerate(row):
            if not -SLACK <= weight <= 1 + SLACK:  # NaN too
                raise ValueError(
                    f"weights are from 0 to 1; that of target token {i} ({target[i]!r}) for "
                    f"source token {j} ({source[j]!r}) is {weight}: give what the softmax gave"
                )
    return [[min(max(float(weight), 0.0), 1.0) for weight in row] for row in rows]


def _plain(weights: Any) -> Any:
    """Tensors and arrays, also inside lists, as lists and numbers."""
    if hasattr(weights, "tolist"):
        return weights.tolist()
    return list(map(_plain, weights)) if isinstance(weights, list | tuple) else weights


def _is_matrix(rows: Any) -> bool:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return False
    return all(isinstance(weight, int | float) for row in rows for weight in row)


def _shape(rows: Any) -> str:
    if not isinstance(rows, list):
        return "()"
    if not all(isinstance(row, list) for row in rows):
        return f"({len(rows)},)"
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        return f"({len(rows)}, {lengths[0]} to {lengths[-1]})"
    deeper = any(isinstance(weight, list) for row in rows for weight in row)
    return f"({len(rows)}, {lengths[0] if lengths else 0}{', ...' if deeper else ''})"
