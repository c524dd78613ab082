"""What holds for every cell: rows do not see each other, padding changes nothing, states carry."""

import copy
import io
import pickle

import pytest
import torch
from torch import Tensor

import unspool as us
from tests.conformance.table import IDS, TABLE, build, inputs

every_cell = pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)


def gradients(loss: Tensor, cell: us.Cell, xs: Tensor, state: list[Tensor]) -> list[Tensor]:
    wanted = [xs, *state, *cell.parameters()]
    found = torch.autograd.grad(loss, wanted, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(w) if g is None else g for w, g in zip(wanted, found, strict=True)]


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_every_cell_is_in_the_table() -> None:
    assert set(us.cells.named()) <= set(IDS)
    assert len(IDS) == len(set(IDS))


@every_cell
def test_a_batch_is_its_rows(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell)
    ys, last = us.unfold(cell, xs, state)
    for b in range(xs.shape[1]):
        rows = slice(b, b + 1)
        alone, end = us.unfold(cell, xs[:, rows], [value[rows] for value in state])
        close(alone, ys[:, rows])
        for one, all_rows in zip(end, last, strict=True):
            close(one, all_rows[rows])


@every_cell
@pytest.mark.parametrize("reverse", [False, True])
def test_padding_changes_nothing(kind: us.CellType, sizes: dict[str, int], reverse: bool) -> None:
    """Each row is as if it were alone and not padded: outputs, states, every gradient."""
    cell = build(kind, sizes)
    lengths = [3, 5, 0, 1]
    xs, state = inputs(cell, T=5, B=4)
    with torch.no_grad():
        for b, length in enumerate(lengths):
            xs[length:, b] = float("nan")
    ys, last = us.unfold(cell, xs, state, lengths=torch.tensor(lengths), reverse=reverse)
    weights = torch.randn_like(ys)
    loss = (ys * weights).sum() + sum(value.sin().sum() for value in last)
    expected = torch.zeros(())
    for b, length in enumerate(lengths):
        alone, end = us.unfold(
            cell, xs[:length, b : b + 1], [v[b : b + 1] for v in state], reverse=reverse
        )
        close(ys[:length, b : b + 1], alone)
        assert not ys[length:, b].any()
        for one, all_rows in zip(end, last, strict=True):
            close(one[0], all_rows[b])
        expected = expected + (alone * weights[:length, b : b + 1]).sum()
        expected = expected + sum(value.sin().sum() for value in end)
    for ours, theirs in zip(
        gradients(loss, cell, xs, state), gradients(expected, cell, xs, state), strict=True
    ):
        assert torch.isfinite(ours).all()
        close(ours, theirs)


@every_cell
def test_a_split_sequence_is_the_whole(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=7)
    ys, last = us.unfold(cell, xs, state)
    first, between = us.unfold(cell, xs[:3], state)
    second, end = us.unfold(cell, xs[3:], between)
    close(torch.cat((first, second)), ys)
    for one, other in zip(end, last, strict=True):
        close(one, other)


@every_cell
def test_truncation_carries_the_state_and_cuts_the_gradient(
    kind: us.CellType, sizes: dict[str, int]
) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell, T=6)
    carried, chunks = state, []
    for chunk in xs.split(2):
        ys, carried = us.unfold(cell, chunk, us.detach(carried))
        chunks.append(ys)
    close(torch.cat(chunks), us.unfold(cell, xs, state)[0])
    grads = gradients(torch.cat(chunks).sum(), cell, xs, state)
    assert not any(g.any() for g in grads[1 : 1 + len(state)])
    _, before = us.unfold(cell, xs[:4], state)
    ys, _ = us.unfold(cell, xs[4:], us.detach(before))
    close(grads[0][4:], gradients(ys.sum(), cell, xs, state)[0][4:])


@every_cell
def test_unfold_is_one_step_after_the_other(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell)
    ys, last = us.unfold(cell, xs, state)
    values, steps = state, []
    for x in xs:
        y, values = cell(x, values)
        steps.append(y)
    close(torch.stack(steps), ys)
    for one, other in zip(values, last, strict=True):
        close(one, other)


@every_cell
def test_reverse_is_the_sequence_backwards(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell)
    ys, last = us.unfold(cell, xs, state, reverse=True)
    flipped, end = us.unfold(cell, xs.flip(0), state)
    close(ys, flipped.flip(0))
    for one, other in zip(last, end, strict=True):
        close(one, other)


@every_cell
def test_every_line_can_be_recorded(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell, B=2)
    names = cell.equations.recordable
    ys, last, lines = us.unfold(cell, xs, state, lengths=[5, 2], record=names)
    assert tuple(lines) == names
    output = cell.equations.output.removesuffix("'")
    assert torch.equal(lines[output], ys)
    for name, end in zip(cell.state_sizes, last, strict=True):
        assert torch.equal(lines[name][4, 0], end[0])
        assert torch.equal(lines[name][1, 1], end[1])
        assert not lines[name][2:, 1].any()
    assert all(value.requires_grad for value in lines.values())


@every_cell
def test_save_then_load_is_the_same(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell)
    assert tuple(cell.state_dict()) == kind.equations.parameters
    assert all(parameter.is_leaf for parameter in cell.parameters())
    other = us.Cell(kind, sizes).double()
    file = io.BytesIO()
    torch.save(cell.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    expected, last = us.unfold(cell, xs, state)
    for again in (other, copy.deepcopy(cell)):
        assert torch.equal(us.unfold(again, xs, state)[0], expected)
    again = pickle.loads(pickle.dumps(cell))
    close(us.unfold(again, xs, state)[0], expected)
    thawed = pickle.loads(pickle.dumps(us.detach(last)))
    assert thawed._fields == last._fields
    assert type(thawed) is type(last)


@every_cell
def test_nothing_to_do_is_right(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell)
    ys, last, lines = us.unfold(cell, xs[:0], state, record=tuple(cell.state_sizes))
    assert ys.shape == (0, 3, cell.output_size)
    assert all(torch.equal(a, b) for a, b in zip(last, state, strict=True))
    assert all(lines[name].shape == (0, 3, n) for name, n in cell.state_sizes.items())
    ys, last = us.unfold(cell, xs[:, :0], [value[:0] for value in state])
    assert ys.shape == (5, 0, cell.output_size)
    ys, last = us.unfold(cell, xs, state, lengths=[0, 0, 0])
    assert not ys.any()
    assert all(torch.equal(a, b) for a, b in zip(last, state, strict=True))


@every_cell
def test_strides_do_not_matter(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell)
    odd = xs.detach().permute(2, 1, 0).contiguous().permute(2, 1, 0)
    assert not odd.is_contiguous()
    close(us.unfold(cell, odd, state)[0], us.unfold(cell, xs, state)[0])


@every_cell
def test_the_start_is_zero_unless_given(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = build(kind, sizes)
    xs, state = inputs(cell)
    zeros = [torch.zeros_like(value) for value in state]
    assert torch.equal(us.unfold(cell, xs)[0], us.unfold(cell, xs, zeros)[0])
    assert not torch.equal(us.unfold(cell, xs)[0], us.unfold(cell, xs, state)[0])
