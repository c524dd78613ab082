r"""A cell explained in LaTeX, for a paper: v_t is the value of step t, \bar v_t its gradient."""

import re

from unspool.equations.derivative import OUTPUT
from unspool.equations.explain import (
    Explanation,
    count_text,
    over_time_state,
    sum_over_steps,
)
from unspool.equations.expr import Expr, Line, Name
from unspool.equations.printing import latex_expr, latex_name, upright
from unspool.equations.sizes import Size


def explain_latex(about: Explanation) -> str:
    return "\n".join(_Tex(about).write())


GIVEN = r"\delta^{\mathrm{out}}_{t}"  # no name of a cell is printed like this


class _Tex:
    def __init__(self, about: Explanation):
        self.about, self.eqs = about, about.equations
        self.still = {*self.eqs.vectors, *self.eqs.matrices}

    def name(self, name: str) -> str:
        if name == OUTPUT:
            return GIVEN
        if name in ("yhat!", "target!"):
            return r"\hat{y}_{t}" if name == "yhat!" else r"\mathrm{target}_{t}"
        if name.startswith("∂"):
            return self.gradient(name[1:])
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
        return [r"\begin{align*}", *body, r"\end{align*}"] if rows else []

    def write(self) -> list[str]:
        about = self.about
        text = ["% needs amsmath and amssymb", f"% {about.title}", r"\paragraph{Forward.}"]
        text += self.rows(list(self.eqs.lines))
        text += [r"\paragraph{Sizes and parameters.}", *self.shapes()]
        text += [r"\paragraph{Backward.}", *self.given()]
        text += self.rows(about.preactivations) + self.rows(about.backward_lines)
        text += [f"Here {self.words(meaning)}." for meaning in about.meanings]
        text += [r"\paragraph{Parameter gradients.}", *self.align(self.gradient_rows())]
        return [*text, r"\paragraph{Over time.}", *self.time_rows()]

    def shapes(self) -> list[str]:
        vectors = ["x", *self.eqs.states]
        vectors += [] if self.eqs.output in self.eqs.carried.values() else [self.eqs.output]
        shapes = [(latex_name(name, "t"), (self.eqs.sizes[name],)) for name in vectors]
        shapes += [(latex_name(name), self.eqs.shape(name)) for name in self.eqs.parameters]
        listed = [self.member(name, shape) for name, shape in shapes]
        needs = [f"${self.size(c.left)} = {self.size(c.right)}$" for c in self.eqs.constraints]
        listed[-1] += "" if not needs else f"; with {', '.join(needs)}"
        count = count_text(self.eqs).replace("*", r" \cdot ")
        count = re.sub(r"[^\W\d]\w+(?<!cdot)", lambda word: upright(word.group()), count)
        return [",\n".join(listed) + ".", f"Together ${count}$ numbers."]

    def member(self, name: str, shape: tuple[Size, ...]) -> str:
        sizes = r" \times ".join(map(self.size, shape))
        return rf"${name} \in \mathbb{{R}}^{{{sizes}}}$"

    def size(self, size: Size) -> str:
        parts = [("" if n == 1 else str(n)) + upright(t) for t, n in size.terms]
        parts += [str(size.constant)] * bool(size.constant)
        return " + ".join(parts) if len(parts) < 2 else f"({' + '.join(parts)})"

    def given(self) -> list[str]:
        text = [r"With $\bar{v}_t = \partial L / \partial v_t$; given"]
        if self.about.softmax:
            text += [r"$\hat{y}_t = \mathrm{softmax}(y_t)$, where the loss of a step is"]
            text += [r"$-\mathrm{target}_t^\top \log \hat{y}_t$, and"]
        else:
            text += [rf"${GIVEN}$, the gradient of the step's output, and"]
        sent = ", ".join(f"${self.gradient(state + '+')}$" for state in self.eqs.states)
        return [*text, f"{sent}, sent back by the next step:"]

    def words(self, meaning: str) -> str:
        """A sentence whose functions and comparisons are formulas."""
        meaning = meaning.replace("part(v, a)", r"$\left[v\right]_a$").replace("1e-5", "$10^{-5}$")
        meaning = re.sub(r"(\w+)(\([^)]*\))(?= is)", r"$\\mathrm{\1}\2$", meaning)
        return re.sub(r"\b\w [<>=] \w\b|\b\d/\d\b|(?<= )-1\b", r"$\g<0>$", meaning)

    def gradient_rows(self) -> list[str]:
        rows = []
        for name, terms in self.about.parameter_gradients.items():
            total = sum_over_steps(terms, self.braced, r"\left({}\right)", r"^\top")
            rows.append(rf"{self.gradient(name)} &= \sum_t {total}")
        return rows

    def braced(self, expr: Expr) -> str:
        """In braces where an exponent may follow a subscript."""
        return f"{{{self.expr(expr)}}}" if isinstance(expr, Name) else self.expr(expr)

    def time_rows(self) -> list[str]:
        state, (new, old) = over_time_state(self.eqs), self.about.direct
        s = upright(state)
        sends = [rf"\frac{{\partial L_t}}{{\partial {s}_t}}"] * new
        sends += [rf"\frac{{\partial L_{{t+1}}}}{{\partial {s}_t}}"] * old
        rows = [rf"The losses send $e_t = {' + '.join(sends) or 0}$ straight to ${s}_t$"]
        if len(self.eqs.states) > 1:
            rows[0] += f", where ${s} = ({', '.join(map(latex_name, self.eqs.states))})$"
        chain = rf"\frac{{\partial {s}_t}}{{\partial {s}_p}}"
        rows[0] += ", and so to every earlier step:"
        rows += [r"\["]
        rows += [rf"  \frac{{\partial L}}{{\partial {s}_p}} = \sum_{{t \ge p}} e_t {chain}, \qquad"]
        rows += [
            rf"  {chain} = \prod_{{k=t}}^{{p+1}} \frac{{\partial {s}_k}}{{\partial {s}_{{k-1}}}}"
        ]
        rows += [r"\]"]
        plain, besides = self.about.summed_over_time
        direct = rf"\frac{{\partial^{{+}} {s}_p}}{{\partial w}}"
        total = rf"\frac{{\partial L}}{{\partial w}} = \sum_t \sum_{{p \le t}} e_t {chain} {direct}"
        own = r" + \sum_t \frac{\partial L_t}{\partial y_t} \frac{\partial^{+} y_t}{\partial w}"
        for group, formula in ((plain, total), (besides, total + own)):
            if group:
                rows += [rf"For $w = {', '.join(map(latex_name, group))}$, with $\partial^{{+}}$"]
                rows += ["the dependence within one step alone:", rf"\[ {formula} \]"]
        return rows
