"""Five stops at random moments; `python -m tests.train.kill` does more."""

import random
from pathlib import Path

import pytest

from tests.train.kill import disturbed
from tests.train.toy import classify, language


@pytest.mark.parametrize(("make", "times"), [(classify, 2), (language, 3)])
def test_a_killed_run_ends_with_the_same_bits(tmp_path: Path, make: object, times: int) -> None:
    met, _ = disturbed(make, times, tmp_path, random.Random(times))
    assert met  # at least one kill came in time to do harm
