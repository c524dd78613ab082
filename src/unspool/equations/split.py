"""Equations without `concat`: a vector that joins others becomes several vectors.

A kernel's worker owns the same entries of all vectors of one size, and `concat` sets entries of one
vector beside those of another. So vectors are cut where a `concat` joins its parts, and with them
every vector that an element-wise operation sets beside them, states and parameters too. A matrix
whose product is cut is cut into rows; a product that reads a cut vector reads a `concat` of its
pieces, which a plan takes as one product for each.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from unspool.equations.expr import (
    Apply,
    Const,
    Expr,
    Line,
    Name,
    Product,
    children,
    names,
    rebuild,
)
from unspool.equations.program import Equations
from unspool.equations.rewrite import free_name
from unspool.equations.sizes import Size

MOST = 50  # pieces of a vector: each is a product of its own where a matrix reads them all
REDUCTIONS = {"layer_norm", "mean", "rstd"}
Range = tuple[int, int]


class CannotSplit(Exception):
    """Something must stay whole that a `concat` elsewhere would cut."""


@dataclass(frozen=True, eq=False)
class Split:
    """`equations` compute the pieces; `ranges` are those of each name of the first equations.

    A matrix has ranges of rows. `output` are the lines that the first equations put out.
    """

    equations: Equations
    ranges: Mapping[str, tuple[Range, ...]]
    output: tuple[str, ...]

    @cached_property
    def for_steps(self) -> tuple[Equations, tuple[str, ...]]:
        """With the other pieces of the output carried along, as unread states.

        A single step gives its first piece and the states. Also the names of these states.
        """
        eqs = self.equations
        lines = [line for line in self.output[1:] if line not in eqs.carried.values()]
        names = tuple(f"out{k}" for k in range(len(lines)))
        names = tuple(free_name(name, eqs.sizes) for name in names)
        return replace(
            eqs,
            carried={**eqs.carried, **dict(zip(names, lines, strict=True))},
            sizes={
                **eqs.sizes,
                **{n: eqs.sizes[line] for n, line in zip(names, lines, strict=True)},
            },
        ), names

    @cached_property
    def cut(self) -> frozenset[str]:
        """The names of more than one piece."""
        return frozenset(name for name, ranges in self.ranges.items() if len(ranges) > 1)

    @cached_property
    def pieces(self) -> dict[str, list[str]]:
        """The names of the pieces of each name."""
        return {
            name: [piece_name(name, one, ranges) for one in ranges]
            for name, ranges in self.ranges.items()
        }

    @cached_property
    def lengths(self) -> dict[str, list[int]]:
        """Of the pieces of each name."""
        return {name: [stop - start for start, stop in own] for name, own in self.ranges.items()}


def piece_name(name: str, one: Range, ranges: tuple[Range, ...]) -> str:
    """An identifier, as states have to be, with letters that look like colons."""
    return name if len(ranges) == 1 else f"{name}ː{one[0]}ː{one[1]}"


@lru_cache(maxsize=256)
def joins(equations: Equations) -> bool:
    """Whether a `concat` stands anywhere but directly on the right of a matrix."""

    def free(expr: Expr) -> bool:
        if isinstance(expr, Apply) and expr.function == "concat":
            return True
        inside = children(expr)
        if isinstance(expr, Product):
            inside = tuple(joined(expr.operand))
        return any(map(free, inside))

    return any(free(line.expr) for line in equations.lines)


def joined(operand: Expr) -> Iterator[Expr]:
    """The parts of what a product reads."""
    if isinstance(operand, Apply) and operand.function == "concat":
        for arg in operand.args:
            yield from joined(arg)
    else:
        yield operand


@lru_cache(maxsize=256)
def split(equations: Equations, sizes: tuple[tuple[str, int], ...], keep: frozenset[str]) -> Split:
    """Equations in pieces. `keep` are lines with readers outside; `sizes` decide what aligns."""
    return _Splitter(equations, dict(sizes), keep).run()


class _Splitter:
    def __init__(self, equations: Equations, sizes: Mapping[str, int], keep: frozenset[str]):
        self.equations, self.keep = equations, keep | {equations.output}
        self.keep |= {*equations.carried.values()}
        self.numbers = sizes
        self.sizes = {name: size.value(sizes) for name, size in equations.sizes.items()}
        rows = {name: pair[0].value(sizes) for name, pair in equations.matrices.items()}
        self.lengths = self.sizes | rows
        self.cuts: dict[str, set[int]] = {name: set() for name in self.lengths}
        # a state's new value is cut as its old one is
        for state, line in equations.carried.items():
            self.cuts[line] = self.cuts[state]
        self.same: dict[tuple[str, Range], Name] = {}  # pieces that are another one, as it is

    def run(self) -> Split:
        while self.grows():
            pass
        if self.cuts["x"]:
            raise CannotSplit(
                "x stands beside a concat in a sum or another operation, and is never cut "
                "(take V @ x, or join other parts)"
            )
        for name, cuts in self.cuts.items():
            if len(cuts) >= MOST:
                raise CannotSplit(f"concat cuts {name} into more than {MOST} pieces")
        lines = [piece for line in self.equations.lines for piece in self.lines(line)]
        ranges = {name: self.ranges(name) for name in self.lengths}
        output = self.equations.output
        outputs = tuple(piece_name(output, one, ranges[output]) for one in ranges[output])
        return Split(self.rewritten(lines), ranges, outputs)

    # --- where vectors are cut ------------------------------------------------------------

    def grows(self) -> bool:
        """One round of cuts through all lines; whether it made new ones."""
        before = sum(map(len, self.cuts.values()))
        for line in self.equations.lines:
            self.cuts[line.name] |= self.cut(line.expr, self.cuts[line.name])
        return sum(map(len, self.cuts.values())) > before

    def cut(self, expr: Expr, at: set[int]) -> set[int]:
        """Cuts an expression at least there, and returns where it is cut then."""
        match expr:
            case Const():
                return at
            case Name(id=name):
                self.cuts[name] |= at
                return self.cuts[name]
            case Product(matrix=matrix, operand=operand):
                for part in joined(operand):
                    self.cut(part, set())
                self.cuts[matrix] |= at
                return self.cuts[matrix]
            case Apply(function="concat", args=args):
                start, found = 0, set[int]()
                for arg in args:
                    stop = start + self.length(arg)
                    inside = {k - start for k in at if start < k < stop}
                    found |= {start + k for k in self.cut(arg, inside)} | {stop}
                    start = stop
                return found - {start}
            case Apply(function=function, args=(arg,)) if function in REDUCTIONS:
                if at | self.cut(arg, set()):
                    raise CannotSplit(
                        f"{function} reads what concat joins (take it of each part by itself)"
                    )
                return set()
            case Apply(args=args):
                for arg in (*args, *args):  # the first ones again, with what the last ones need
                    at = at | self.cut(arg, at)
                return at
        raise AssertionError(expr)

    def length(self, expr: Expr) -> int:
        size = self.equations.size_of(expr)
        assert size is not None
        return size.value(self.numbers)

    def ranges(self, name: str) -> tuple[Range, ...]:
        return _between(self.cuts[name], self.lengths[name])

    # --- the pieces -----------------------------------------------------------------------

    def lines(self, line: Line) -> Iterator[Line]:
        ranges = self.ranges(line.name)
        for one in ranges:
            expr = self.piece(line.expr, one)
            if len(ranges) > 1 and isinstance(expr, Name) and line.name not in self.keep:
                self.same[line.name, one] = expr
            else:
                yield Line(piece_name(line.name, one, ranges), expr)

    def piece(self, expr: Expr, one: Range) -> Expr:
        """A range of an expression, which nothing cuts further."""
        match expr:
            case Name(id=name):
                known = self.same.get((name, one))
                return known or Name(piece_name(name, one, self.ranges(name)))
            case Product(matrix=matrix, operand=operand):
                return Product(piece_name(matrix, one, self.ranges(matrix)), self.whole(operand))
            case Apply(function="concat", args=args):
                start = 0
                for arg in args:
                    stop = start + self.length(arg)
                    if one[1] <= stop:
                        return self.piece(arg, (one[0] - start, one[1] - start))
                    start = stop
                raise AssertionError(one)
        return rebuild(expr, lambda arg: self.piece(arg, one))

    def whole(self, operand: Expr) -> Expr:
        """What a product reads, all of it."""
        parts = []
        for part in joined(operand):
            ranges = _between(self.cut(part, set()), self.length(part))
            parts += [self.piece(part, one) for one in ranges]
        return parts[0] if len(parts) == 1 else Apply("concat", tuple(parts))

    def rewritten(self, lines: list[Line]) -> Equations:
        eqs = self.equations

        def pieces(name: str) -> list[tuple[str, Size]]:
            ranges = self.ranges(name)
            return [(piece_name(name, one, ranges), Size((), one[1] - one[0])) for one in ranges]

        def pieces_of(name: str) -> list[str]:
            return [piece for piece, _ in pieces(name)]

        read = {name for line in lines for name in names(line.expr)}

        carried = {
            old: new
            for state, line in eqs.carried.items()
            for old, new in zip(pieces_of(state), pieces_of(line), strict=True)
        }
        columns = {
            name: Size((), pair[1].value(self.numbers)) for name, pair in eqs.matrices.items()
        }
        return replace(
            eqs,
            lines=tuple(lines),
            carried=carried,
            output=pieces_of(eqs.output)[0],
            matrices={p: (n, columns[m]) for m in eqs.matrices for p, n in pieces(m)},
            vectors=tuple(v for name in eqs.vectors for v in pieces_of(name) if v in read),
            sizes={piece: size for name in eqs.sizes for piece, size in pieces(name)},
            constraints=(),
        )


def _between(cuts: set[int], length: int) -> tuple[Range, ...]:
    ends = [0, *sorted(cuts), length]
    return tuple(itertools.pairwise(ends))
