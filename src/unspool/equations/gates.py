"""Which gates keep the old state: read off the equations, so that any cell can start remembering.

In `c' = f * c + i * g` the gate `f` multiplies the state itself: it keeps. In
`h' = (1 - z) * h + z * n` one minus `z` does: there a small `z` keeps. Another gate in the same
sum, such as `i`, writes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from unspool.equations.expr import ONE, Apply, Expr, Name
from unspool.equations.program import Equations
from unspool.equations.rewrite import terms


@dataclass(frozen=True)
class Gate:
    """A sigmoid line's bias. `sign` is +1 where a larger bias keeps (or writes) more."""

    bias: str
    role: Literal["keep", "write"]
    sign: int


def gates(equations: Equations) -> tuple[Gate, ...]:
    biases = dict(_gate_biases(equations))
    definitions = {line.name: line.expr for line in equations.lines}
    found: dict[str, Gate] = {}
    for state, carried in equations.carried.items():
        parts = [tuple(_factors(term)) for term in terms(definitions[carried])]
        held = [factors for factors in parts if Name(state) in factors]
        rest = [factors for factors in parts if Name(state) not in factors]
        keeps = [(b, s) for factors in held for b, s in _gates_among(factors, biases)]
        for bias, sign in keeps:
            found.setdefault(bias, Gate(bias, "keep", sign))
        if keeps:
            for bias, sign in (pair for factors in rest for pair in _gates_among(factors, biases)):
                found.setdefault(bias, Gate(bias, "write", sign))
    return tuple(found.values())


def _gate_biases(equations: Equations) -> Iterable[tuple[str, str]]:
    """Sigmoid lines and the first vector parameter in their sum."""
    for line in equations.lines:
        match line.expr:
            case Apply(function="sigmoid", args=(inside,)):
                for term in terms(inside):
                    if isinstance(term, Name) and term.id in equations.vectors:
                        yield line.name, term.id
                        break


def _gates_among(factors: tuple[Expr, ...], biases: dict[str, str]) -> Iterable[tuple[str, int]]:
    for factor in factors:
        match factor:
            case Name(id=name) if name in biases:
                yield biases[name], 1
            case Apply(function="-", args=(left, Name(id=name))) if left == ONE and name in biases:
                yield biases[name], -1


def _factors(expr: Expr) -> Iterable[Expr]:
    if isinstance(expr, Apply) and expr.function == "*":
        for arg in expr.args:
            yield from _factors(arg)
    else:
        yield expr
