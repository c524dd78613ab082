"""A recurrence's plan: what runs before its loop, in it, after it; forwards and backwards."""

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unspool.engine.items import Item
from unspool.equations.derivative import Backward, adjoint
from unspool.equations.expr import Expr, names
from unspool.equations.program import Equations
from unspool.equations.sizes import Size


@dataclass(frozen=True)
class Loop:
    """One direction of time: items by stage; `levels` are the loop's, in order."""

    before: tuple[Item, ...]
    levels: tuple[tuple[Item, ...], ...]
    after: tuple[Item, ...]

    @property
    def inside(self) -> tuple[Item, ...]:
        return tuple(itertools.chain.from_iterable(self.levels))

    def items(self) -> tuple[Item, ...]:
        return (*self.before, *self.inside, *self.after)


@dataclass(frozen=True)
class Piece:
    """Some columns of a matrix, which read one part of a concat."""

    matrix: str
    start: Size
    size: Size

    def of(self, matrix: Any, sizes: Mapping[str, int]) -> Any:
        """These columns, as a view."""
        start = self.start.value(sizes)
        return matrix[:, start : start + self.size.value(sizes)]


@dataclass(frozen=True, eq=False)
class Plan:
    """`sizes` covers every name; `outers` and `sums` are the parameters' gradients.

    A matrix receives the outer product of two vectors at every step, once for each entry of
    `outers` that names it; a vector receives its expression in `sums`.
    """

    equations: Equations
    pieces: dict[str, Piece]
    derived: Backward
    forward: Loop
    backward: Loop
    outers: tuple[tuple[str, str, str], ...]
    sums: dict[str, Expr]
    record: tuple[str, ...]
    sizes: dict[str, Size]

    def whole(self, matrix: str) -> str:
        """The parameter that a matrix is, or is a piece of."""
        return self.pieces[matrix].matrix if matrix in self.pieces else matrix

    def tensor(self, matrix: str, tensors: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
        """A parameter of `tensors`, or the piece of one."""
        if matrix in self.pieces:
            return self.pieces[matrix].of(tensors[self.whole(matrix)], sizes)
        return tensors[matrix]

    @cached_property
    def outers_by_right(self) -> dict[str, list[tuple[str, str]]]:
        """The matrices of `outers` and their left sides, by the vector on the right."""
        found: dict[str, list[tuple[str, str]]] = {}
        for name, left, right in self.outers:
            found.setdefault(right, []).append((name, left))
        return found

    @cached_property
    def crowded(self) -> frozenset[str]:
        """Parameters whose gradient is a sum of several products, which may overlap in part."""
        counts = Counter(matrix for matrix, _, _ in self.outers)
        several = {self.whole(matrix) for matrix, count in counts.items() if count > 1}
        for name in {piece.matrix for piece in self.pieces.values()}:
            pieces = [piece for piece in self.pieces.values() if piece.matrix == name]
            # disjoint if each begins where another ends, the first one at 0
            ends = {Size(), *(piece.start + piece.size for piece in pieces)}
            starts = [piece.start for piece in pieces]
            # or if the matrix is read as a whole too
            if name in counts or len(set(starts)) < len(starts) or not set(starts) <= ends:
                several.add(name)
        return frozenset(several)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Those that a gradient reaches."""
        reached = [self.whole(matrix) for matrix, _, _ in self.outers]
        return tuple(dict.fromkeys((*reached, *self.sums)))

    @property
    def late(self) -> set[str]:
        """What the parameters' gradients read."""
        sides = {name for _, left, right in self.outers for name in (left, right)}
        return sides | {name for share in self.sums.values() for name in names(share)}

    @property
    def saved(self) -> tuple[str, ...]:
        """Lines that the backward pass reads again."""
        read = {name for item in self.backward.items() for name in item.reads()} | self.late
        return tuple(item.name for item in self.forward.items() if item.name in read)

    def flow(self) -> dict[str, str]:
        """For each state that a gradient flows back to, the line that computes it."""
        return {s: adjoint(s) for s in self.equations.states if self.derived.has(s)}
