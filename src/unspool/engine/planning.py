"""Makes the plan of a recurrence.

A step's equations, and the derived ones of its backward step, are taken apart into items. What
depends on nothing that the loop carries runs before it, for all steps at once; what the loop does
not need runs after it. In the loop there are levels, by what waits for what.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from unspool.engine.items import Accumulate, Elementwise, Item, Reduce, Term, levels_of
from unspool.engine.plan import Loop, Piece, Plan
from unspool.equations.derivative import OUTPUT, adjoint, derive, from_next, recorded
from unspool.equations.expr import (
    Apply,
    Expr,
    Line,
    Name,
    Part,
    Product,
    call,
    names,
    products,
    rebuild,
    total,
    walk,
)
from unspool.equations.program import Equations
from unspool.equations.rewrite import is_sum
from unspool.equations.sizes import Size


@lru_cache(maxsize=256)
def make_plan(equations: Equations, record: tuple[str, ...] = (), hoist: bool = True) -> Plan:
    """With `hoist`, what depends on the input alone runs before the loop; else in it."""
    split, pieces = split_concats(equations)
    derived = derive(split, record)
    eqs = derived.forward
    sizes = dict(eqs.sizes)
    sizes |= {adjoint(name): size for name, size in eqs.sizes.items()}
    sizes |= {from_next(state): eqs.sizes[state] for state in eqs.states}
    sizes |= {recorded(name): eqs.sizes[name] for name in record}
    sizes[OUTPUT] = eqs.sizes[eqs.output]
    maker = _Maker(eqs, sizes)
    moving = {*eqs.states} if hoist else {*eqs.states, "x"}
    forward = maker.loop(eqs.lines, moving, set(eqs.carried.values()))
    flows = {from_next(state) for state in eqs.states}
    roots = {adjoint(state) for state in eqs.states if derived.has(state)}
    maker.numbers, maker.mark = itertools.count(1), ".b"  # the same whatever came before
    maker.start(derived.lines, flows)
    outers = tuple(
        (matrix, maker.name_of(maker.visit(outer.left)), maker.name_of(maker.visit(outer.right)))
        for matrix, found in derived.matrices.items()
        for outer in found
    )
    sums = {name: maker.visit(share) for name, share in derived.vectors.items()}
    backward = maker.finish(roots)
    return Plan(eqs, pieces, derived, forward, backward, outers, sums, record, sizes)


def split_concats(equations: Equations) -> tuple[Equations, dict[str, Piece]]:
    """`W @ concat(x, h)` as a product for each part, so that the one with x can leave the loop."""
    pieces: dict[str, Piece] = {}
    matrices = dict(equations.matrices)

    def change(expr: Expr) -> Expr:
        match expr:
            case Product(matrix=matrix, operand=Apply(function="concat", args=args)):
                start, terms = Size(), []
                for part in _flat(args):
                    size = equations.size_of(part)
                    assert size is not None
                    name = f"{matrix}[{start}..{start + size}]"
                    pieces[name] = Piece(matrix, start, size)
                    matrices[name] = (equations.matrices[matrix][0], size)
                    terms.append(Product(name, change(part)))
                    start = start + size
                return total(terms)
        return rebuild(expr, change)

    lines = tuple(Line(line.name, change(line.expr)) for line in equations.lines)
    return replace(equations, lines=lines, matrices=matrices), pieces


def _flat(args: Iterable[Expr]) -> Iterable[Expr]:
    for arg in args:
        if isinstance(arg, Apply) and arg.function == "concat":
            yield from _flat(arg.args)
        else:
            yield arg


class _Maker:
    """Takes lines apart into items, and sorts the items into stages and levels."""

    def __init__(self, equations: Equations, sizes: dict[str, Size]):
        self.equations, self.sizes = equations, sizes
        self.numbers, self.mark = itertools.count(1), "."  # no name of the language has a dot
        self.items: list[Item] = []
        self.known: dict[object, str] = {}  # what has a name already: equal things are done once
        self.moving: set[str] = set()  # names that depend on what the loop carries
        self.repeated: set[Product] = set()

    def loop(self, lines: Sequence[Line], carried: set[str], roots: set[str]) -> Loop:
        self.start(lines, carried)
        return self.finish(roots)

    def start(self, lines: Sequence[Line], carried: set[str]) -> None:
        self.items, self.known, self.moving = [], {}, set(carried)
        counts = Counter(node for line in lines for node in products(line.expr))
        self.repeated = {node for node, count in counts.items() if count > 1}
        for line in lines:
            self.add(Elementwise(line.name, self.visit(line.expr)))

    def finish(self, roots: set[str]) -> Loop:
        needed = set(roots)
        for item in reversed(self.items):
            if item.name in needed:
                needed |= item.reads()
        moving = [item for item in self.items if item.name in self.moving]
        return Loop(
            tuple(item for item in self.items if item.name not in self.moving),
            levels_of([item for item in moving if item.name in needed]),
            tuple(item for item in moving if item.name not in needed),
        )

    def add(self, item: Item) -> None:
        self.items.append(item)
        if item.reads() & self.moving:
            self.moving.add(item.name)

    def named(self, prefix: str, size: Size, key: object, make: Callable[[str], Item]) -> Name:
        """The name of an item, which is made unless an equal one exists."""
        if key not in self.known:
            name = f"{prefix}{self.mark}{next(self.numbers)}"
            self.known[key], self.sizes[name] = name, size
            self.add(make(name))
        return Name(self.known[key])

    def moves(self, expr: Expr) -> bool:
        return bool(names(expr) & self.moving)

    def varies(self, expr: Expr) -> bool:
        """Whether it differs from step to step at all: parameters and numbers do not."""
        return bool(names(expr) - set(self.equations.vectors))

    def size(self, expr: Expr) -> Size:
        for node in walk(expr):
            match node:
                case Name(id=name):
                    return self.sizes[name]
                case Product(matrix=matrix, transposed=transposed):
                    return self.equations.matrices[matrix][1 if transposed else 0]
                case Part(whole=whole, index=index):
                    return self.size(whole[index])
                case Apply(function="concat", args=args):
                    return sum((self.size(arg) for arg in args), Size())
        raise AssertionError(expr)

    def name_of(self, expr: Expr) -> str:
        """A vector that must stand in memory, because somebody reads all of it."""
        if isinstance(expr, Name):
            return expr.id
        return self.named("v", self.size(expr), expr, lambda name: Elementwise(name, expr)).id

    def visit(self, expr: Expr) -> Expr:
        """The expression with products and reductions replaced by names of items."""
        match expr:
            case Product():
                return self.accumulate([(1, expr)])
            case Apply(function="layer_norm", args=(arg,)):
                vector = Name(self.name_of(self.visit(arg)))
                centred = call("-", vector, self.reduce("mean", vector))
                normed = call("*", centred, self.reduce("rstd", vector))
                return normed if self.moves(vector) else Name(self.name_of(normed))
            case Apply(function="mean" | "rstd" as function, args=(arg,)):
                return self.reduce(function, Name(self.name_of(self.visit(arg))))
            case Apply() if is_sum(expr) and any(True for _ in products(expr)):
                return self.sum(expr)
        inside = rebuild(expr, self.visit)
        costly = isinstance(expr, Apply) and expr.function in COSTLY
        if costly and self.varies(inside) and not self.moves(inside):
            return Name(self.name_of(inside))
        return inside

    def is_bias(self, sign: int, expr: Expr) -> bool:
        return sign > 0 and isinstance(expr, Name) and not self.varies(expr)

    def reduce(self, function: str, vector: Name) -> Expr:
        size = self.sizes[vector.id]
        key = (function, vector.id)
        return self.named("m", size, key, lambda name: Reduce(name, function, vector.id))

    def accumulate(self, terms: list[tuple[int, Product]], bias: tuple[str, ...] = ()) -> Expr:
        made = tuple(
            Term(sign, node.matrix, self.name_of(self.visit(node.operand)), node.transposed)
            for sign, node in terms
        )
        size, key = self.size(terms[0][1]), (made, bias)
        return self.named("q", size, key, lambda name: Accumulate(name, made, bias))

    def sum(self, expr: Expr) -> Expr:
        """A sum with products: those that wait for the loop apart from those that do not."""
        waiting, ready, alone, rest = [], [], [], []
        for sign, term in _signed(expr):
            if not isinstance(term, Product):
                rest.append((sign, self.visit(term)))
            elif term in self.repeated:
                alone.append((sign, self.accumulate([(1, term)])))
            else:
                operand = self.visit(term.operand)
                (waiting if self.moves(operand) else ready).append((sign, term))
        parts = [(1, self.accumulate(group)) for group in (waiting,) if group]
        still = [(s, e) for s, e in rest if not self.moves(e)]
        if ready or any(self.varies(e) for _, e in still):
            added = [term for term in still if ready and self.is_bias(*term)]
            bias = tuple(e.id for _, e in added if isinstance(e, Name))
            early = [(1, self.accumulate(group, bias)) for group in (ready,) if group]
            early += [term for term in still if term not in added]
            parts.insert(0, (1, Name(self.name_of(_total(early)))))
            still = []
        moving = [(s, e) for s, e in rest if self.moves(e)]
        return _total(parts + still + alone + moving)


COSTLY = {"sigmoid", "tanh", "softplus", "exp", "log", "sqrt", "sin", "cos", "layer_norm"}


def _signed(expr: Expr, sign: int = 1) -> Iterable[tuple[int, Expr]]:
    match expr:
        case Apply(function="+", args=(a, b)):
            yield from _signed(a, sign)
            yield from _signed(b, sign)
        case Apply(function="-", args=(a, b)):
            yield from _signed(a, sign)
            yield from _signed(b, -sign)
        case Apply(function="neg", args=(a,)):
            yield from _signed(a, -sign)
        case _:
            yield sign, expr


def _total(terms: list[tuple[int, Expr]]) -> Expr:
    return total([expr if sign > 0 else call("neg", expr) for sign, expr in terms])
