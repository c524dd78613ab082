import pytest

from unspool.decode import Normalise
from unspool.decode.normalise import RULES


def test_scores_by_the_formulas() -> None:
    assert Normalise("none").score(-6.0, 4) == -6.0
    assert Normalise("mean").score(-6.0, 4) == -1.5
    assert Normalise("gnmt", 2.0).score(-9.0, 4) == pytest.approx(-4.0)  # (9 / 6)^2
    assert Normalise("gnmt", 0.0).score(-6.0, 4) == -6.0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 3.0])
def test_no_divisor_falls_with_length(rule: str, alpha: float) -> None:
    """What the bound of a beam rests on."""
    divisors = [Normalise(rule, alpha).divisor(length) for length in range(500)]
    assert divisors == sorted(divisors)
    assert divisors[0] > 0
