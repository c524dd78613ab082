"""Sizes by unification: every vector's length as a sum of named sizes.

A size is a sum such as `input + 2*hidden`. Its terms are named sizes (`input`, `hidden`, and what
a declaration names) or unknowns (they start with `?`), which equations such as
"both sides of + are equally long" bind one after the other.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from unspool.equations.errors import Span
from unspool.equations.expr import Apply, Const, Expr, Name, Part, Product


@dataclass(frozen=True)
class Size:
    terms: tuple[tuple[str, int], ...] = ()  # each name with its copies, sorted by name
    constant: int = 0

    @classmethod
    def of(cls, *names: str) -> "Size":
        """The sum of these names; one that is given twice counts twice."""
        return cls._of(Counter(names), 0)

    @classmethod
    def _of(cls, copies: Counter[str], constant: int) -> "Size":
        return cls(tuple(sorted(copies.items())), constant)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.terms]

    @property
    def copies(self) -> Counter[str]:
        return Counter(dict(self.terms))

    def __add__(self, other: "Size") -> "Size":
        return self._of(self.copies + other.copies, self.constant + other.constant)

    def __str__(self) -> str:
        parts = [name if n == 1 else f"{n}*{name}" for name, n in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)

    def value(self, sizes: Mapping[str, int]) -> int:
        return sum(n * sizes[name] for name, n in self.terms) + self.constant

    def is_name(self) -> bool:
        """Whether it is one name alone."""
        return len(self.terms) == 1 and self.terms[0][1] == 1 and not self.constant

    def substitute(self, bindings: Mapping[str, "Size"]) -> "Size":
        """The size with what each name is bound to, again and again, in place of the name."""
        size = self
        while any(name in bindings for name in size.names):
            copies, constant = Counter[str](), size.constant
            for name, n in size.terms:
                bound = bindings.get(name, Size.of(name))
                copies.update({other: n * m for other, m in bound.terms})
                constant += n * bound.constant
            size = self._of(copies, constant)
        return size

    def without(self, other: "Size") -> "Size":
        """What it has more of than another size."""
        constant = max(self.constant - other.constant, 0)
        return self._of(self.copies - other.copies, constant)


INPUT, HIDDEN = Size.of("input"), Size.of("hidden")


def unknown(label: str) -> Size:
    return Size.of(f"?{label}")


def is_unknown(term: str) -> bool:
    return term.startswith("?")


class SizeClash(Exception):
    """Two sizes that no choice of positive numbers makes equal, and where they meet."""

    def __init__(self, span: Span | None):
        super().__init__()
        self.span = span


@dataclass(frozen=True)
class Constraint:
    """Two sums of named sizes that must come out equal when a cell is built."""

    left: Size
    right: Size
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"


class Solver:
    """Collects equalities, binds unknowns, and keeps what only the numbers can decide."""

    def __init__(self) -> None:
        self.bindings: dict[str, Size] = {}
        self.constraints: list[Constraint] = []
        self._named: dict[str, Size] = {}  # the constraints solved for a name: finds contradictions
        self._pending: list[tuple[Size, Size, Span | None]] = []

    def resolve(self, size: Size) -> Size:
        return size.substitute(self.bindings)

    def equate(self, a: Size, b: Size, span: Span | None = None) -> None:
        a, b = self.resolve(a), self.resolve(b)
        left, right = a.without(b), b.without(a)
        for one, other in ((left, right), (right, left)):
            if one.is_name() and is_unknown(one.names[0]):
                self.bindings[one.names[0]] = other
                if other == Size():
                    raise SizeClash(span)
                return
        if any(map(is_unknown, left.names + right.names)):
            if Size() in (left, right):
                raise SizeClash(span)
            self._pending.append((a, b, span))
        elif left != right:
            self._constrain(left, right, span)

    def _constrain(self, left: Size, right: Size, span: Span | None) -> None:
        a, b = left.substitute(self._named), right.substitute(self._named)
        a, b = a.without(b), b.without(a)
        if a == b:
            return
        if Size() in (a, b):  # sizes are positive: a sum of them is never nothing
            raise SizeClash(span)
        if not a.terms and not b.terms:
            raise SizeClash(span)
        for one, other in sorted(((b, a), (a, b)), key=lambda pair: pair[0] == HIDDEN):
            if one.is_name():
                self._named[one.names[0]] = other
                break
        first, second = sorted((left, right), key=lambda size: "input" not in size.names)
        self.constraints.append(Constraint(first, second, span))

    def finish(self) -> None:
        """Settles what waited for other unknowns; what is still free becomes `hidden`."""
        for settle in (lambda: None, self._bind_rest_to_hidden):
            settle()
            waiting = -1
            while self._pending and waiting != len(self._pending):
                waiting, pending = len(self._pending), self._pending
                self._pending = []
                for a, b, span in pending:
                    self.equate(a, b, span)

    def _bind_rest_to_hidden(self) -> None:
        for a, b, _ in self._pending:
            for name in self.resolve(a).names + self.resolve(b).names:
                if is_unknown(name):
                    self.bindings.setdefault(name, HIDDEN)

    def final(self, size: Size) -> Size:
        """The size in named terms; names that must be equal become one, `hidden` if it can be."""
        resolved = self.resolve(size)
        rest = {name: HIDDEN for name in resolved.names if is_unknown(name)}
        return resolved.substitute(rest).substitute(self._named)


def size_of(
    expr: Expr,
    vector: Callable[[str], Size],
    matrix: Callable[[str], tuple[Size, Size]],
    equate: Callable[[Size, Size, Expr, Expr], None] = lambda a, b, x, y: None,
) -> Size | None:
    """The size of an expression (None: a number, which fits any size).

    `equate` hears of every pair of sizes that must agree; without it sizes are only read off.
    """

    def visit(node: Expr) -> Size | None:
        match node:
            case Const():
                return None
            case Name(id=name):
                return vector(name)
            case Product(matrix=name, operand=operand, transposed=transposed):
                rows, columns = matrix(name)[::-1] if transposed else matrix(name)
                found = visit(operand)
                if found is not None:
                    equate(found, columns, operand, node)
                return rows
            case Part(operand=operand, whole=whole, index=index):
                return visit(whole[index])
            case Apply(function="concat", args=args):
                parts = [visit(arg) for arg in args]
                assert None not in parts, "the parser lets no number into concat"
                return sum((part for part in parts if part is not None), Size())
            case Apply(args=args):
                sized = [(arg, size) for arg in args if (size := visit(arg)) is not None]
                for (first, a), (second, b) in itertools.pairwise(sized):
                    equate(a, b, first, second)
                return sized[0][1] if sized else None
        raise AssertionError(node)

    return visit(expr)
