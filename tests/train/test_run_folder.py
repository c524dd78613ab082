"""The folder of a run, read back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.train.kill import KINDS
from unspool.train.checkpoint import read_packed
from unspool.train.fit import WEIGHTS
from unspool.train.run_folder import load
from unspool.train.runs import train
from unspool.train.tasks import Config


@pytest.mark.parametrize("make", KINDS)
def test_a_run_is_read_back_with_its_best_weights(
    tmp_path: Path, make: Callable[..., Config]
) -> None:
    out = tmp_path / "run"
    train(make(tmp_path, epochs=1), out)
    weights = read_packed(out / WEIGHTS)
    model = load(out)
    assert model.state_dict().keys() == weights.keys()
    assert all(value.equal(weights[name]) for name, value in model.state_dict().items())
    assert not any(value.is_meta for value in [*model.parameters(), *model.buffers()])
