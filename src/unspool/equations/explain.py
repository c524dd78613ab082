"""A cell explained: its equations, parameters, the backward step, and the sum over time."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from unspool.equations.derivative import OUTPUT, Backward, adjoint, derive, from_next
from unspool.equations.expr import (
    Apply,
    Expr,
    Line,
    Name,
    Part,
    call,
    names,
    products,
    rebuild,
    walk,
)
from unspool.equations.functions import FUNCTIONS
from unspool.equations.printing import ascii_expr, ascii_line
from unspool.equations.program import Equations
from unspool.equations.roles import equations
from unspool.equations.sizes import Size

SOFTMAX = call("-", Name("yhat"), Name("target"))  # what cross-entropy sends to its logits


def with_softmax(eqs: Equations) -> Equations:
    """The equations with logits as output: their own `y`, or a readout of the output state."""
    if eqs.output == "y":
        return eqs
    taken = {*eqs.sizes, *eqs.matrices}
    matrix = next(name for name in ("V", "O", "V_y", "V_out") if name not in taken)
    bias = next(name for name in ("b_y", "c_y", "b_out") if name not in taken)
    return equations(f"{eqs.text}\ny: classes\ny = {matrix} @ {eqs.output} + {bias}")


@dataclass(frozen=True)
class Term:
    """One step's share of a parameter's gradient: `left`, or for a matrix `left` times right^T."""

    left: Expr
    right: Expr | None = None


@dataclass(frozen=True)
class Explanation:
    """What there is to say about a cell. `explain_text` and `explain_latex` say it."""

    title: str
    equations: Equations
    softmax: bool = False

    @cached_property
    def derived(self) -> Backward:
        return derive(self.equations)

    @cached_property
    def backward_lines(self) -> list[Line]:
        """The derived lines, without those that only repeat the gradient that is given."""
        kept = [line for line in self.derived.lines if line.expr != Name(OUTPUT)]
        return [Line(line.name, self.given(line.expr)) for line in kept]

    @cached_property
    def preactivations(self) -> list[Line]:
        own = {line.name for line in self.equations.lines}
        return [line for line in self.derived.forward.lines if line.name not in own]

    @cached_property
    def parameter_gradients(self) -> dict[str, list[Term]]:
        outers, vectors = self.derived.matrices, self.derived.vectors
        found = {m: [Term(self.given(o.left), o.right) for o in os] for m, os in outers.items()}
        found |= {vector: [Term(self.given(share))] for vector, share in vectors.items()}
        return {name: found.get(name, []) for name in self.equations.parameters}

    @cached_property
    def parameters_of_states(self) -> list[str]:
        """The parameters on which a state depends: their gradients add up over time."""
        wanted, found = set(self.equations.carried.values()), set[str]()
        for line in reversed(self.equations.lines):
            if line.name in wanted:
                wanted |= names(line.expr)
                found |= names(line.expr) | {node.matrix for node in products(line.expr)}
        return [name for name in self.equations.parameters if name in found]

    @cached_property
    def meanings(self) -> list[str]:
        """What the functions are that only derivatives contain."""
        shares = [t.left for terms in self.parameter_gradients.values() for t in terms]
        nodes = [n for e in (*(ln.expr for ln in self.backward_lines), *shares) for n in walk(e)]
        used = {node.function for node in nodes if isinstance(node, Apply)}
        found = [row.meaning for name, row in FUNCTIONS.items() if name in used and row.meaning]
        parts = any(isinstance(node, Part) for node in nodes)
        return found + ["part(v, a) is the piece of v where a stands in the concat"] * parts

    def given(self, expr: Expr) -> Expr:
        """The expression with what the loss sends back in place of its names."""
        same = {line.name for line in self.derived.lines if line.expr == Name(OUTPUT)} | {OUTPUT}
        if isinstance(expr, Name) and expr.id in same:
            return SOFTMAX if self.softmax else Name(OUTPUT)
        return rebuild(expr, self.given)


def sum_over_steps(terms: list[Term], write: Callable[[Expr], str], brackets: str, top: str) -> str:
    """The terms as text; `brackets` is a template for a bracketed factor, `top` a transpose."""

    def factor(expr: Expr) -> str:
        return write(expr) if isinstance(expr, Name) else brackets.format(write(expr))

    def term(one: Term) -> str:
        if one.right is not None:
            return f"{factor(one.left)} {factor(one.right)}{top}"
        is_sum = isinstance(one.left, Apply) and one.left.function in ("+", "-")
        return brackets.format(write(one.left)) if is_sum else write(one.left)

    total = " + ".join(map(term, terms)) or "0"
    return brackets.format(total) if len(terms) > 1 else total


def explain_text(about: Explanation, sizes: Mapping[str, int] | None = None) -> str:
    """The explanation for a terminal; with sizes every shape and count is a number too."""
    return "\n".join(_Text(about, sizes).write())


class _Text:
    def __init__(self, about: Explanation, sizes: Mapping[str, int] | None):
        self.about, self.eqs, self.sizes = about, about.equations, sizes
        taken = {*self.eqs.sizes, *self.eqs.matrices, "yhat", "target"}
        marks = ("d", "d_", "grad_", "gradient_of_")
        self.mark = next(m for m in marks if not any(m + n in taken for n in (*taken, "ys")))

    def rename(self, name: str) -> str:
        if name.endswith("+"):
            return f"{self.mark}{name[1:-1]}[t+1]"
        return self.mark + name[1:] if name.startswith("∂") else name

    def expr(self, expr: Expr) -> str:
        return ascii_expr(expr, self.rename)

    def write(self) -> list[str]:
        sections = {
            "Forward, one step": self.lines(list(self.eqs.lines)),
            "Sizes": self.size_rows(),
            "Parameters": self.parameter_rows(),
            f"Backward, one step ({self.mark}v is dL/dv)": self.backward_rows(),
            "Parameter gradients": self.gradient_rows(),
            "Over time": self.time_rows(),
        }
        text = [self.about.title]
        for title, rows in sections.items():
            text += ["", title, *(f"    {row}".rstrip() for row in rows)]
        return text

    def lines(self, lines: list[Line]) -> list[str]:
        width = max((len(self.rename(line.name)) for line in lines), default=0)
        return [ascii_line(line, self.rename, width) for line in lines]

    def size_rows(self) -> list[str]:
        eqs = self.eqs
        output = {eqs.output: "output"}
        rows = {"x": "input"}
        for state, line in eqs.carried.items():
            rows[state] = ", ".join(filter(None, ("state", output.pop(line, ""))))
        rows |= output
        listed = [
            f"{name}: {self.shape((eqs.sizes[name],))} ({what})" for name, what in rows.items()
        ]
        return listed + [f"needs {constraint}" for constraint in eqs.constraints]

    def shape(self, shape: tuple[Size, ...]) -> str:
        named = " x ".join(f"({size})" if "+" in str(size) else str(size) for size in shape)
        if self.sizes is None:
            return named
        return f"{named} = {' x '.join(str(size.value(self.sizes)) for size in shape)}"

    def parameter_rows(self) -> list[str]:
        eqs = self.eqs
        width = max(map(len, eqs.parameters), default=0)
        rows = [f"{name:<{width}}  {self.shape(eqs.shape(name))}" for name in eqs.parameters]
        count = count_text(eqs)
        if self.sizes is not None:
            count += f" = {count_parameters(eqs, self.sizes):,}"
        return [*rows, f"{len(eqs.parameters)} parameters, {count} numbers"]

    def backward_rows(self) -> list[str]:
        about, states = self.about, self.eqs.states
        rows = []
        if about.softmax:
            rows += ["yhat = softmax(y), and the loss of a step is -sum(target * log(yhat)):"]
            rows += ["its gradient with respect to y is yhat - target", ""]
        sent = ", ".join(self.rename(from_next(state)) for state in states)
        given = "" if about.softmax else f"{self.mark}ys, the gradient of this step's output, and "
        rows.append(f"given: {given}{sent}, sent back by the next step")
        if about.preactivations:
            rows += ["with:", *("  " + row for row in self.lines(about.preactivations))]
        rows += ["", *self.lines(about.backward_lines), ""]
        sends = ", ".join(self.rename(adjoint(s)) for s in states if about.derived.has(s))
        rows += about.meanings
        return [*rows, f"{sends or 'nothing'} goes back to the step before"]

    def gradient_rows(self) -> list[str]:
        width = max((len(name) for name in self.eqs.parameters), default=0) + len(self.mark)
        return [
            f"{self.mark + name:<{width}} = sum_t {sum_over_steps(terms, self.expr, '({})', '^T')}"
            for name, terms in self.about.parameter_gradients.items()
        ]

    def time_rows(self) -> list[str]:
        states, many = self.eqs.states, len(self.eqs.states) > 1
        s = "s" if many else states[0]
        who = f"s = ({', '.join(states)}); " if many else ""
        rows = [
            f"{who}the loss L_t of step t reaches every earlier step p <= t:",
            f"  dL/d{s}_p = sum_(t>=p) dL_t/d{s}_t @ d{s}_t/d{s}_p",
            f"  d{s}_t/d{s}_p = d{s}_t/d{s}_(t-1) @ ... @ d{s}_(p+1)/d{s}_p   (in this order)",
        ]
        if self.about.parameters_of_states:
            some = self.about.parameters_of_states
            every = len(some) == len(self.eqs.parameters)
            which = "every parameter w" if every else f"w = {', '.join(some)}"
            rows += [
                f"so for {which}, with d+ the dependence within one step alone,",
                f"  dL/dw = sum_t sum_(p<=t) dL_t/d{s}_t @ d{s}_t/d{s}_p @ d+{s}_p/dw",
            ]
        return rows


def count_parameters(eqs: Equations, sizes: Mapping[str, int]) -> int:
    return sum(prod(size.value(sizes) for size in eqs.shape(name)) for name in eqs.parameters)


def count_text(eqs: Equations) -> str:
    """The number of parameters as a formula: 3*hidden*input + 3*hidden*hidden + 3*hidden."""
    shapes = Counter(
        "*".join(f"({size})" if "+" in str(size) else str(size) for size in eqs.shape(name))
        for name in eqs.parameters
    )
    matrices_first = sorted(shapes.items(), key=lambda item: -item[0].count("*"))
    terms = [shape if n == 1 else f"{n}*{shape}" for shape, n in matrices_first]
    return " + ".join(terms) or "0"
