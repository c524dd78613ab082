"""The memory task: what is trained remembers, and every line was looked at."""

import unspool as us
from unspool.lab import learn_first_symbol


def test_a_gru_remembers_the_first_symbol() -> None:
    heard: list[int] = []

    def hear(update: int, loss: float) -> None:
        heard.append(update)

    run = learn_first_symbol(us.cells.GRU, steps=5, symbols=4, updates=120, on_update=hear)
    assert heard == list(range(1, 121))
    assert len(run.losses) == 120
    assert run.accuracy > 0.9
    assert set(run.lines) == set(run.cell.equations.recordable)
    assert all(means.shape == (5,) for means in run.lines.values())
