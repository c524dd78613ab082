"""Text to statements: what each line says. Python's grammar reads it; nothing is evaluated."""

import ast
import itertools
import math
from dataclasses import dataclass

from unspool.equations import elsewhere, limits
from unspool.equations.errors import EquationError, Span
from unspool.equations.expr import Apply, Const, Expr, Line, Name, Product
from unspool.equations.functions import CALLABLE, FUNCTIONS
from unspool.equations.source import PRIME, LogicalLine, logical_lines

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


@dataclass(frozen=True)
class Declaration:
    """`name: size`."""

    name: str
    size: str | int
    span: Span


@dataclass(frozen=True)
class Assignment(Line):
    """`name = expression`; the span is that of the name."""

    span: Span


def parse(text: str) -> list[Assignment | Declaration]:
    """The statements of a cell's text, in order."""
    if len(text) > limits.TEXT:
        raise EquationError(f"the text has {len(text):,} characters; {limits.TEXT:,} are allowed")
    lines = list(itertools.islice(logical_lines(text), limits.LINES + 1))
    if len(lines) > limits.LINES:
        raise EquationError(f"there are over {limits.LINES} equations, more than are allowed")
    statements = [_Statement(line).read() for line in lines]
    if not statements:
        hint = "write at least one, for example: h' = tanh(W @ x + U @ h + b)"
        raise EquationError("there is no equation here", hint=hint)
    return statements


class _Statement:
    def __init__(self, line: LogicalLine):
        self.error, self.span = line.error, line.span
        self.tree = line.tree()

    def read(self) -> Assignment | Declaration:
        match self.tree:
            case ast.AnnAssign() as statement:
                return self.declaration(statement)
            case ast.Assign(targets=[ast.Name() as target], value=value):
                return Assignment(self.name(target), self.expression(value), self.span(target))
            case ast.Assign(targets=[target]):
                hint = "for example: h' = ..."
                raise self.error("the left side of an equation is one name", target, hint)
            case ast.Assign(targets=[_, second, *_]):
                raise self.error("one equation has one `=`", second, "use two lines")
            case ast.AugAssign(target=ast.Name() as target, op=op) if type(op) in OPERATORS:
                name = self.name(target)
                old, new = name.removesuffix("'"), name.removesuffix("'") + "'"
                hint = f"write it out: {new} = {old} {OPERATORS[type(op)]} (...)"
                raise self.error("this is not an equation", self.tree, hint)
            case ast.Expr(value=ast.Compare()):
                hint = "an equation has a plain `=`: write `name = ...`"
                raise self.error("this is not an equation", self.tree, hint)
        hint = "write `name = ...`, or `name: size` to declare a size"
        raise self.error("this is not an equation", self.tree, hint)

    def declaration(self, statement: ast.AnnAssign) -> Declaration:
        if statement.value is not None:
            hint = "write `h: proj` and the equation `h' = ...` on two lines"
            raise self.error("a size is declared alone", statement.annotation, hint)
        if not isinstance(statement.target, ast.Name):
            raise self.error("only a name has a size", statement.target, "write `name: size`")
        name, span = self.name(statement.target), self.span(statement.target)
        if name.endswith("'"):
            raise self.error("a declaration takes no prime", span, f"write `{name[:-1]}: ...`")
        match statement.annotation:
            case ast.Name() as size if PRIME not in size.id:
                return Declaration(name, self.name(size), span)
            case ast.Constant(value=int(value)) as size if not isinstance(value, bool) and value:
                if value > limits.SIZE:
                    problem = f"a size of {limits.SIZE:,} is the largest that is allowed"
                    raise self.error(problem, size, "declare a smaller one")
                return Declaration(name, value, span)
        hint = "for example `h: proj` or `y: 1`"
        raise self.error("a size is a name or a positive number", statement.annotation, hint)

    def name(self, node: ast.Name) -> str:
        name = node.id.replace(PRIME, "'")
        if name.startswith("_"):
            hint = f"for example `{name.strip('_') or 'a'}`"
            raise self.error("a name starts with a letter", node, hint)
        if len(name) > limits.NAME:
            problem = f"this name has {len(name):,} characters; {limits.NAME} are allowed"
            raise self.error(problem, node, "use a shorter one")
        return name

    def expression(self, node: ast.expr, depth: int = 0) -> Expr:
        if depth > limits.DEPTH:
            hint = "name a part of it on a line of its own"
            raise self.error(f"this is over {limits.DEPTH} operations deep", node, hint)
        match node:
            case ast.Constant():
                return Const(self.number(node), span=self.span(node))
            case ast.Name():
                return Name(self.name(node), span=self.span(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.apply("neg", (self.expression(operand, depth + 1),), node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.expression(operand, depth + 1)
            case ast.BinOp(op=ast.MatMult()):
                return self.product(node, depth)
            case ast.BinOp(op=op) if type(op) in OPERATORS:
                return self.operator(node, OPERATORS[type(op)], depth)
            case ast.Call():
                return self.call(node, depth)
            case ast.Attribute():
                raise self.attribute(node)
            case ast.Compare():
                raise self.error("the language has no comparisons", node, elsewhere.COMPARED)
            case ast.Starred():
                raise self.error("nothing stands left of `*`", node, "write both factors")
            case ast.Tuple():
                hint = "join vectors with `concat(a, b)`"
                raise self.error("this is a list of values", node, hint)
        hint = "expected names, numbers, + - * / ** @, brackets and functions"
        raise self.error("this is not part of the language", node, hint)

    def number(self, node: ast.Constant) -> float:
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
        raise self.error("this is not a real number", node, "write it as 2, 0.5 or 1e-3")

    def product(self, node: ast.BinOp, depth: int) -> Expr:
        if isinstance(node.left, ast.Name):
            operand = self.expression(node.right, depth + 1)
            return Product(self.name(node.left), operand, span=self.span(node))
        match node.left:
            case ast.BinOp(op=ast.MatMult()):
                hint = "apply one matrix after the other: A @ (B @ v)"
            case ast.BinOp(op=ast.Mult() | ast.Div(), right=ast.Name(id=inner)):
                hint = f"bracket the product: ... * ({inner} @ v)"
            case ast.Attribute() as left:
                raise self.attribute(left)
            case ast.Call(func=ast.Attribute() as left):
                raise self.attribute(left)
            case ast.Call(func=ast.Name(id="transpose")):
                hint = elsewhere.TRANSPOSE
            case ast.UnaryOp():
                hint = "put the sign in front of a bracket: -(W @ v)"
            case _:
                hint = "a vector is computed on the right of `@`: W @ (...)"
        raise self.error("the left of `@` is the name of a matrix", node.left, hint)

    def operator(self, node: ast.BinOp, symbol: str, depth: int) -> Expr:
        left = node.left
        bracketed = (left.lineno, left.col_offset) != (node.lineno, node.col_offset)
        is_product = isinstance(left, ast.BinOp) and isinstance(left.op, ast.MatMult)
        if symbol in ("*", "/") and is_product and not bracketed:
            hint = f"write (W @ v) {symbol} u, or W @ (v {symbol} u)"
            raise self.error(f"`@` and `{symbol}` in one term need brackets", node, hint)
        args = (self.expression(left, depth + 1), self.expression(node.right, depth + 1))
        if symbol == "**" and not isinstance(args[1], Const):
            hint = "for other powers: exp(k * log(v))"
            raise self.error("an exponent is a number", node.right, hint)
        return self.apply(symbol, args, node)

    def call(self, node: ast.Call, depth: int) -> Expr:
        if isinstance(node.func, ast.Attribute):
            raise self.attribute(node.func)
        if not isinstance(node.func, ast.Name):
            hint = "to multiply, write `*`"
            raise self.error("only a function's name can be called", node.func, hint)
        function = node.func.id.replace(PRIME, "'")
        if function not in CALLABLE:
            hint = elsewhere.about_function(function, step_of(node.args))
            raise self.error(f"there is no function {function!r}", node.func, hint)
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise self.error("arguments are plain expressions", node, f"write {function}(...)")
        arity, given = FUNCTIONS[function].arity, len(node.args)
        if not given or (arity is not None and arity != given):
            expected = "one argument or more" if arity is None else f"{arity} of them"
            hint = f"write {function}({', '.join('abc'[: arity or 2])})"
            problem = f"{function} takes {expected}, and {given} arguments are given"
            raise self.error(problem, node, hint)
        return self.apply(function, tuple(self.expression(a, depth + 1) for a in node.args), node)

    def attribute(self, node: ast.Attribute) -> EquationError:
        owner, parts = node.value, []
        while isinstance(owner, ast.Attribute):
            parts.append(owner.attr)
            owner = owner.value
        parts.append(self.name(owner) if isinstance(owner, ast.Name) else "")
        hint = elsewhere.about_attribute(".".join(reversed(parts)), node.attr)
        return self.error("the language has no attributes", node, hint)

    def apply(self, function: str, args: tuple[Expr, ...], node: ast.expr) -> Expr:
        """The call, or its value where all arguments are numbers."""
        span, fold = self.span(node), FUNCTIONS[function].constant
        constants = [arg for arg in args if isinstance(arg, Const)]
        if fold is None and constants:
            hint = "a number has no length of its own; use it with +, -, * or /"
            raise self.error(f"{function} takes vectors", constants[0].span or span, hint)
        if fold is None or len(constants) < len(args):
            return Apply(function, args, span=span)
        try:
            value = fold(*(constant.value for constant in constants))
        except (ArithmeticError, ValueError):
            value = math.nan
        if isinstance(value, complex) or not math.isfinite(value):
            raise self.error("this has no finite value", span, "check the numbers in it")
        return Const(float(value), span=span)


def step_of(args: list[ast.expr]) -> str:
    """The step that h(t-1) names, as text; "" where no step is meant."""
    match args:
        case [ast.Name(id="t")]:
            return "t"
        case [ast.BinOp(left=ast.Name(id="t"), op=op, right=ast.Constant(value=int(count)))] if (
            isinstance(op, ast.Add | ast.Sub)
        ):
            return f"t{OPERATORS[type(op)]}{count}"
    return ""
