"""A cell explained in LaTeX, for a paper: v_t is the value of step t, a bar its gradient."""

import re
from collections import Counter

from unspool.equations.derivative import OUTPUT
from unspool.equations.explain import Explanation, sum_over_steps
from unspool.equations.expr import Expr, Line, Name
from unspool.equations.printing import latex_expr, latex_name, upright
from unspool.equations.sizes import Size


def explain_latex(about: Explanation) -> str:
    return "\n".join(_Tex(about).write())


class _Tex:
    def __init__(self, explained: Explanation):
        self.about, self.eqs = explained, explained.equations
        self.still = {*self.eqs.vectors, *self.eqs.matrices}

    def name(self, name: str) -> str:
        if name == OUTPUT:
            return r"\bar{y}_{t}"
        if name.startswith("∂"):
            return self.gradient(name[1:])
        if name == "yhat":
            return r"\hat{y}_{t}"
        if name in self.still:
            return latex_name(name)
        if name in self.eqs.carried:
            return latex_name(name, "t-1")
        return latex_name(name.removesuffix("'"), "t")

    def gradient(self, name: str) -> str:
        """A bar for a total; an arrow for what one step sends back to the state before it."""
        if name.endswith("+"):
            return latex_name(name[:-1], "t", over=r"\overleftarrow")
        if name in self.eqs.carried:
            return latex_name(name, "t-1", over=r"\overleftarrow")
        if name in self.still:
            return latex_name(name, over=r"\bar")
        return latex_name(name.removesuffix("'"), "t", over=r"\bar")

    def expr(self, expr: Expr) -> str:
        return latex_expr(expr, self.name, latex_name)

    def rows(self, lines: list[Line]) -> list[str]:
        return self.align([f"{self.name(line.name)} &= {self.expr(line.expr)}" for line in lines])

    def align(self, rows: list[str]) -> list[str]:
        ends = [r" \\"] * (len(rows) - 1) + [""]
        body = (f"  {row}{end}" for row, end in zip(rows, ends, strict=True))
        return [r"\begin{align*}", *body, r"\end{align*}"]

    def write(self) -> list[str]:
        text = ["% needs amsmath", f"% {self.about.title}", r"\paragraph{Forward.}"]
        text += self.rows(list(self.eqs.lines))
        if self.eqs.parameters:
            shapes = ", ".join(self.shape(p) for p in self.eqs.parameters)
            text += [r"\paragraph{Parameters.}", f"${shapes}$"]
        text += [r"\paragraph{Backward.}", r"With $\bar{v} = \partial L / \partial v$:"]
        if self.about.softmax:
            text[-1] = (
                r"With $\bar{v} = \partial L / \partial v$, "
                r"$\hat{y}_t = \mathrm{softmax}(y_t)$ and "
                r"$L = -\sum_t \mathrm{target}_t^\top \log \hat{y}_t$:"
            )
        if self.about.preactivations:
            text += self.rows(self.about.preactivations)
        text += self.rows(self.about.backward_lines)
        text += [rf"Here {meaning}." for meaning in map(self.words, self.about.meanings)]
        text += [r"\paragraph{Parameter gradients.}", *self.align(self.gradient_rows() or ["0"])]
        return text

    def shape(self, parameter: str) -> str:
        sizes = r" \times ".join(self.size(size) for size in self.eqs.shape(parameter))
        return rf"{latex_name(parameter)} \in \mathbb{{R}}^{{{sizes}}}"

    def size(self, size: Size) -> str:
        parts = [("" if n == 1 else str(n)) + upright(t) for t, n in Counter(size.terms).items()]
        total = " + ".join(parts + [str(size.constant)] * bool(size.constant))
        return total if len(parts) < 2 else f"({total})"

    def words(self, meaning: str) -> str:
        """A sentence whose comparisons and fractions are formulas."""
        meaning = meaning.replace("part(v, a)", r"$\left[v\right]_a$")
        return re.sub(r"\w+ [<>=] \w+|\d/\d|-1|1e-5|\w+\([^)]*\)(?= is)", r"$\g<0>$", meaning)

    def gradient_rows(self) -> list[str]:
        rows = []
        for name, terms in self.about.parameter_gradients.items():
            total = sum_over_steps(terms, self.braced, r"\left({}\right)", r"^\top")
            rows.append(rf"{self.gradient(name)} &= \sum_t {total}")
        return rows

    def braced(self, expr: Expr) -> str:
        """In braces where an exponent may follow a subscript."""
        return f"{{{self.expr(expr)}}}" if isinstance(expr, Name) else self.expr(expr)
