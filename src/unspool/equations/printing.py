"""Equations as text: the language itself (plus what only derivatives contain), and LaTeX."""

import re
import unicodedata
from collections.abc import Callable

from unspool.equations.expr import Apply, Const, Expr, Line, Name, Part, Product
from unspool.equations.functions import FUNCTIONS

Rename = Callable[[str], str]

# How tightly each form binds; a looser one inside a tighter one is bracketed. A matrix product
# stands between sums and terms: the language wants brackets around it inside `*` and `/`.
SUM, PRODUCT, TERM, UNARY, POWER, ATOM = range(6)
LEVELS = {"+": SUM, "-": SUM, "*": TERM, "/": TERM}


def number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


class _Plain:
    """How the language writes each form; LaTeX changes some of them."""

    opening, closing = "(", ")"
    fraction_bars = False  # which bracket what is above and below them

    def __init__(self, name: Rename, matrix: Rename):
        self.name, self.matrix = name, matrix

    def number(self, value: float) -> str:
        return number(value)

    def product(self, matrix: str, operand: str, transposed: bool) -> str:
        return f"{self.matrix(matrix)}{'.T' * transposed} @ {operand}"

    def operator(self, symbol: str, left: str, right: str) -> str:
        return f"{left} {symbol} {right}"

    def power(self, base: str, exponent: str) -> str:
        return f"{base}**{exponent}"

    def call(self, function: str, args: list[str]) -> str:
        return f"{function}({', '.join(args)})"

    def part(self, operand: str, pieces: list[str], index: int) -> str:
        return f"part({operand}, {pieces[index]})"


class _Latex(_Plain):
    opening, closing = r"\left(", r"\right)"
    fraction_bars = True

    def number(self, value: float) -> str:
        mantissa, _, exponent = number(value).partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    def product(self, matrix: str, operand: str, transposed: bool) -> str:
        top = r"^\top" if transposed else ""
        return f"{self.matrix(matrix)}{top} {operand}"

    def operator(self, symbol: str, left: str, right: str) -> str:
        if symbol == "/":
            return rf"\frac{{{left}}}{{{right}}}"
        plain = re.fullmatch(r"[\d.]+", left) or re.fullmatch(r"[\d.]+", right)
        times = r"\cdot" if plain else r"\odot"
        return " ".join((left, symbol.replace("*", times), right))

    def power(self, base: str, exponent: str) -> str:
        return f"{{{base}}}^{{{exponent}}}"

    def call(self, function: str, args: list[str]) -> str:
        if function == "concat":
            return rf"\left[{' ; '.join(args)}\right]"
        if function in ("sqrt", "abs"):
            return rf"\sqrt{{{args[0]}}}" if function == "sqrt" else rf"\left|{args[0]}\right|"
        symbol = FUNCTIONS[function].latex or upright(function)
        return rf"{symbol}\left({', '.join(args)}\right)"

    def part(self, operand: str, pieces: list[str], index: int) -> str:
        return rf"\left[{operand}\right]_{{{pieces[index]}}}"


def ascii_expr(expr: Expr, rename: Rename = str) -> str:
    return _write(expr, _Plain(rename, str))[0]


def ascii_line(line: Line, rename: Rename = str, width: int = 0) -> str:
    return f"{rename(line.name):<{width}} = {ascii_expr(line.expr, rename)}"


def latex_expr(expr: Expr, name: Rename, matrix: Rename) -> str:
    return _write(expr, _Latex(name, matrix))[0]


def _write(expr: Expr, style: _Plain) -> tuple[str, int]:
    def inner(child: Expr, level: int) -> str:
        text, found = _write(child, style)
        return text if found >= level else f"{style.opening}{text}{style.closing}"

    match expr:
        case Const(value=value):
            return style.number(value), ATOM if value >= 0 else UNARY
        case Name(id=name):
            return style.name(name), ATOM
        case Product(matrix=matrix, operand=operand, transposed=transposed):
            return style.product(matrix, inner(operand, POWER), transposed), PRODUCT
        case Part(operand=operand, whole=whole, index=index):
            pieces = [_write(piece, style)[0] for piece in whole]
            return style.part(_write(operand, style)[0], pieces, index), ATOM
        case Apply(function="neg", args=(arg,)):
            text, level = _write(arg, style)
            return (f"-{text}", min(level, UNARY)) if level >= TERM else (f"-({text})", UNARY)
        case Apply(function="**", args=(base, exponent)):
            return style.power(inner(base, ATOM), inner(exponent, ATOM)), POWER
        case Apply(function="/", args=(above, below)) if style.fraction_bars:
            parts = (_write(above, style)[0], _write(below, style)[0])
            return style.operator("/", *parts), TERM
        case Apply(function=symbol, args=(left, right)) if symbol in LEVELS:
            level = LEVELS[symbol]
            strict = level if symbol == "+" else level + 1  # a - (b - c), but a + b + c
            return style.operator(symbol, inner(left, level), inner(right, strict)), level
        case Apply(function=function, args=args):
            return style.call(function, [_write(arg, style)[0] for arg in args]), ATOM
    raise AssertionError(expr)


GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "  # noqa: SIM905
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)


def latex_name(name: str, *indices: str, over: str = "") -> str:
    r"""`W_r` as W_{r}; with a time index, `a_r` as a_{r,t}; `over` puts an accent on the letter."""
    base, _, below = name.partition("_")
    if not below and (match := re.fullmatch(r"([^\W\d]+?)(\d+)", name)):
        base, below = match.groups()  # W1 is W_1
    letter = rf"{over}{{{upright(base)}}}" if over else upright(base)
    subscript = ",".join(part for part in (upright(below), *indices) if part)
    return f"{letter}_{{{subscript}}}" if subscript else letter


def upright(word: str) -> str:
    """A letter or a number as it is, a Greek letter or its name as the letter, words upright."""
    if word in GREEK:
        return rf"\{word}"
    if len(word) == 1 and unicodedata.name(word, "").startswith("GREEK"):
        name = unicodedata.name(word).split()[-1].lower()
        name = name.capitalize() if word.isupper() else name
        return rf"\{name}" if name in GREEK else word
    plain = len(word) < 2 or word.isdigit()
    escaped = word.replace("_", r"\_")
    return escaped if plain else rf"\mathrm{{{escaped}}}"
