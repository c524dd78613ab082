"""A second reading of the language, which shares nothing with the first.

Python itself runs the text, over small vectors of floats that know the operators. It is slow,
and only as much of the language as a correct text needs; tests alone may evaluate text.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Number = int | float


class Vector(list[float]):
    def _zip(self, other: Any, op: Callable[[float, float], float]) -> "Vector":
        others = other if isinstance(other, Vector) else [other] * len(self)
        assert len(others) == len(self)
        return Vector(op(a, b) for a, b in zip(self, others, strict=True))

    def __add__(self, other: Any) -> "Vector":  # type: ignore[override]
        return self._zip(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> "Vector":
        return self._zip(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> "Vector":  # type: ignore[override]
        return self._zip(other, lambda a, b: a * b)

    def __truediv__(self, other: Any) -> "Vector":
        return self._zip(other, lambda a, b: a / b)

    def __pow__(self, k: Number) -> "Vector":
        return Vector(a**k for a in self)

    def __neg__(self) -> "Vector":
        return Vector(-a for a in self)

    def __radd__(self, other: Number) -> "Vector":
        return self + other

    def __rsub__(self, other: Number) -> "Vector":
        return -self + other

    def __rmul__(self, other: Number) -> "Vector":  # type: ignore[override]
        return self * other

    def __rtruediv__(self, other: Number) -> "Vector":
        return Vector(other / a for a in self)


class Matrix:
    def __init__(self, rows: Sequence[Sequence[float]]):
        self.rows = rows

    def __matmul__(self, v: Vector) -> Vector:
        return Vector(sum(a * b for a, b in zip(row, v, strict=True)) for row in self.rows)


def _each(function: Callable[..., float]) -> Callable[..., Any]:
    def apply(*args: Any) -> Any:
        size = next(len(arg) for arg in args if isinstance(arg, Vector))
        columns = [arg if isinstance(arg, Vector) else [arg] * size for arg in args]
        return Vector(function(*values) for values in zip(*columns, strict=True))

    return apply


def _layer_norm(v: Vector) -> Vector:
    mean = sum(v) / len(v)
    variance = sum((a - mean) ** 2 for a in v) / len(v)
    return Vector((a - mean) / math.sqrt(variance + 1e-5) for a in v)


FUNCTIONS = {
    "sigmoid": _each(lambda a: (1 + math.tanh(a / 2)) / 2),
    "tanh": _each(math.tanh),
    "relu": _each(lambda a: max(a, 0.0)),
    "softplus": _each(lambda a: max(a, 0) + math.log1p(math.exp(-abs(a)))),
    "exp": _each(math.exp),
    "log": _each(math.log),
    "sqrt": _each(math.sqrt),
    "abs": _each(math.fabs),
    "sin": _each(math.sin),
    "cos": _each(math.cos),
    "minimum": _each(min),
    "maximum": _each(max),
    "layer_norm": _layer_norm,
    "concat": lambda *vectors: Vector(a for v in vectors for a in v),
}


def unfold_slowly(
    text: str,
    parameters: dict[str, Any],
    xs: Sequence[Sequence[float]],
    state: Mapping[str, Sequence[float]],
    output: str,
) -> tuple[list[Vector], dict[str, Vector]]:
    """One row's outputs and last state, from the text itself."""
    lines = [line for line in text.split("\n") if "=" in line]
    code = compile("\n".join(lines).replace("'", "_new"), "<cell>", "exec")
    known = {n: Matrix(p) if isinstance(p[0], list) else Vector(p) for n, p in parameters.items()}
    values = {name: Vector(value) for name, value in state.items()}
    ys = []
    for x in xs:
        env: dict[str, Any] = {**FUNCTIONS, **known, **values, "x": Vector(x)}
        exec(code, env)
        ys.append(env[output.replace("'", "_new")])
        values = {name: env[name + "_new"] for name in values}
    return ys, values
