from typing import Any

import pytest
import torch

from unspool.cells.state import make_state
from unspool.decode import keep, reorder


def test_live_rows_are_gathered_in_every_nest() -> None:
    h, c, m = torch.randn(3, 4), torch.randn(3), torch.randn(3, 2, 2)
    fixed = torch.randn(3)
    live = ((make_state(("h", "c"), (h, c)), None), [{"m": m}])
    rows = torch.tensor([2, 0, 0, 1])
    (((state, nothing), listed), same) = reorder((live, fixed), rows)
    assert same is fixed
    assert nothing is None
    assert type(state) is type(live[0][0])
    assert state.h.equal(h[rows])
    assert state.c.equal(c[rows])
    assert isinstance(listed, list)
    assert listed[0]["m"].equal(m[rows])


def test_reordering_twice_is_reordering_by_both() -> None:
    live, a, b = torch.randn(5, 2), torch.randint(5, (4,)), torch.randint(4, (6,))
    twice, _ = reorder(reorder((live, None), a), b)
    assert twice.equal(reorder((live, None), a[b])[0])


@pytest.mark.parametrize("part", [3, "state", {1, 2}])
def test_what_is_no_state_is_named(part: Any) -> None:
    with pytest.raises(ValueError, match=f"{type(part).__name__} is none of them"):
        reorder(((part,), None), torch.tensor([0]))


def test_keeping_sentences_gathers_both_parts() -> None:
    live, memory, lengths = torch.randn(6, 2), torch.randn(3, 4), torch.tensor([1, 2, 3])
    rows, sentences = torch.tensor([4, 5, 0, 1]), torch.tensor([2, 0])
    kept, fixed = keep((live, {"memory": memory, "rest": (lengths, None)}), rows, sentences)
    assert kept.equal(live[rows])
    assert fixed["memory"].equal(memory[sentences])
    assert fixed["rest"][0].equal(lengths[sentences])
    assert fixed["rest"][1] is None


def test_what_cannot_be_kept_is_named() -> None:
    with pytest.raises(ValueError, match=r"fixed state .* int is none of them: let the step"):
        keep((torch.zeros(1), (3,)), torch.tensor([0]), torch.tensor([0]))
