"""A cell explained: its equations, parameters, the backward step, and the sum over time."""

import itertools
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
from unspool.equations.rewrite import free_name
from unspool.equations.roles import equations
from unspool.equations.sizes import Size


def with_softmax(eqs: Equations) -> Equations:
    """The equations with logits as output: their own `y`, or a readout of the output state."""
    if eqs.output == "y":
        return eqs
    taken = {*eqs.sizes, *eqs.matrices}
    if "y" in taken:
        raise ValueError("the softmax reads an output called y, and the cell uses y for another")
    matrix, bias = free_name("V", taken), free_name("b_y", taken)
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

    def _behind(self, roots: set[str], stop: set[str]) -> set[str]:
        """Every name and matrix that the roots read, directly or not, but through `stop`."""
        wanted, found = set(roots), set[str]()
        for line in reversed(self.equations.lines):
            if line.name in wanted and (line.name in roots or line.name not in stop):
                read = names(line.expr)
                wanted |= read - stop
                found |= read | {node.matrix for node in products(line.expr)}
        return found

    @cached_property
    def behind_states(self) -> set[str]:
        """What a step's new states depend on."""
        return self._behind({*self.equations.carried.values()}, set())

    @cached_property
    def behind_output(self) -> set[str]:
        """What a step's output depends on, but through the new states."""
        new = {*self.equations.carried.values()}
        return set() if self.equations.output in new else self._behind({self.equations.output}, new)

    @cached_property
    def direct(self) -> tuple[bool, bool]:
        """Whether an output reads the new state of its own step, and whether the old one."""
        new, old = {*self.equations.carried.values()}, {*self.equations.states}
        reads_new = self.equations.output in new or bool(self.behind_output & new)
        return reads_new, bool(self.behind_output & old)

    @cached_property
    def summed_over_time(self) -> tuple[list[str], list[str]]:
        """The parameters behind the states: those of the states alone, and the output's as well."""
        through = [name for name in self.equations.parameters if name in self.behind_states]
        besides = [name for name in through if name in self.behind_output]
        return [name for name in through if name not in besides], besides

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
        """The expression with what the loss sends back in place of its names.

        What only a softmax brings is marked with `!`, so that no line of the cell is meant.
        """
        same = {line.name for line in self.derived.lines if line.expr == Name(OUTPUT)} | {OUTPUT}
        if isinstance(expr, Name) and expr.id in same:
            return call("-", Name("yhat!"), Name("target!")) if self.softmax else Name(OUTPUT)
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
    text = [about.title]
    for title, rows in explain_sections(about, sizes).items():
        text += ["", title, *(f"    {row}".rstrip() for row in rows)]
    return "\n".join(text)


def explain_sections(
    about: Explanation, sizes: Mapping[str, int] | None = None
) -> dict[str, list[str]]:
    """The rows of each part, in their order: forward, sizes, parameters, backward, ..."""
    return _Text(about, sizes).sections()


class Notation:
    """How gradients are written, in names that the equations leave free."""

    def __init__(self, about: Explanation):
        taken = {*about.equations.sizes, *about.equations.matrices}
        self.own = {word: free_name(word, taken) for word in ("yhat", "target", "ys")}
        names = {*taken, *self.own.values(), *(line.name for line in about.preactivations)}
        marks = itertools.chain(("d", "d_", "grad_"), (f"grad{n}_" for n in itertools.count(2)))
        self.mark = next(m for m in marks if not any(m + name in names for name in names))

    def rename(self, name: str) -> str:
        if name == OUTPUT:
            return self.mark + self.own["ys"]
        if name.endswith("+"):
            return f"{self.mark}{name[1:-1]}[t+1]"
        if name.endswith("!"):
            return self.own[name[:-1]]
        return self.mark + name[1:] if name.startswith("∂") else name


class _Text:
    def __init__(self, about: Explanation, sizes: Mapping[str, int] | None):
        self.about, self.eqs, self.sizes = about, about.equations, sizes
        notation = Notation(about)
        self.own, self.mark, self.rename = notation.own, notation.mark, notation.rename

    def expr(self, expr: Expr) -> str:
        return ascii_expr(expr, self.rename)

    def sections(self) -> dict[str, list[str]]:
        return {
            "Forward, one step": self.lines(list(self.eqs.lines)),
            "Sizes": self.size_rows(),
            "Parameters": self.parameter_rows(),
            f"Backward, one step ({self.mark}v is dL/dv)": self.backward_rows(),
            "Parameter gradients": self.gradient_rows(),
            "Over time": self.time_rows(),
        }

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
            yhat, target = self.own["yhat"], self.own["target"]
            loss = f"-sum({target} * log({yhat}))"
            rows += [f"{yhat} = softmax(y), and the loss of a step is {loss}:"]
            rows += [f"its gradient with respect to y is {yhat} - {target}", ""]
        sent = ", ".join(self.rename(from_next(state)) for state in states)
        output = f"{self.rename(OUTPUT)}, the gradient of this step's output, and "
        given = "" if about.softmax else output
        rows.append(f"given: {given}{sent}, sent back by the next step")
        if about.preactivations:
            rows += ["with:", *("  " + row for row in self.lines(about.preactivations))]
        rows += ["", *self.lines(about.backward_lines), ""]
        sent_back = [self.rename(adjoint(s)) for s in states if about.derived.has(s)]
        verb = "go" if len(sent_back) > 1 else "goes"
        what = ", ".join(sent_back) or "nothing"
        return [*rows, *about.meanings, f"{what} {verb} back to the step before"]

    def gradient_rows(self) -> list[str]:
        width = max((len(name) for name in self.eqs.parameters), default=0) + len(self.mark)
        return [
            f"{self.mark + name:<{width}} = sum_t {sum_over_steps(terms, self.expr, '({})', '^T')}"
            for name, terms in self.about.parameter_gradients.items()
        ]

    def time_rows(self) -> list[str]:
        about, eqs, s = self.about, self.eqs, over_time_state(self.eqs)
        who = f"{s} = ({', '.join(eqs.states)}); " if len(eqs.states) > 1 else ""
        new, old = about.direct
        sends = " + ".join([f"dL_t/d{s}_t"] * new + [f"dL_(t+1)/d{s}_t"] * old) or "0"
        rows = [
            f"{who}the losses send e_t = {sends} straight to {s}_t,",
            f"and so, over all later steps, to {s}_p:",
            f"  dL/d{s}_p = sum_(t>=p) e_t @ d{s}_t/d{s}_p",
            f"  d{s}_t/d{s}_p = d{s}_t/d{s}_(t-1) @ ... @ d{s}_(p+1)/d{s}_p   (in this order)",
        ]
        plain, besides = about.summed_over_time
        formula = f"sum_t sum_(p<=t) e_t @ d{s}_t/d{s}_p @ d+{s}_p/dw"
        if plain:
            every = len(plain) == len(eqs.parameters)
            which = "every parameter w" if every else f"w = {', '.join(plain)}"
            rows += [f"so for {which}, with d+ the dependence within one step alone,"]
            rows += [f"  dL/dw = {formula}"]
        if besides:
            rows += [f"so for w = {', '.join(besides)}, which the output reads as well,"]
            rows += [f"  dL/dw = {formula} + sum_t dL_t/dy_t @ d+y_t/dw"]
        return rows


def over_time_state(eqs: Equations) -> str:
    """What all states together are called."""
    return eqs.states[0] if len(eqs.states) == 1 else free_name("s", set(eqs.states))


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
