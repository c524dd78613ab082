"""Rewrites of the equation graph: each returns new equations, before anything is differentiated."""

import itertools
from collections.abc import Container, Iterable
from dataclasses import replace

from unspool.equations.expr import (
    ONE,
    Apply,
    Expr,
    Line,
    Name,
    Product,
    add,
    call,
    mul,
    products,
    rebuild,
    sub,
)
from unspool.equations.printing import ascii_expr
from unspool.equations.program import Equations
from unspool.equations.sizes import Size


def name_preactivations(equations: Equations) -> Equations:
    """Gives every sum of products inside an expression a line of its own, and every layer_norm.

    `r = sigmoid(W @ x + U @ h + b)` becomes `a_r = W @ x + U @ h + b` and `r = sigmoid(a_r)`,
    as lectures write it: the gradient of `a_r` is then what every parameter in it shares.
    """
    return _Namer(equations).run()


class _Namer:
    def __init__(self, equations: Equations):
        self.equations = equations
        self.taken = {*equations.sizes, *equations.matrices}
        self.sizes = dict(equations.sizes)
        self.lines: list[Line] = []

    def run(self) -> Equations:
        for line in self.equations.lines:
            self.base = "a_" + line.name.removesuffix("'")
            self.lines.append(Line(line.name, self.inside(line.expr)))
        return replace(self.equations, lines=tuple(self.lines), sizes=self.sizes)

    def inside(self, expr: Expr) -> Expr:
        """The expression, with lines for what needs one below its top."""
        if _is_layer_norm(expr):
            return rebuild(expr, self.name)  # its derivative reads argument and result often
        return rebuild(expr, self.in_sum if is_sum(expr) else self.lift)

    def in_sum(self, expr: Expr) -> Expr:
        """A term of a sum that has a name already."""
        return self.inside(expr) if is_sum(expr) or isinstance(expr, Product) else self.lift(expr)

    def lift(self, expr: Expr) -> Expr:
        needed = any(isinstance(term, Product) for term in terms(expr)) or _is_layer_norm(expr)
        return self.name(expr) if needed else self.inside(expr)

    def name(self, expr: Expr) -> Expr:
        if isinstance(expr, Name):
            return expr
        name, size = free_name(self.base, self.taken), self.equations.size_of(expr)
        assert size is not None
        self.taken.add(name)
        self.sizes[name] = size
        self.lines.append(Line(name, self.inside(expr)))
        return Name(name)


def free_name(base: str, taken: Container[str]) -> str:
    """`base`, or with the first number behind it that makes it new."""
    names = itertools.chain([base], (f"{base}{n}" for n in itertools.count(2)))
    return next(name for name in names if name not in taken)


def _is_layer_norm(expr: Expr) -> bool:
    return isinstance(expr, Apply) and expr.function == "layer_norm"


def is_sum(expr: Expr) -> bool:
    return isinstance(expr, Apply) and expr.function in ("+", "-", "neg")


def terms(expr: Expr) -> Iterable[Expr]:
    """The terms of a sum, whatever their signs."""
    if isinstance(expr, Apply) and is_sum(expr):
        for arg in expr.args:
            yield from terms(arg)
    else:
        yield expr


def keep_name(state: str) -> str:
    """The name under which a state's zoneout mask is given to each step."""
    return f"keep:{state}"


def zoneout(equations: Equations, states: Iterable[str]) -> Equations:
    """Where the mask is 1 a state keeps its old value (Krueger et al. 2017).

    Other lines of the step still read the value before zoneout: only what is carried on, and
    the output where it is that state, change.
    """
    carried, lines, sizes = dict(equations.carried), list(equations.lines), dict(equations.sizes)
    output = equations.output
    for state in states:
        new, kept, keep = carried[state], f"kept:{state}", Name(keep_name(state))
        lines.append(Line(kept, add(mul(keep, Name(state)), mul(sub(ONE, keep), Name(new)))))
        carried[state] = kept
        sizes[kept] = sizes[keep.id] = sizes[state]
        output = kept if output == new else output
    return replace(equations, lines=tuple(lines), carried=carried, sizes=sizes, output=output)


def recurrent_operands(equations: Equations) -> dict[str, tuple[Expr, Size]]:
    """The vectors that recurrent products read, by their text: `h`, or `r * h` in a GRU.

    Recurrent is what depends on a state; of a `concat` only the parts that do.
    """
    found: dict[str, tuple[Expr, Size]] = {}
    for line in equations.lines:
        for node in products(line.expr):
            for operand in _parts(node.operand):
                size = equations.size_of(operand)
                if size is not None and equations.depends_on_state(operand):
                    found[ascii_expr(operand)] = (operand, size)
    return found


def _parts(operand: Expr) -> Iterable[Expr]:
    if isinstance(operand, Apply) and operand.function == "concat":
        for arg in operand.args:
            yield from _parts(arg)
    else:
        yield operand


def drop_name(operand: str) -> str:
    """The name under which the mask of a recurrent operand is given to each step."""
    return f"drop:{operand}"


def mask_operands(equations: Equations, operands: Iterable[str]) -> Equations:
    """Multiplies the named recurrent operands by masks (Gal and Ghahramani 2016)."""
    chosen = set(operands)
    sizes = dict(equations.sizes)

    def masked(operand: Expr) -> Expr:
        if isinstance(operand, Apply) and operand.function == "concat":
            return replace(operand, args=tuple(masked(arg) for arg in operand.args))
        text = ascii_expr(operand)
        inside = change(operand)
        if text not in chosen or not equations.depends_on_state(operand):
            return inside
        size = equations.size_of(operand)
        assert size is not None
        sizes[drop_name(text)] = size
        return call("*", Name(drop_name(text)), inside)

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Product):
            return replace(expr, operand=masked(expr.operand))
        return rebuild(expr, change)

    lines = tuple(Line(line.name, change(line.expr)) for line in equations.lines)
    return replace(equations, lines=lines, sizes=sizes)
