"""Equations as plain text: the language itself, plus what only derivatives contain."""

from collections.abc import Callable

from unspool.equations.expr import Apply, Const, Expr, Line, Name, Part, Product

# How tightly each form binds; a looser one inside a tighter one is bracketed. A matrix product
# stands between sums and terms: the language wants brackets around it inside `*` and `/`.
SUM, PRODUCT, TERM, UNARY, POWER, ATOM = range(6)
LEVELS = {"+": SUM, "-": SUM, "*": TERM, "/": TERM, "**": POWER}


def number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def ascii_expr(expr: Expr, rename: Callable[[str], str] = lambda name: name) -> str:
    return _write(expr, rename)[0]


def ascii_line(line: Line, rename: Callable[[str], str] = lambda name: name, width: int = 0) -> str:
    return f"{rename(line.name):<{width}} = {ascii_expr(line.expr, rename)}"


def _write(expr: Expr, rename: Callable[[str], str]) -> tuple[str, int]:
    def inner(child: Expr, level: int) -> str:
        text, found = _write(child, rename)
        return text if found >= level else f"({text})"

    match expr:
        case Const(value=value):
            return number(value), ATOM if value >= 0 else UNARY
        case Name(id=name):
            return rename(name), ATOM
        case Product(matrix=matrix, operand=operand, transposed=transposed):
            return f"{matrix}{'.T' * transposed} @ {inner(operand, POWER)}", PRODUCT
        case Part(operand=operand, whole=whole, index=index):
            pieces = ", ".join(_write(piece, rename)[0] for piece in whole)
            return f"part[{index + 1} of {pieces}]({_write(operand, rename)[0]})", ATOM
        case Apply(function="neg", args=(arg,)):
            text, level = _write(arg, rename)
            return (f"-{text}", min(level, UNARY)) if level >= TERM else (f"-({text})", UNARY)
        case Apply(function="**", args=(base, exponent)):
            return f"{inner(base, ATOM)}**{inner(exponent, ATOM)}", POWER
        case Apply(function=symbol, args=(left, right)) if symbol in LEVELS:
            level = LEVELS[symbol]
            strict = level if symbol == "+" else level + 1  # a - (b - c), but a + b + c
            return f"{inner(left, level)} {symbol} {inner(right, strict)}", level
        case Apply(function=function, args=args):
            return f"{function}({', '.join(_write(arg, rename)[0] for arg in args)})", ATOM
    raise AssertionError(expr)
