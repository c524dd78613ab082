"""The one error a user's equations can cause."""

from typing import NamedTuple


class Span(NamedTuple):
    """Where something stands in the text: line and columns, counted from 0."""

    line: int
    start: int
    stop: int


class EquationError(ValueError):
    """What is wrong with a cell's text: the line, the place in it, and how to mend it."""

    def __init__(self, problem: str, text: str = "", span: Span | None = None, hint: str = ""):
        self.problem, self.span, self.hint = problem, span, hint
        parts = [problem]
        if span is not None:
            line = text.split("\n")[span.line].replace("\t", " ")
            width = max(1, min(span.stop, len(line)) - span.start)
            parts[0] = f"line {span.line + 1}: {problem}"
            parts += [f"    {line}", "    " + " " * span.start + "^" + "~" * (width - 1)]
        if hint:
            parts.append(hint)
        super().__init__("\n".join(parts))
