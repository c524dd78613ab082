"""A cell's text as logical lines that Python's grammar can read, each place in it still known.

Two replacements keep every column where it was: a prime becomes a letter-like character, and the
first letter of a Python keyword its mathematical twin, which Python's parser turns back.
"""

import ast
import keyword
import re
from collections.abc import Iterator

from unspool.equations import elsewhere, limits
from unspool.equations.errors import EquationError, Span

NUMBER_AND_LETTERS = r"(?<![\w.])((?>\d+\.?\d*(?:[eE][+-]?\d+)?))([^\W\d]\w*)"
PRIME = "\u02b9"  # a letter to Python; users type ', or paste one of its look-alikes
PRIMES = "'\u2019\u2032" + PRIME


class LogicalLine:
    """One statement, over as many lines of the text as its brackets stay open."""

    def __init__(self, text: str, first: int, lines: list[str]):
        self.text, self.first = text, first
        self.indent = len(lines[0]) - len(lines[0].lstrip())
        self.given = [lines[0].lstrip(), *lines[1:]]
        self.lines = [_disguise(line) for line in self.given]

    def tree(self) -> ast.stmt:
        for row, line in enumerate(self.lines):
            if match := re.search(NUMBER_AND_LETTERS, line):
                raise self.error(
                    f"{match.group()!r} is neither a number nor a name",
                    self.place(row, match.start(), match.end()),
                    f"to multiply, write {match[1]} * {match[2]}; a name starts with a letter",
                )
        try:
            return ast.parse("\n".join(self.lines)).body[0]
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self._diagnose(error) from None

    def place(self, row: int, start: int, stop: int) -> Span:
        """The span of some columns of one of the lines."""
        shift = self.indent if row == 0 else 0
        return Span(self.first + row, start + shift, stop + shift)

    def span(self, node: ast.expr | ast.stmt) -> Span:
        row = node.lineno - 1
        line = self.lines[row].encode()  # ast counts columns in bytes
        last = node.end_col_offset if node.end_lineno == node.lineno else None
        start, stop = (len(line[:byte].decode()) for byte in (node.col_offset, last))
        return self.place(row, start, stop)

    def error(self, problem: str, where: ast.expr | ast.stmt | Span, hint: str) -> EquationError:
        span = where if isinstance(where, Span) else self.span(where)
        return EquationError(problem, self.text, span, hint)

    def _diagnose(self, error: Exception) -> EquationError:
        """Why Python's grammar refused the line, said in the language's own terms."""
        whole, last = "\n".join(self.lines), len(self.lines) - 1
        end = self.place(last, max(len(self.lines[last]) - 1, 0), len(self.lines[last]))
        if isinstance(error, RecursionError | MemoryError):
            return self.error("this is nested too deeply", end, "name parts on lines of their own")
        if foreign := self._foreign():
            return foreign
        if re.search(r"=\s*$", whole):
            return self.error("nothing stands right of `=`", end, "write an expression after it")
        if whole.startswith("="):
            return self.error("nothing stands left of `=`", self.place(0, 0, 1), "write h' = ...")
        if re.search(r"[-+*/@,:.]\s*$", whole):
            hint = "write what follows; inside brackets an expression may go on in the next line"
            return self.error("the line ends in the middle of an expression", end, hint)
        for row, line in enumerate(self.lines):
            if match := re.search(r"\b\w++\s++\w++|\)\s*[\w(]", line):
                pair = self.given[row][slice(*match.span())].split()
                place = self.place(row, match.start(), match.end())
                return self.error("an operator is missing here", place, elsewhere.between(pair))
        row = min((getattr(error, "lineno", None) or 1) - 1, last)
        column = max((getattr(error, "offset", None) or 1) - 1, 0)
        column = min(column, max(len(self.lines[row]) - 1, 0))
        hint = "expected `name = expression` with + - * / ** @, brackets and functions"
        return self.error(
            "this cannot be read as an equation", self.place(row, column, column + 1), hint
        )

    def _foreign(self) -> EquationError | None:
        """What is right in another notation: h(t) = ..., h := ..., a if b else c."""
        if match := re.match(r"(\w+)\(([^()]*)\)\s*=", self.given[0]):
            problem, step = "the left side of an equation is one name", match[2].strip()
            hint = elsewhere.about_step(match[1], step) if step[:1] == "t" else "write h' = ..."
            return self.error(problem, self.place(0, 0, match.end(2) + 1), hint)
        for row, line in enumerate(self.given):
            if (column := line.find(":=")) >= 0:
                place = self.place(row, column, column + 2)
                return self.error("an equation has a plain `=`", place, "write `name = ...`")
            if found := elsewhere.about_keyword(line):
                word, start, hint = found
                place = self.place(row, start, start + len(word))
                return self.error(f"there is no `{word}` in the language", place, hint)
        return None


def logical_lines(text: str) -> Iterator[LogicalLine]:
    """The text without comments, its lines joined while a bracket is open."""
    opened: list[Span] = []
    started: tuple[int, list[str]] | None = None
    for number, raw in enumerate(text.split("\n")):
        line = raw.split("#", 1)[0].rstrip()
        if started is not None:
            started[1].append(line)
        elif line.strip():
            _check_statement(text, line, number)
            started = (number, [line])
        for column, char in enumerate(line):
            _check_character(text, line, number, column)
            _check_bracket(text, char, Span(number, column, column + 1), opened)
        if started is not None and not opened:
            yield _checked_length(LogicalLine(text, *started))
            started = None
    if opened:
        raise EquationError("this bracket is never closed", text, opened[-1], "add the missing `)`")


def _checked_length(line: LogicalLine) -> LogicalLine:
    length = sum(map(len, line.lines))
    if length > limits.LINE:
        problem = f"this line has {length:,} characters; {limits.LINE:,} are allowed"
        raise line.error(problem, line.place(0, 0, 1), "name parts of it on lines of their own")
    return line


def _check_statement(text: str, line: str, number: int) -> None:
    if found := elsewhere.about_statement(line):
        problem, hint = found
        start = len(line) - len(line.lstrip())
        stop = start + len(re.split(r"\W", line.lstrip(), maxsplit=1)[0])
        raise EquationError(problem, text, Span(number, start, stop), hint)


def _check_bracket(text: str, char: str, span: Span, opened: list[Span]) -> None:
    if char == "(":
        opened.append(span)
        if len(opened) > limits.DEPTH:
            hint = "name a part of it on a line of its own"
            raise EquationError(f"brackets are nested over {limits.DEPTH} deep", text, span, hint)
    elif char == ")":
        if not opened:
            raise EquationError("this bracket closes nothing", text, span, "remove it")
        opened.pop()


def _check_character(text: str, line: str, number: int, column: int) -> None:
    char, span = line[column], Span(number, column, column + 1)
    before = line[column - 1] if column else " "
    if char in PRIMES:
        if before in PRIMES:
            hint = "a step knows its own new state (h') and the previous one (h)"
            raise EquationError("a name takes one prime", text, span, hint)
        if not (before.isalnum() or before == "_"):
            hint = "write the new state as h'; the language has no strings"
            raise EquationError("a prime follows a name directly", text, span, hint)
    elif char in elsewhere.REFUSED or not (
        char.isidentifier() or char.isdecimal() or char in " \t+-*/@()=:,."
    ):
        hint = elsewhere.about_character(line, column)
        hint = hint or "letters, digits, + - * / ** @ ( ) , = and ' make up an equation"
        shown = f"'{char}'" if char.isprintable() else repr(char)
        raise EquationError(f"{shown} is not part of the language", text, span, hint)


def _disguise(line: str) -> str:
    """The line as Python can parse it, every character in its column."""
    for prime in PRIMES:
        line = line.replace(prime, PRIME)

    def twin(match: re.Match[str]) -> str:
        word = match.group()
        if not keyword.iskeyword(word):
            return word
        base = 0x1D400 - ord("A") if word[0].isupper() else 0x1D41A - ord("a")
        return chr(base + ord(word[0])) + word[1:]

    return re.sub(r"\w+", twin, line)
