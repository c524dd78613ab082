"""One JSON object on one line: its members, and the line with some of them replaced."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unspool.data.files import DataError

_space = re.compile(r"[ \t\n\r]*")
_number = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_half_a_pair = re.compile("[\ud800-\udfff]")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class Member:
    """A value, its text, and where in the line that text stands."""

    value: Any
    raw: str
    start: int


def members(line: str, where: str) -> dict[str, Member]:
    """The members of the object that the line holds."""
    try:
        whole = json.loads(line)
    except RecursionError:
        raise DataError(f"{where}: JSON nested too deeply") from None
    except json.JSONDecodeError as error:
        hint = "jsonl is one object on each line"
        if line.lstrip().startswith("["):
            hint += "; a list of objects becomes that with: jq -c '.[]'"
        raise DataError(
            f"{where}: not JSON: {error.msg} at character {error.colno} ({hint})"
        ) from None
    except ValueError:  # Python reads numbers of some thousand digits, and no longer ones
        raise DataError(f"{where}: a number there has too many digits") from None
    if not isinstance(whole, dict):
        raise DataError(f"{where}: one JSON object on each line is expected: {line[:40]}")
    found, position = {}, _skip(line, line.index("{") + 1)
    while line[position] != "}":
        key, position = _decode(line, position)
        if key in found:
            raise DataError(f"{where}: the key {key!r} stands twice in one object")
        start = _skip(line, _skip(line, position) + 1)
        value, end = _decode(line, start)
        found[key] = Member(value, line[start:end], start)
        position = _skip(line, end)
        if line[position] == ",":
            position = _skip(line, position + 1)
    return found


def put(line: str, changes: Mapping[str, str]) -> str:
    """The line with members replaced or appended, their values given as JSON; the rest stays.

    Reading and printing the whole object would also change its spacing, numbers and escapes.
    """
    found = members(line, "the line")
    known = [(found[key], value) for key, value in changes.items() if key in found]
    for member, value in sorted(known, key=lambda pair: -pair[0].start):
        line = line[: member.start] + value + line[member.start + len(member.raw) :]
    added = [f"{json.dumps(k)}: {value}" for k, value in changes.items() if k not in found]
    if not added:
        return line
    close = line.rindex("}")
    body = line[:close].rstrip()
    return body + ", " * bool(found) + ", ".join(added) + line[len(body) :]


def string(value: Any, what: str, where: str) -> str:
    """The value, checked to be a string that UTF-8 can hold."""
    if not isinstance(value, str):
        raise DataError(f"{where}: {what} is a string, not {json.dumps(value)[:40]}")
    if _half_a_pair.search(value):
        raise DataError(f"{where}: {what} holds half of a surrogate pair, which is no character")
    return value


def scalar(value: Any, raw: str, what: str, where: str) -> str:
    """A string itself, a number or a truth value as its text."""
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{where}: {what} is {raw}, which is no number: write null or a text")
    return raw if isinstance(value, int | float) else string(value, what, where)


def as_json(text: str, like: Any = "") -> str:
    """The text as a JSON value of the kind of `like` where it can be, else as a string."""
    plain = _number.fullmatch(text) or text in ("true", "false")
    if isinstance(like, int | float) and plain:
        return text
    return json.dumps(text, ensure_ascii=False)


def _skip(line: str, position: int) -> int:
    match = _space.match(line, position)
    assert match is not None
    return match.end()
