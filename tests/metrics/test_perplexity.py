import math
import random
from collections.abc import Callable

import pytest

from unspool.metrics import bits_per_character, perplexity


def test_equally_likely_tokens_are_their_own_perplexity() -> None:
    for choices in (1, 2, 27, 50_000):
        assert perplexity(13 * math.log(choices), 13) == pytest.approx(choices)


def test_perplexity_is_the_geometric_mean_of_1_over_p() -> None:
    rng = random.Random(0)
    probs = [rng.random() for _ in range(9)]
    nats = -sum(math.log(p) for p in probs)
    assert perplexity(nats, 9) == pytest.approx(math.prod(1 / p for p in probs) ** (1 / 9))


def test_bits_are_halvings() -> None:
    assert bits_per_character(-math.log(0.5**24), 8) == pytest.approx(3)


def test_perplexity_beyond_all_numbers_is_infinite() -> None:
    assert perplexity(1e6, 1) == math.inf
    assert perplexity(math.inf, 1) == math.inf


@pytest.mark.parametrize("metric", [perplexity, bits_per_character])
def test_no_text_has_no_cost(metric: Callable[[float, int], float]) -> None:
    with pytest.raises(ValueError, match=r"a text of 0 \w+ has no cost"):
        metric(0.0, 0)
