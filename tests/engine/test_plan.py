"""The plan: what leaves the loop, what waits for whom, what is saved."""

import pytest

import unspool as us
from tests.conformance.table import IDS, TABLE
from unspool.engine.items import Accumulate, Elementwise
from unspool.engine.plan import Loop
from unspool.engine.plan_text import plan_text
from unspool.engine.planning import make_plan

ADJOINT = "∂"


def matrices(items: tuple) -> set[str]:
    sums = [item for item in items if isinstance(item, Accumulate)]
    return {term.matrix for item in sums for term in item.terms}


def test_the_lstm() -> None:
    plan = make_plan(us.cells.LSTM.equations)
    assert matrices(plan.forward.before) == {"W_i", "W_f", "W_g", "W_o"}
    assert matrices(plan.forward.inside) == {"U_i", "U_f", "U_g", "U_o"}
    assert len(plan.forward.levels) == 1
    assert not plan.forward.after
    assert plan.saved == ("i", "f", "g", "o", "c'")
    assert len(plan.backward.levels) == 2
    (level,) = (item for item in plan.backward.levels[1] if isinstance(item, Accumulate))
    assert [term.matrix for term in level.terms] == ["U_o", "U_g", "U_f", "U_i"]
    assert matrices(plan.backward.after) == {"W_i", "W_f", "W_g", "W_o"}


@pytest.mark.parametrize(
    ("kind", "levels"),
    [
        (us.cells.Elman, 1),
        (us.cells.GRUAfter, 1),
        (us.cells.GRU, 2),
        (us.cells.MUT1, 2),
        (us.cells.LSTMProjected, 2),
        (us.cells.LayerNormLSTM, 3),
        (us.cells.MinGRU, 1),
    ],
)
def test_how_often_workers_meet(kind: us.CellType, levels: int) -> None:
    assert len(make_plan(kind.equations).forward.levels) == levels


def test_a_cell_without_recurrent_products_has_none_in_its_loops() -> None:
    for kind in (us.cells.MinGRU, us.cells.IndRNN):
        plan = make_plan(kind.equations)
        assert not matrices(plan.forward.inside)
        assert not matrices(plan.backward.inside)


def test_outputs_that_no_state_needs_wait_until_after_the_loop() -> None:
    plan = make_plan(us.cell("y: o\nh' = tanh(W @ x + U @ h)\ny = V @ h' + b").equations)
    assert matrices(plan.forward.after) == {"V"}
    assert matrices(plan.backward.before) == {"V"}  # its transpose, on all gradients at once


def test_concat_is_split_so_that_the_input_leaves_the_loop() -> None:
    plan = make_plan(us.cell("h' = tanh(W @ concat(x, h) + b)").equations)
    assert matrices(plan.forward.before) == {"W[0..input]"}
    assert matrices(plan.forward.inside) == {"W[input..hidden + input]"}


@pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)
def test_stages_and_levels_are_in_order(kind: us.CellType, sizes: dict[str, int]) -> None:
    """Nothing is read before it is written; whole vectors only from earlier levels."""
    plan = make_plan(kind.equations)

    def check(loop: Loop) -> None:
        made = {item.name for item in loop.items()}
        done: set[str] = set()
        for stage in (loop.before, *loop.levels, loop.after):
            early = set(done)
            for item in stage:
                assert item.reads() & made <= done
                done.add(item.name)
                in_loop = any(stage is level for level in loop.levels)
                if in_loop and not (isinstance(item, Elementwise) and not item.waits):
                    assert item.reads() & made <= early
        assert done == made
        assert len(made) == len(loop.items())

    check(plan.forward)
    check(plan.backward)
    lines = {line.name for line in plan.equations.lines}
    assert lines <= {item.name for item in plan.forward.items()}
    assert {line.name for line in plan.derived.lines} <= {i.name for i in plan.backward.items()}


def test_the_printed_plan_uses_the_words_of_the_explanation() -> None:
    text = plan_text(make_plan(us.cells.GRU.equations))
    assert "    dh' = dys + dh[t+1]\n" in text
    assert "    a_r = q.2 + q.1\n" in text
    assert not any(mark in text for mark in ("∂", ":ys", "h+"))
