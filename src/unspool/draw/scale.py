"""Scales: from numbers to places in a picture, and the round numbers to mark on them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from unspool.draw.numbers import plain, scientific, short

Ticks = list[tuple[float, str]]
TICKS = 7
SLACK = 1e-9  # a tick that rounding has moved over an end still belongs to it


@dataclass(frozen=True)
class Linear:
    """place = start + (value - low) / (high - low) * (stop - start)."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, count: int = TICKS, *, whole: bool = False) -> Ticks:
        """The multiples of 1, 2 or 5 times a power of ten, about `count`, and their labels."""
        return _multiples(self.low, self.high, count, whole)


@dataclass(frozen=True)
class Log:
    """place = start + log(value / low) / log(high / low) * (stop - start), all above 0."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, count: int = TICKS, *, whole: bool = False) -> Ticks:
        """Powers of ten; on a short scale 2 and 5 times them too, on a shorter one multiples."""
        first = math.floor(math.log10(self.low))
        powers = [10.0**k for k in range(first, math.ceil(math.log10(self.high)) + 1)]
        if len(self._inside(powers)) < 3:
            powers = [m * power for power in powers for m in (1, 2, 5)]
        marks = [mark for mark in self._inside(powers) if not whole or mark >= 1]
        if len(marks) < 3:
            return _multiples(self.low, self.high, count, whole)
        every = math.ceil(len(marks) / (count + 1))
        return [(mark, short(mark)) for mark in marks[::every]]

    def _inside(self, marks: list[float]) -> list[float]:
        return [m for m in marks if self.low * (1 - SLACK) <= m <= self.high * (1 + SLACK)]


Scale = Linear | Log


def fit(
    values: Iterable[float], start: float, stop: float, *, log: bool = False, widen: bool = False
) -> Scale:
    """The scale that holds these finite values; `widen` carries its ends to round numbers.

    Without any values it goes from 0 to 1, or from 1 to 10.
    """
    found = list(values) or ([1.0, 10.0] if log else [0.0, 1.0])
    low, high = min(found), max(found)
    if log and low <= 0:
        raise ValueError(f"a logarithmic scale holds values above 0, not {low}: use a linear one")
    if high - low <= SLACK * max(abs(low), abs(high)):
        # One value alone stands in the middle.
        room = abs(low) / 10 or 1.0
        low, high = low - room, high + room
    if widen and log and high >= 3 * low:
        low, high = _one_two_five(low, down=True), _one_two_five(high, down=False)
    elif widen:
        # Both ends may move by a step, so with two steps fewer they will be ticks themselves.
        step = _step(high - low, TICKS - 2, whole=False)
        low = math.floor(low / step + SLACK) * step
        high = math.ceil(high / step - SLACK) * step
    return (Log if log else Linear)(low, high, start, stop)


def _multiples(low: float, high: float, count: int, whole: bool) -> Ticks:
    step = _step(high - low, count, whole)
    size = math.floor(math.log10(step) + SLACK)
    first, last = math.ceil(low / step - SLACK), math.floor(high / step + SLACK)
    # Rounded, because 3 * 0.1 is not 0.3; plus 0 because of -0.
    marks = [round(k * step, -size) + 0.0 for k in range(first, last + 1)]
    if size >= -6 and max(map(abs, marks), default=0) < 1e7:
        return [(mark, f"{mark:.{max(0, -size)}f}") for mark in marks]
    return [(mark, _with_exponent(mark, size)) for mark in marks]


def _with_exponent(mark: float, size: int) -> str:
    """Down to the digit in which neighbouring ticks differ."""
    if mark == 0:
        return plain(mark, 0)
    return scientific(mark, math.floor(math.log10(abs(mark))) - size + 1)


def _step(span: float, count: int, whole: bool) -> float:
    wanted = span / count
    power = 10.0 ** math.floor(math.log10(wanted))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= wanted * (1 - SLACK))
    return max(step, 1.0) if whole else step


def _one_two_five(value: float, *, down: bool) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    if down:
        return max(m * power for m in (1, 2, 5) if m == 1 or m * power <= value * (1 + SLACK))
    return min(m * power for m in (1, 2, 5, 10) if m == 10 or m * power >= value * (1 - SLACK))
