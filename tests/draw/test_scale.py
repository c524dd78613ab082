import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from unspool.draw.scale import Linear, Log, fit

NUMBERS = st.floats(-1e9, 1e9).map(lambda v: v if abs(v) > 1e-9 else 0.0)
POSITIVE = st.floats(1e-8, 1e8)


@given(st.lists(NUMBERS, min_size=1), st.booleans())
def test_a_scale_holds_its_values_in_order(values: list[float], widen: bool) -> None:
    scale = fit(values, 100, 20, widen=widen)
    places = [scale(value) for value in sorted(values)]
    assert all(20 - 1e-6 <= place <= 100 + 1e-6 for place in places)
    assert places == sorted(places, reverse=True)


@given(st.lists(POSITIVE, min_size=1), st.booleans())
def test_equal_ratios_are_equal_distances(values: list[float], widen: bool) -> None:
    scale = fit(values, 0, 100, log=True, widen=widen)
    assert all(-1e-6 <= scale(value) <= 100 + 1e-6 for value in values)
    low = scale.low
    assert scale(low * 4) - scale(low * 2) == pytest.approx(scale(low * 2) - scale(low))


@given(st.lists(NUMBERS, min_size=2), st.booleans())
def test_ticks_are_few_and_round_and_said_exactly(values: list[float], widen: bool) -> None:
    assume(max(values) - min(values) > 1e-6 * max(map(abs, values)))
    scale = fit(values, 0, 1, widen=widen)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 8
    steps = [b - a for (a, _), (b, _) in pairwise(ticks)]
    mantissa = f"{steps[0]:.5e}".split("e")[0]
    assert float(mantissa) in (1, 2, 5)
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-4)
    for value, label in ticks:
        assert float(label) == pytest.approx(value, abs=1e-6 * steps[0])
    assert len({label for _, label in ticks}) == len(ticks)
    if widen:
        ends = (scale.low, scale.high)
        assert (ticks[0][0], ticks[-1][0]) == pytest.approx(ends, abs=1e-6 * steps[0])


@given(POSITIVE, POSITIVE)
def test_ticks_of_a_log_scale_lie_on_it(one: float, other: float) -> None:
    scale = fit([one, other], 0, 1, log=True, widen=True)
    ticks = scale.ticks()
    assert isinstance(scale, Log)
    assert 2 <= len(ticks) <= 8
    for value, label in ticks:
        assert -1e-6 <= scale(value) <= 1 + 1e-6
        assert float(label) == pytest.approx(value, rel=1e-9)


def test_whole_numbers_have_whole_ticks() -> None:
    assert [label for _, label in fit([1, 3], 0, 1).ticks(whole=True)] == ["1", "2", "3"]
    assert [label for _, label in Linear(0, 0.3, 0, 1).ticks()] == [
        "0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30",
    ]  # fmt: skip


def test_one_value_stands_in_the_middle() -> None:
    for value in (5.0, 0.0, -3.0, 1e-7):
        assert fit([value], 0, 1)(value) == pytest.approx(0.5)


def test_nothing_has_a_scale_too() -> None:
    assert (fit([], 0, 1).low, fit([], 0, 1, log=True).high) == (0, 10)


def test_no_logarithm_of_zero() -> None:
    for value in (0.0, -1.0):
        with pytest.raises(ValueError, match="values above 0, not"):
            fit([value, 3], 0, 1, log=True)
    assert not math.isnan(fit([1e-300, 1], 0, 1, log=True)(1e-200))
