"""The one error a user's equations can cause."""

from typing import NamedTuple

QUOTED = 200  # characters of a line


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
            parts[0] = f"line {span.line + 1}: {problem}"
            parts += [f"    {row}" for row in _marked(text.split("\n")[span.line], span)]
        if hint:
            parts.append(hint)
        super().__init__("\n".join(parts))


def _marked(line: str, span: Span) -> tuple[str, str]:
    """The line, or as much of a long one as stands around the span, and a row that marks it."""
    first = max(0, span.start - QUOTED // 2) if len(line) > QUOTED else 0
    shown = line[first : first + QUOTED].replace("\t", " ")
    start = span.start - first
    width = max(1, min(span.stop - first, len(shown)) - start)
    return shown, " " * start + "^" + "~" * (width - 1)
