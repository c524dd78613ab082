"""JSON from anybody: a few megabytes of brackets would be gigabytes of lists."""

import json
from typing import Any

MOST = 2_000_000  # values in a text of a run
BESIDE = 4  # more of them for each byte of weights: a model of many n-grams has many weights


def read_json(data: bytes, weights: int = 0) -> Any:
    """The value of a JSON text; a ValueError says in one line why it has none.

    The number of values in it has a limit, which rises with the bytes of weights beside it.
    """
    check_values(data, weights)
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def check_values(data: bytes, weights: int) -> None:
    """Refuses a JSON text of more values than go with so many bytes of weights."""
    most = MOST + BESIDE * weights
    values = sum(data.count(mark) for mark in (b",", b"[", b"{"))
    if values > most:
        raise ValueError(f"it has {values:,} values; at most {most:,} are read")
