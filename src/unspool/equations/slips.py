"""What is odd about equations that can be read: most likely a slip, so it is said, not refused.

A declaration says that a trained vector is meant: after `gamma: hidden` nothing is said of gamma.
"""

from collections.abc import Iterator

from unspool.equations.derivative import derive, trained
from unspool.equations.errors import EquationWarning, Span
from unspool.equations.expr import Apply, Expr, Name, Product, names, walk
from unspool.equations.parse import Assignment, Declaration, parse
from unspool.equations.program import Equations

CONSTANTS = {  # what a name is elsewhere, and how the language has it
    **dict.fromkeys(("dt", "Δt", "delta_t"), (
        "the length of a time step", "write the number, 0.1 for example"
    )),
    **dict.fromkeys(("pi", "π"), ("a number", "write 3.141592653589793")),
    **dict.fromkeys(("eps", "epsilon", "ε"), ("a small number", "write 1e-5")),
    **dict.fromkeys(("gamma", "γ"), (
        "a fixed number", "write the number, 0.9 for example; beside layer_norm(...) it is the gain"
    )),
    "t": ("the number of the step", "the language has none: give it as a feature of x"),
    "I": ("the identity", "1 stands for a vector of ones, and I @ h is h"),
    **dict.fromkeys(("one", "ones"), ("a vector of ones", "write the number 1")),
    **dict.fromkeys(("zero", "zeros"), ("a vector of zeros", "write the number 0")),
    "dropout": ("dropout", "it stands around a cell, not in it: us.Dropout(...) in us.Recurrent"),
}  # fmt: skip


def slips(equations: Equations) -> list[EquationWarning]:
    """The warnings about a cell as its user wrote it, in the order of the text."""
    found = _Finder(equations).find()
    return sorted(found, key=lambda slip: slip.span or Span(0, 0, 0))


class _Finder:
    def __init__(self, equations: Equations):
        self.equations = equations
        statements = parse(equations.text)
        self.lines = [s for s in statements if isinstance(s, Assignment)]
        self.order = [line.name for line in self.lines]
        declared = {s.name for s in statements if isinstance(s, Declaration)}
        self.undeclared = [v for v in equations.vectors if v not in declared]
        self.places: dict[str, Span | None] = {}  # where each name first stands
        self.reads = {line.name: set[str]() for line in self.lines}
        self.factors, self.gains, self.times_x = set[str](), set[str](), set[str]()
        self.normed = {line.name for line in self.lines if _is_layer_norm(line.expr)}
        for line in self.lines:
            for node in walk(line.expr):
                if isinstance(node, Name | Product):
                    name = node.id if isinstance(node, Name) else node.matrix
                    self.places.setdefault(name, node.span)
                    self.reads[line.name].add(name)
                elif isinstance(node, Apply) and node.function in ("*", "/"):
                    self.add_factors(node)

    def add_factors(self, node: Apply) -> None:
        """Notes which vectors are factors, and of what."""
        factors = list(_factors(node))
        named = {factor.id for factor in factors if isinstance(factor, Name)}
        self.factors |= named
        if "x" in named and node.function == "*":
            self.times_x |= named
        if any(_is_layer_norm(factor) for factor in factors) or named & self.normed:
            self.gains |= {name for factor in factors for name in names(factor)}

    def warning(self, problem: str, span: Span | None, hint: str) -> EquationWarning:
        return EquationWarning(problem, self.equations.text, span, hint)

    def at_name(self, name: str, problem: str, hint: str) -> EquationWarning:
        return self.warning(problem, self.places[name], hint)

    def find(self) -> Iterator[EquationWarning]:
        yield from self.dead_lines()
        yield from self.without_gradient()
        for name in self.undeclared:  # one remark about a name is enough
            checks = (self.other_case, self.constant, self.glued, self.not_a_product)
            if slip := next(filter(None, (check(name) for check in checks)), None):
                yield slip
        yield from self.matrices()

    def dead_lines(self) -> Iterator[EquationWarning]:
        eqs, read = self.equations, set[str]().union(*self.reads.values())
        alive = self.behind({eqs.output, *eqs.carried.values()})
        said = set[str]()
        for line in self.lines:
            if line.name in alive or line.name in read:
                continue
            own = self.behind({line.name}) - alive - said - {line.name}
            behind = [n for n in (*self.order, *eqs.parameters) if n in own]
            said |= own
            problem = f"{line.name} is computed, and nothing reads it"
            if behind:
                verb = "serves" if len(behind) == 1 else "serve"
                problem += f" ({', '.join(behind)} {verb} it alone)"
            hint = "remove it, or read it in a line that leads to a new state or the output"
            if "y" not in (*eqs.vectors, *(each.name for each in self.lines)):
                hint += f"; if {line.name} is the output, call it y"
            yield self.warning(problem, line.span, hint)

    def behind(self, roots: set[str]) -> set[str]:
        """The roots, and every line and parameter that they read, directly or not."""
        found = set(roots)
        for line in reversed(self.lines):
            if line.name in found:
                found |= self.reads[line.name]
        return found

    def without_gradient(self) -> Iterator[EquationWarning]:
        eqs = self.equations
        moved = trained(derive(eqs))
        alive = self.behind({eqs.output, *eqs.carried.values()})
        for name in eqs.parameters:
            if name in alive and name not in moved:
                problem = f"{name} gets no gradient: a factor or an exponent of 0 makes it idle"
                yield self.at_name(name, problem, "remove it, or let the result depend on it")

    def other_case(self, name: str) -> EquationWarning | None:
        eqs = self.equations
        known = {"x": "the input", **dict.fromkeys(eqs.states, "a state")}
        known |= {n: "a line" for n in self.order if not n.endswith("'")}
        for other, role in known.items():
            if other.lower() == name.lower():
                problem = f"{name} is a trained vector, and {other} is {role}"
                return self.at_name(name, problem, f"write {other}; {self.meant(name)}")
        earlier = self.undeclared[: self.undeclared.index(name)]
        if other := next((v for v in earlier if v.lower() == name.lower()), None):
            return self.at_name(name, *self.two("vectors", name, other, self.meant(name)))
        return None

    def meant(self, name: str) -> str:
        """How a user says that a vector is meant to be trained."""
        size = str(self.equations.sizes[name])
        shown = f": `{name}: {size}`" if size.isidentifier() or size.isdecimal() else ""
        return f"if a trained vector is meant, declare it{shown}"

    def two(self, kind: str, name: str, other: str, meant: str) -> tuple[str, str]:
        problem = f"{other} and {name} are two {kind} that differ in case only"
        return problem, f"write {other} for both; {meant}"

    def constant(self, name: str) -> EquationWarning | None:
        if name not in CONSTANTS or name in self.gains:
            return None
        what, fix = CONSTANTS[name]
        problem = f"{name} is a trained vector here, not {what}"
        return self.at_name(name, problem, f"{fix}; {self.meant(name)}")

    def glued(self, name: str) -> EquationWarning | None:
        """`Wx`, where W @ x is meant: a term of a sum that does not look like a bias."""
        matrix, vector = name[0], name[1:]
        glued = matrix.isupper() and vector in {"x", *self.equations.states}
        if not glued or name in self.factors:
            return None
        problem = f"{name} is a trained vector here, not {matrix} times {vector}"
        return self.at_name(name, problem, f"write {matrix} @ {vector}; {self.meant(name)}")

    def not_a_product(self, name: str) -> EquationWarning | None:
        """`W * x`, where W @ x is meant: matrices have capital letters. D is a diagonal."""
        if not name[0].isupper() or name[0] == "D" or name not in self.times_x:
            return None
        problem = f"{name} * x multiplies entry by entry: {name} is no matrix here"
        hint = f"a matrix times a vector is written {name} @ x; {self.meant(name)}"
        return self.at_name(name, problem, hint)

    def matrices(self) -> Iterator[EquationWarning]:
        order = list(self.equations.matrices)
        for at, name in enumerate(order):
            if other := next((m for m in order[:at] if m.lower() == name.lower()), None):
                meant = "if two are meant, give one of them another name"
                yield self.at_name(name, *self.two("matrices", name, other, meant))
            if name == "I" and "i" not in self.order:
                problem = "I is a trained matrix here, not the identity"
                meant = "if a trained matrix is meant, give it another name"
                yield self.at_name(name, problem, f"I @ h is h itself: write h; {meant}")


def _is_layer_norm(expr: Expr) -> bool:
    return isinstance(expr, Apply) and expr.function == "layer_norm"


def _factors(node: Apply) -> Iterator[Expr]:
    """The factors of a product of vectors, however it is bracketed."""
    for arg in node.args:
        if isinstance(arg, Apply) and arg.function == "*":
            yield from _factors(arg)
        else:
            yield arg
