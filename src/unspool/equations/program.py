"""A cell's equations as a graph with roles and sizes: what every other module works on."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from unspool.equations.expr import Expr, Line, Name, Product, names, products, walk
from unspool.equations.sizes import (
    Constraint,
    Size,
    size_of,
)


@dataclass(frozen=True, eq=False)
class Equations:
    """One step of a cell: lines in order, and what each name is.

    `carried` says which line becomes each state's next value: `h'`, unless a rewrite such as
    zoneout puts another line there. `sizes` covers every vector: x, states, lines, parameters.
    """

    text: str
    lines: tuple[Line, ...]
    carried: Mapping[str, str]
    output: str
    matrices: Mapping[str, tuple[Size, Size]]
    vectors: tuple[str, ...]
    sizes: Mapping[str, Size]
    constraints: tuple[Constraint, ...] = ()

    @property
    def states(self) -> tuple[str, ...]:
        """The state that is the output first, then in order of assignment."""
        return tuple(self.carried)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Matrices and vectors in the order in which the text first names them."""
        order: dict[str, None] = {}
        for line in self.lines:
            for node in walk(line.expr):
                if isinstance(node, Product):
                    order[node.matrix] = None
                elif isinstance(node, Name) and node.id in self.vectors:
                    order[node.id] = None
        return tuple(order)

    def shape(self, parameter: str) -> tuple[Size, ...]:
        if parameter in self.matrices:
            return self.matrices[parameter]
        return (self.sizes[parameter],)

    @cached_property
    def named_sizes(self) -> tuple[str, ...]:
        """Every size that must be given to build the cell, `input` and `hidden` first."""
        sizes = [*self.sizes.values(), *(size for pair in self.matrices.values() for size in pair)]
        sizes += [size for needed in self.constraints for size in (needed.left, needed.right)]
        names = {name for size in sizes for name in size.names} | {"input"}
        return tuple(sorted(names, key=lambda t: (t != "input", t != "hidden", t)))

    def size_of(self, expr: Expr) -> Size | None:
        return size_of(expr, self.sizes.__getitem__, self.matrices.__getitem__)

    @cached_property
    def stateful(self) -> frozenset[str]:
        """Every name whose value depends on a state."""
        found = set(self.states)
        for line in self.lines:
            if names(line.expr) & found:
                found.add(line.name)
        return frozenset(found)

    def depends_on_state(self, expr: Expr) -> bool:
        return bool(names(expr) & self.stateful)

    @cached_property
    def recurrent(self) -> tuple[str, ...]:
        """The matrices that multiply something which depends on a state."""
        found = {
            node.matrix: None
            for line in self.lines
            for node in products(line.expr)
            if self.depends_on_state(node.operand)
        }
        return tuple(found)

    @cached_property
    def recordable(self) -> tuple[str, ...]:
        """What `record` may name: every line, a state without its prime."""
        return tuple(line.name.removesuffix("'") for line in self.lines)
