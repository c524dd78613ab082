"""What a step is taken apart into: sums of matrix products, reductions, element-wise lines.

A product or a reduction reads whole vectors, so it waits until everybody has written theirs;
element-wise lines follow in the same level.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from unspool.equations.expr import Apply, Expr, Part, names, walk
from unspool.equations.printing import ascii_expr


@dataclass(frozen=True)
class Term:
    """`sign` times `matrix @ operand`, or its transpose; the operand is a name."""

    sign: int
    matrix: str
    operand: str
    transposed: bool

    def __str__(self) -> str:
        return f"{'-' * (self.sign < 0)}{self.matrix}{'.T' * self.transposed} @ {self.operand}"


@dataclass(frozen=True)
class Accumulate:
    """A sum of matrix products; before the loop, with the parameters that are added to it."""

    name: str
    terms: tuple[Term, ...]
    bias: tuple[str, ...] = ()
    waits: ClassVar[bool] = True

    def reads(self) -> set[str]:
        return {term.operand for term in self.terms} | set(self.bias)

    def __str__(self) -> str:
        return f"{self.name} = {' + '.join((*map(str, self.terms), *self.bias))}"


@dataclass(frozen=True)
class Reduce:
    """`mean` or `rstd` over all entries of a named vector, spread to its size again."""

    name: str
    function: str
    of: str
    waits: ClassVar[bool] = True

    def reads(self) -> set[str]:
        return {self.of}

    def __str__(self) -> str:
        return f"{self.name} = {self.function}({self.of})"


@dataclass(frozen=True)
class Elementwise:
    name: str
    expr: Expr

    def reads(self) -> set[str]:
        return names(self.expr)

    def __str__(self) -> str:
        return f"{self.name} = {ascii_expr(self.expr)}"

    @property
    def waits(self) -> bool:
        """Whether it reads other entries than its own: concat and its slices do."""
        return any(
            isinstance(node, Part) or (isinstance(node, Apply) and node.function == "concat")
            for node in walk(self.expr)
        )


Item = Accumulate | Reduce | Elementwise


def levels_of(items: Iterable[Any]) -> tuple[tuple[Any, ...], ...]:
    """Items by level: those that wait read whole vectors, once these are written."""
    items = list(items)
    level: dict[str, int] = {}
    for item in items:
        level[item.name] = max(
            (level[n] + item.waits for n in item.reads() if n in level), default=0
        )
    count = max(level.values(), default=-1) + 1
    return tuple(tuple(item for item in items if level[item.name] == k) for k in range(count))
