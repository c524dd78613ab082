"""The backward step of any cell, as new equations: reverse mode over the graph of one step.

Given the gradient of this step's output (`∂:ys`) and, for each state, the gradient that the next
step sends back (`∂h+`), the lines compute the gradient of every line of the forward step, of the
input (`∂x`) and of the previous states (`∂h`). Parameters collect one contribution a step:
outer products for matrices, vectors for vectors.
"""

from dataclasses import dataclass
from functools import lru_cache

from unspool.equations.expr import (
    Apply,
    Const,
    Expr,
    Line,
    Name,
    Part,
    Product,
    children,
    neg,
    total,
)
from unspool.equations.functions import FUNCTIONS
from unspool.equations.program import Equations
from unspool.equations.rewrite import name_preactivations

OUTPUT = "∂:ys"  # no name of the language has a colon


def adjoint(name: str) -> str:
    """The name of dL/d(name)."""
    return f"∂{name}"


def from_next(state: str) -> str:
    """The name of what the next step sends back to a state."""
    return f"∂{state}+"


@dataclass(frozen=True)
class Outer:
    """One step's share of a matrix gradient: `left` times the transpose of `right`."""

    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Backward:
    """`forward` is the cell with its pre-activations named: the lines below read its values.

    A name without a line has gradient zero: nothing the loss sees depends on it.
    """

    forward: Equations
    lines: tuple[Line, ...]
    matrices: dict[str, tuple[Outer, ...]]
    vectors: dict[str, Expr]

    def has(self, name: str) -> bool:
        return any(line.name == adjoint(name) for line in self.lines)


def recorded(name: str) -> str:
    """The name of the gradient that arrives at a recorded line itself."""
    return f"∂{name}!"


@lru_cache(maxsize=256)
def derive(equations: Equations, record: tuple[str, ...] = ()) -> Backward:
    """The backward step; lines in `record` may receive a gradient of their own."""
    forward = name_preactivations(equations)
    shares: dict[str, list[Expr]] = {}
    outers: dict[str, list[Outer]] = {}
    lines: list[Line] = []

    def receive(name: str, share: Expr) -> None:
        shares.setdefault(name, []).append(share)

    def close(name: str) -> Name | None:
        """The line that adds up all shares of a name, once every reader has sent its own."""
        if name not in shares:
            return None
        lines.append(Line(adjoint(name), total(shares[name])))
        return Name(adjoint(name))

    def send(expr: Expr, seed: Expr, out: Expr) -> None:
        """Hands `seed`, the gradient of `expr`, down to every name in it; `out` is its value."""
        match expr:
            case Name(id=name):
                receive(name, seed)
            case Product(matrix=matrix, operand=operand, transposed=False):
                outers.setdefault(matrix, []).append(Outer(seed, operand))
                send(operand, _transposed(matrix, seed), operand)
            case Apply(function=function, args=args):
                rule = FUNCTIONS[function].adjoints
                assert rule is not None, f"{function} is for derivatives only"
                for arg, share in zip(args, rule(seed, out, *args), strict=True):
                    send(arg, share, arg)
            case Const():
                pass
            case _:
                raise AssertionError(expr)

    receive(forward.output, Name(OUTPUT))
    for state, line in forward.carried.items():
        receive(line, Name(from_next(state)))
    for name in record:
        receive(forward.carried.get(name, name), Name(recorded(name)))
    for line in reversed(forward.lines):
        seed = close(line.name)
        if seed is not None:
            send(line.expr, seed, Name(line.name))
    for name in ("x", *forward.states):
        close(name)
    vectors = {name: total(shares[name]) for name in forward.vectors if name in shares}
    return Backward(forward, tuple(lines), {m: tuple(o) for m, o in outers.items()}, vectors)


def _transposed(matrix: str, seed: Expr) -> Expr:
    if isinstance(seed, Apply) and seed.function == "neg":
        return neg(Product(matrix, seed.args[0], transposed=True))
    return Product(matrix, seed, transposed=True)


def trained(backward: Backward) -> set[str]:
    """The parameters whose gradient is not 0 whatever the numbers are."""
    zero = set[str]()
    for line in backward.lines:
        if _is_zero(line.expr, zero):
            zero.add(line.name)
    found = {
        name
        for name, outers in backward.matrices.items()
        if not all(_is_zero(o.left, zero) or _is_zero(o.right, zero) for o in outers)
    }
    return found | {name for name, share in backward.vectors.items() if not _is_zero(share, zero)}


def _is_zero(expr: Expr, zero: set[str]) -> bool:
    """Whether an expression is 0 by its form, where the names in `zero` are."""
    match expr:
        case Const(value=value):
            return value == 0
        case Name(id=name):
            return name in zero
        case Product() | Part() | Apply(function="neg" | "mean"):
            return _is_zero(children(expr)[0], zero)
        case Apply(function="*", args=args):
            return any(_is_zero(arg, zero) for arg in args)
        case Apply(function="/", args=(above, _)):
            return _is_zero(above, zero)
        case Apply(function="+" | "-", args=args):
            return all(_is_zero(arg, zero) for arg in args)
    return False
