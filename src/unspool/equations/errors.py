"""What can be said against a user's equations: an error stops them, a warning lets them pass."""

from typing import NamedTuple

QUOTED = 200  # characters of a line


class Span(NamedTuple):
    """Where something stands in the text: line and columns, counted from 0."""

    line: int
    start: int
    stop: int


class _Remark(Exception):
    """A problem, the line and the place in it, and how to mend it."""

    def __init__(self, problem: str, text: str = "", span: Span | None = None, hint: str = ""):
        self.problem, self.span, self.hint = problem, span, hint
        parts = [problem]
        if span is not None:
            parts[0] = f"line {span.line + 1}: {problem}"
            parts += [f"    {row}" for row in _marked(text.split("\n")[span.line], span)]
        if hint:
            parts.append(hint)
        super().__init__("\n".join(parts))


class EquationError(_Remark, ValueError):
    """What is wrong with a cell's text."""


class EquationWarning(_Remark, UserWarning):
    """What is odd about a cell's text, though it is one."""


def _marked(line: str, span: Span) -> tuple[str, str]:
    """The line, or as much of a long one as stands around the span, and a row that marks it."""
    first = max(0, span.start - QUOTED // 2) if len(line) > QUOTED else 0
    shown = line[first : first + QUOTED].replace("\t", " ")
    start = span.start - first
    width = max(1, min(span.stop - first, len(shown)) - start)
    return shown, " " * start + "^" + "~" * (width - 1)
