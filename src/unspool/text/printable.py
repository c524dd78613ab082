"""Text that is safe to print: files may hold the control sequences of a terminal."""

import re
import sys

_control = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # all but tabs and line ends
LONGEST = 4000  # characters of a message


def printable(text: str) -> str:
    """The text with control characters as escapes such as \\x1b."""
    return _control.sub(lambda found: ascii(found[0])[1:-1], text)


def message(text: str) -> str:
    """A message, which may quote a file: printable, and not too long."""
    return printable(text if len(text) <= LONGEST else text[: LONGEST - 3] + "...")


def show(text: str) -> None:
    """Prints what a model or a file says: as it is into a file, printable on a terminal."""
    print(printable(text) if sys.stdout.isatty() else text)
