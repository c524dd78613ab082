"""Expressions: the nodes of an equation graph, and the few walks over them.

A graph is a list of lines `name = expression`; sharing happens only through names, so an
expression is a tree. Names are plain strings: `h` is a state's previous value, `h'` its new one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce

from unspool.equations.errors import Span


@dataclass(frozen=True, kw_only=True)
class Expr:
    """A node. Where it stood in the text does not count when two nodes are compared."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Const(Expr):
    value: float


@dataclass(frozen=True)
class Name(Expr):
    id: str


@dataclass(frozen=True)
class Product(Expr):
    """`matrix @ operand`, or its transpose (which only derivatives contain)."""

    matrix: str
    operand: Expr
    transposed: bool = False


@dataclass(frozen=True)
class Apply(Expr):
    """A function or operator of `functions.py` on its arguments."""

    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Part(Expr):
    """The piece of a vector that stands where `whole[index]` stands in `concat(*whole)`."""

    operand: Expr
    whole: tuple[Expr, ...]
    index: int


@dataclass(frozen=True)
class Line:
    name: str
    expr: Expr


def children(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Product(operand=operand) | Part(operand=operand):
            return (operand,)
        case Apply(args=args):
            return args
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    yield expr
    for child in children(expr):
        yield from walk(child)


def names(expr: Expr) -> set[str]:
    """Every name read in the expression, matrices excluded."""
    return {node.id for node in walk(expr) if isinstance(node, Name)}


def products(expr: Expr) -> Iterator[Product]:
    return (node for node in walk(expr) if isinstance(node, Product))


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The same node over changed children."""
    match expr:
        case Product(operand=operand) | Part(operand=operand):
            return replace(expr, operand=change(operand))
        case Apply(args=args):
            return replace(expr, args=tuple(change(arg) for arg in args))
        case _:
            return expr


# Constructors that leave out what does nothing, so that derivatives print as people write them.

ZERO, ONE = Const(0.0), Const(1.0)


def add(a: Expr, b: Expr) -> Expr:
    if isinstance(b, Apply) and b.function == "neg":
        return Apply("-", (a, b.args[0]))
    return Apply("+", (a, b))


def sub(a: Expr, b: Expr) -> Expr:
    return Apply("-", (a, b))


def mul(a: Expr, b: Expr) -> Expr:
    if b == ONE:
        return a
    if a == ONE:
        return b
    if isinstance(a, Apply) and a.function == "neg":
        return neg(mul(a.args[0], b))
    if isinstance(b, Apply) and b.function == "neg":
        return neg(mul(a, b.args[0]))
    if isinstance(b, Apply) and b.function == "*":  # keep chains left-deep: no brackets
        return mul(mul(a, b.args[0]), b.args[1])
    return Apply("*", (a, b))


def div(a: Expr, b: Expr) -> Expr:
    return Apply("/", (a, b))


def neg(a: Expr) -> Expr:
    return a.args[0] if isinstance(a, Apply) and a.function == "neg" else Apply("neg", (a,))


def total(terms: list[Expr]) -> Expr:
    """The sum of one or more terms, a positive one first where there is one."""
    ordered = sorted(terms, key=lambda term: isinstance(term, Apply) and term.function == "neg")
    return reduce(add, ordered)


def call(function: str, *args: Expr) -> Expr:
    return Apply(function, args)
