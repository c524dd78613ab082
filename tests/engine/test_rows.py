"""What runs for all steps at once: products and sums that are one where they can be."""

import torch

import unspool as us
from tests.counting import Counted
from tests.engine.side_by_side import programs
from unspool.engine import cuda
from unspool.engine.planning import make_plan
from unspool.engine.rows import Together, arranged, side_by_side, together
from unspool.engine.triton_spec import Tiles


def test_neighbours_are_one_without_a_copy() -> None:
    whole = torch.randn(3, 9)
    parts = whole[:, 1:].split([2, 2, 4], 1)
    wide = side_by_side(parts)
    assert wide is not None
    assert wide.data_ptr() == parts[0].data_ptr()
    assert wide.equal(whole[:, 1:])
    assert side_by_side(parts[::-1]) is None
    assert side_by_side([whole[:, :2], whole[:, 3:5]]) is None
    assert side_by_side([whole[:, :2], torch.randn(3, 9)[:, 2:4]]) is None
    line = torch.randn(8)
    flat = [line[:4, None].expand(4, 4), line[4:, None].expand(4, 4)]
    assert side_by_side(flat) is None, "entries that are one in memory"


def test_what_was_joined_stands_side_by_side() -> None:
    env = {"a": torch.randn(4, 3), "b": torch.randn(4, 2), "v": torch.randn(5), "rows": 4}
    before = dict(env)
    names = ["b", "a", "v"]
    wide = together(env, names, torch.float32)
    assert wide.equal(torch.cat([env["b"], env["a"], before["v"].expand(4, 5)], -1))
    assert env["a"].equal(before["a"])
    assert together(env, names, torch.float32).data_ptr() == wide.data_ptr()
    assert together(env, names, torch.bfloat16).equal(wide.bfloat16())
    assert env["a"].dtype == torch.float32, "digits stay for whoever wants them"


def test_sums_that_read_one_vector_are_one_product() -> None:
    plan = make_plan(us.cells.LSTM.equations)
    (products,) = [one for one in arranged(plan.forward.before) if isinstance(one, Together)]
    assert len(products.sums) == 4
    names = [getattr(one, "name", None) for one in arranged(plan.backward.inside)]
    order = [item.name for item in plan.backward.inside if item.name in names]
    assert order == [name for name in names if name], "the others stay in their order"


def test_gates_of_a_kernel_are_added_up_together() -> None:
    """Two products for the matrices' gradients, one sum for all biases."""
    cell = us.cells.LSTM(16, 16)
    with programs(Tiles(16, 2, ((16, 8),), 16, 1, 4)):
        ys, _ = us.unfold(cell, torch.randn(4, 2, 16), backend="cuda")
        with Counted() as counted:
            torch.autograd.grad(ys, [*cell.parameters()], torch.ones_like(ys))
    assert counted.calls["mm"] == 2
    assert counted.calls["sum"] == 1
    assert counted.calls["cat"] == 0


def test_two_biases_of_one_gate_have_gradients_of_their_own() -> None:
    cell = us.cell("h' = tanh(W @ x + U @ h + a + b)")(3, 4)
    ys, _ = us.unfold(cell, torch.randn(5, 2, 3), backend="planned")
    a, b = torch.autograd.grad(ys.sum(), [cell.parameter("a"), cell.parameter("b")])
    assert a.equal(b)
    a.zero_()
    assert b.any()


def test_batches_of_nearly_as_many_rows_share_their_kernels() -> None:
    cell = us.cells.Elman(3, 16)
    with programs():
        for rows in (17, 20, 31):
            us.unfold(cell, torch.randn(2, rows, 3), backend="cuda")
        assert cuda._loop_of.cache_info().misses == 1
        us.unfold(cell, torch.randn(2, 33, 3), backend="cuda")
        assert cuda._loop_of.cache_info().misses == 2
