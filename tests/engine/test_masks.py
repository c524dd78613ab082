"""Zoneout, variational dropout and weight dropout: what each mask does, by the graph."""

import pytest
import torch

import unspool as us
from unspool.engine.masks import chance, keep_mask, quantised
from unspool.equations.rewrite import recurrent_operands
from unspool.layers.drop import Drop


def test_zoneout_keeps_where_the_mask_is_one() -> None:
    cell, xs = us.cells.LSTM(3, 4), torch.randn(6, 2, 3)
    keep = {name: (torch.rand(6, 2, 4) < 0.5).float() for name in "hc"}
    start = [torch.randn(2, 4), torch.randn(2, 4)]
    ys, last, lines = us.unfold(cell, xs, start, masks=us.Masks(keep), record=("h", "c", "o", "i"))
    assert ys.equal(lines["h"])
    for name, first in zip("hc", start, strict=True):
        before = torch.cat((first[None], lines[name][:-1]))
        kept = keep[name] == 1
        assert lines[name][kept].equal(before[kept])
        assert not lines[name][~kept].eq(before[~kept]).any()
    assert last.h.equal(ys[-1])


def test_other_lines_see_the_state_before_zoneout() -> None:
    """With c kept for ever, h still reads the memory that the step computed."""
    cell, xs = us.cells.LSTM(3, 4), torch.randn(1, 2, 3)
    start = [torch.randn(2, 4), torch.randn(2, 4)]
    plain, new = us.unfold(cell, xs, start)
    kept, last = us.unfold(cell, xs, start, masks=us.Masks({"c": torch.ones(1, 2, 4)}))
    assert last.c.equal(start[1])
    assert not new.c.equal(start[1])
    assert kept.equal(plain)


def test_a_number_mixes_old_and_new() -> None:
    cell, xs = us.cells.Elman(3, 4), torch.randn(1, 2, 3)
    start = [torch.randn(2, 4)]
    plain, _ = us.unfold(cell, xs, start)
    mixed, _ = us.unfold(cell, xs, start, masks=us.expected_masks(cell, 0.25))
    torch.testing.assert_close(mixed[0], 0.25 * start[0] + 0.75 * plain[0])


@pytest.mark.parametrize(
    ("kind", "operands"),
    [
        (us.cells.LSTM, ["h"]),
        (us.cells.GRU, ["h", "r * h"]),
        (us.cells.MUT3, ["tanh(h)", "h", "r * h"]),
        (us.cells.PeepholeFull, ["h", "c"]),
        (us.cells.LSTMProjected, ["h", "o * tanh(c')"]),
        (us.cells.MinGRU, []),
        (us.cell("h' = tanh(W @ concat(x, h) + b)"), ["h"]),
    ],
)
def test_recurrent_is_what_depends_on_a_state(kind: us.CellType, operands: list[str]) -> None:
    assert list(recurrent_operands(kind.equations)) == operands


def test_variational_masks_are_the_same_at_every_step() -> None:
    """Dropping a unit for recurrent products = a recurrent matrix without its column."""
    cell, xs = us.cells.Elman(3, 4), torch.randn(6, 1, 3)
    mask = torch.tensor([[2.0, 0.0, 2.0, 2.0]])
    dropped, _ = us.unfold(cell, xs, masks=us.Masks(operands={"h": mask}))
    with torch.no_grad():
        cell.parameter("U").mul_(mask)
    torch.testing.assert_close(dropped, us.unfold(cell, xs)[0])


def test_each_row_has_its_own_variational_mask() -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(6, 3, 3)
    masks = us.draw_masks(cell, xs, recurrent=0.5)
    ys, _ = us.unfold(cell, xs, masks=masks, lengths=[6, 2, 4])
    for b, length in enumerate((6, 2, 4)):
        alone = us.Masks(operands={k: m[b : b + 1] for k, m in masks.operands.items()})
        torch.testing.assert_close(
            us.unfold(cell, xs[:length, b : b + 1], masks=alone)[0], ys[:length, b : b + 1]
        )


def test_weight_masks_spare_what_reads_the_input() -> None:
    cell = us.cell("h' = tanh(W @ concat(x, h) + V @ x + U @ h)")(3, 4)
    masks = us.draw_masks(cell, torch.zeros(1, 1, 3), weights=0.5).weights
    assert set(masks) == {"W", "U"}
    assert masks["W"][:, :3].eq(1).all()
    assert set(masks["W"][:, 3:].unique().tolist()) == {0.0, 2.0}


def test_a_matrix_on_input_and_state_is_dropped_too() -> None:
    cell = us.cell("h' = tanh(W @ x + W @ h)")(4, 4)
    assert us.draw_masks(cell, torch.zeros(1, 1, 4), weights=0.5).weights["W"].eq(0).any()


def test_masks_may_be_of_other_types() -> None:
    cell, xs = us.cells.GRU(3, 4), torch.randn(6, 2, 3)
    keep = torch.rand(6, 2, 4) < 0.5
    ys, _ = us.unfold(cell, xs, masks=us.Masks({"h": keep}))
    for other in (keep.float(), keep.double()):
        assert us.unfold(cell, xs, masks=us.Masks({"h": other}))[0].equal(ys)


def test_weight_masks_drop_entries() -> None:
    cell, xs = us.cells.LSTM(3, 4), torch.randn(6, 2, 3)
    masks = us.draw_masks(cell, xs, weights=0.5)
    assert set(masks.weights) == {"U_i", "U_f", "U_g", "U_o"}
    dropped, _ = us.unfold(cell, xs, masks=masks)
    with torch.no_grad():
        for name, mask in masks.weights.items():
            cell.parameter(name).mul_(mask)
    torch.testing.assert_close(dropped, us.unfold(cell, xs)[0])


def test_drawn_masks_have_the_right_shares() -> None:
    cell, xs = us.cells.GRU(3, 100), torch.randn(20, 30, 3)
    masks = us.draw_masks(cell, xs, zoneout=0.1, recurrent=0.2, weights=0.3)
    (keep,) = masks.keep.values()
    assert isinstance(keep, torch.Tensor)
    assert keep.shape == (20, 30, 100)
    assert keep.mean().item() == pytest.approx(0.1, abs=0.01)
    for mask, p in ((masks.operands["r * h"], 0.2), (masks.weights["U_n"], 0.3)):
        assert (mask == 0).float().mean().item() == pytest.approx(p, abs=0.03)
        assert mask.max().item() == pytest.approx(1 / quantised(1 - p))


@pytest.mark.parametrize("p", [-0.1, 1.0])
def test_probabilities_are_checked(p: float) -> None:
    with pytest.raises(ValueError, match="recurrent is a probability, at least 0 and below 1"):
        us.draw_masks(us.cells.GRU(3, 4), torch.zeros(1, 1, 3), recurrent=p)


@pytest.mark.parametrize("p", [0.0, 1e-5, 0.001, 0.3, 0.5, 0.97, 0.9999, 1.0])
def test_chances_are_what_they_say(p: float) -> None:
    """The share, in every place within the 64 bits that four entries come from."""
    torch.manual_seed(0)
    found = chance((250_001, 4), p, torch.zeros(()))
    assert found.dtype == torch.bool
    spread = (p * (1 - p) / 250_001) ** 0.5
    assert quantised(p) == pytest.approx(p, abs=2**-17)
    for share in found.double().mean(0).tolist():
        assert share == pytest.approx(quantised(p), abs=5 * spread)


def test_chances_of_neighbours_are_independent() -> None:
    torch.manual_seed(0)
    entries = chance((40_000, 8), 0.4, torch.zeros(())).double()
    assert (torch.corrcoef(entries.t()) - torch.eye(8)).abs().max() < 0.03


def test_drop_keeps_the_mean_and_is_off_in_evaluation() -> None:
    torch.manual_seed(0)
    xs = torch.ones(300, 400, requires_grad=True)
    layer = Drop(0.3)
    ys = layer(xs)
    assert ys.unique().tolist() == pytest.approx([0, 1 / quantised(0.7)])
    assert ys.mean().item() == pytest.approx(1, abs=0.02)
    ys.sum().backward()
    assert xs.grad is not None
    assert xs.grad.equal(ys.detach())
    assert layer.eval()(xs) is xs


@pytest.mark.parametrize("p", [0.001, 0.3, 0.9, 0.999])
def test_what_is_kept_makes_up_for_what_is_not(p: float) -> None:
    torch.manual_seed(0)
    mean = keep_mask((1000, 1000), p, torch.zeros(())).double().mean().item()
    assert mean == pytest.approx(1, abs=5 * (p / (1 - p) / 1e6) ** 0.5)
