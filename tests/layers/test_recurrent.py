"""Stacks: sizes, directions, merges, skips, dropout of every kind, learned starts."""

from typing import Any, cast

import pytest
import torch

import unspool as us
from tests.conformance.table import IDS, TABLE

CELLS = [(k, s) for k, s in TABLE if s["input"] != s["hidden"]]
CELL_IDS = [k.name for k, _ in CELLS]


def layer_of(kind: us.CellType, sizes: dict[str, int], **options: Any) -> us.Recurrent:
    extra: dict[str, Any] = {k: v for k, v in sizes.items() if k not in ("input", "hidden")}
    return us.Recurrent(kind, sizes["input"], sizes["hidden"], **options, **extra).double()


OPTIONS: list[dict[str, Any]] = [
    {},
    {"num_layers": 3},
    {"num_layers": 2, "bidirectional": True},
    {"num_layers": 2, "bidirectional": True, "merge": "mean", "skip": "residual"},
    {"num_layers": 2, "bidirectional": True, "merge": "sum", "skip": "dense"},
    {"num_layers": 2, "bidirectional": True, "merge": "learned", "initial": "learned"},
    {"num_layers": 3, "skip": "dense", "initial": "learned"},
    {"num_layers": 2, "skip": "residual"},
    {"num_layers": 2, "dropout": us.Dropout(0.2, 0.2, 0.2, 0.2, 0.2), "skip": "dense"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("kind", "sizes"), CELLS, ids=CELL_IDS)
def test_every_option_with_every_cell(
    kind: us.CellType, sizes: dict[str, int], options: dict[str, Any]
) -> None:
    """Rows are as if alone, NaN in the padding or not, and every parameter gets a gradient."""
    layer = layer_of(kind, sizes, **options)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    lengths = [4, 2, 3]
    xs = torch.randn(4, 3, sizes["input"], dtype=torch.float64)
    for b, length in enumerate(lengths):
        xs[length:, b] = float("nan")
    layer.train()
    layer(xs, lengths=lengths)[0].square().sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
    layer.eval()
    ys, state = layer(xs, lengths=torch.tensor(lengths))
    assert ys.shape == (4, 3, layer.output_size)
    for b, length in enumerate(lengths):
        alone, end = layer(xs[:length, b : b + 1])
        torch.testing.assert_close(ys[:length, b : b + 1], alone)
        assert not ys[length:, b].any()
        for of_layer, of_alone in zip(state, end, strict=True):
            for direction, other in zip(of_layer, of_alone, strict=True):
                for value, one in zip(direction, other, strict=True):
                    torch.testing.assert_close(value[b], one[0])


def cells_of(layer: us.Recurrent, index: int = 0) -> list[Any]:
    return list(cast(Any, layer.layers[index]).cells)


def test_the_table_reaches_cells_of_every_kind() -> None:
    assert set(IDS) - set(CELL_IDS) == {"mut1", "mut2"}  # they cannot change size between layers
    assert us.Recurrent(us.cells.MUT1, 4, 4, num_layers=2)(torch.randn(3, 2, 4))[0].shape[-1] == 4


def test_sizes_may_differ_by_layer() -> None:
    layer = us.Recurrent(us.cells.GRU, 3, [5, 4, 2], bidirectional=True)
    ys, state = layer(torch.randn(6, 2, 3))
    assert ys.shape == (6, 2, 4)
    assert [s[1].h.shape[1] for s in state] == [5, 4, 2]


def test_the_state_carries_on() -> None:
    layer = us.Recurrent(us.cells.LSTM, 3, 4, num_layers=2, skip="residual").double()
    xs = torch.randn(6, 2, 3, dtype=torch.float64)
    whole, end = layer(xs)
    first, between = layer(xs[:2])
    second, last = layer(xs[2:], between)
    torch.testing.assert_close(torch.cat((first, second)), whole)
    torch.testing.assert_close(last[1][0].c, end[1][0].c)


def test_directions_and_merges() -> None:
    xs = torch.randn(5, 2, 3)
    layers = {
        merge: us.Recurrent(us.cells.GRU, 3, 4, bidirectional=True, merge=merge)
        for merge in ("concat", "mean", "sum", "learned")
    }
    state = layers["concat"].state_dict()
    for layer in layers.values():
        layer.load_state_dict(state, strict=False)
    outputs = {merge: layer(xs)[0] for merge, layer in layers.items()}
    forwards, backwards = outputs["concat"].chunk(2, -1)
    first, second = cells_of(layers["concat"])
    assert forwards.equal(us.unfold(first, xs)[0])
    assert backwards.equal(us.unfold(second, xs, reverse=True)[0])
    assert outputs["sum"].equal(forwards + backwards)
    torch.testing.assert_close(outputs["mean"], (forwards + backwards) / 2)
    linear = cast(Any, layers["learned"].layers[0]).merge.linear
    torch.testing.assert_close(outputs["learned"], linear(outputs["concat"]))


def test_residual_and_dense() -> None:
    xs = torch.randn(5, 2, 4)
    residual = us.Recurrent(us.cells.Elman, 4, 4, skip="residual")
    (cell,) = cells_of(residual)
    assert residual(xs)[0].equal(us.unfold(cell, xs)[0] + xs)
    dense = us.Recurrent(us.cells.Elman, 4, 3, num_layers=3, skip="dense")
    assert [cells_of(dense, k)[0].input_size for k in range(3)] == [4, 7, 10]
    assert dense.output_size == 3


def test_eight_layers_train_with_skips() -> None:
    """At the start the lowest layer's gradient is many times larger with skips than without."""
    norms: dict[str | None, float] = {}
    skips: tuple[Any, ...] = (None, "residual", "dense")
    for skip in skips:
        torch.manual_seed(0)
        layer = us.Recurrent(us.cells.elman("sigmoid"), 8, 8, num_layers=8, skip=skip)
        layer(torch.randn(10, 4, 8))[0].sum().backward()
        lowest = cells_of(layer)[0].parameter("W").grad
        norms[skip] = lowest.norm().item()
    assert norms["residual"] > 100 * norms[None]
    assert norms["dense"] > 100 * norms[None]


def test_recording_by_layer_and_direction() -> None:
    layer = us.Recurrent(us.cells.LSTM, 3, 4, num_layers=2, bidirectional=True)
    ys, _, lines = layer(torch.randn(5, 2, 3), record=("f", "h"))
    assert len(lines) == 2
    assert [tuple(direction) for direction in lines[1]] == [("f", "h"), ("f", "h")]
    assert torch.cat([direction["h"] for direction in lines[1]], -1).equal(ys)


def test_dropout_is_off_in_evaluation() -> None:
    kinds = us.Dropout(between=0.5, inputs=0.5, recurrent=0.5, weights=0.5)
    layer = us.Recurrent(us.cells.GRU, 3, 4, num_layers=2, dropout=kinds)
    plain = us.Recurrent(us.cells.GRU, 3, 4, num_layers=2)
    plain.load_state_dict(layer.state_dict())
    xs = torch.randn(5, 2, 3)
    layer.eval()
    assert layer(xs)[0].equal(plain(xs)[0])
    layer.train()
    assert not layer(xs)[0].equal(layer(xs)[0])  # drawn anew at each call


def test_zoneout_mixes_in_evaluation() -> None:
    layer = us.Recurrent(us.cells.GRU, 3, 4, dropout=us.Dropout(zoneout=0.3)).eval()
    (cell,) = cells_of(layer)
    xs = torch.randn(5, 2, 3)
    expected, _ = us.unfold(cell, xs, masks=us.expected_masks(cell, 0.3))
    assert layer(xs)[0].equal(expected)
    assert not layer(xs)[0].equal(us.unfold(cell, xs)[0])


def test_input_dropout_is_the_same_at_every_step() -> None:
    identity = us.cell("h' = x + 0 * h")
    layer = us.Recurrent(identity, 50, 50, dropout=us.Dropout(inputs=0.5))
    ys, _ = layer(torch.ones(4, 3, 50))
    assert ys[0].equal(ys[3])
    assert set(ys.unique().tolist()) == {0.0, 2.0}
    assert not ys[0, 0].equal(ys[0, 1])


def test_dropout_between_layers_spares_the_last_output() -> None:
    identity = us.cell("h' = x + 0 * h")
    with pytest.warns(UserWarning, match="does nothing where there is one layer"):
        one = us.Recurrent(identity, 50, 50, num_layers=1, dropout=0.5)
    assert one(torch.ones(4, 3, 50))[0].eq(1).all()
    ys, _ = us.Recurrent(identity, 50, 50, num_layers=2, dropout=0.5)(torch.ones(4, 3, 50))
    assert set(ys.unique().tolist()) == {0.0, 2.0}
    assert not ys[0].equal(ys[1])


def test_cells_that_declare_every_size_and_one_recorded_name() -> None:
    with pytest.warns(us.EquationWarning, match="keep is computed, and nothing reads it"):
        kind = us.cell("s: 5\ns' = tanh(W @ x + U @ s)\nkeep = s'")
    layer = us.Recurrent(kind, 3, None, num_layers=2)
    *_, lines = layer(torch.randn(4, 2, 3), record="keep")
    assert lines[1][0]["keep"].shape == (4, 2, 5)


class NoModule:
    state_sizes = {"s": 1}  # noqa: RUF012
    output_size = 1

    def step(self, x: Any, state: Any) -> Any: ...


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"merge": "max", "bidirectional": True}, "merge is one of concat, mean, sum, learned"),
        ({"skip": "highway"}, "skip is None or one of residual, dense, not 'highway'"),
        ({"initial": "random"}, "initial is 'zeros' or 'learned', not 'random'"),
        ({"dropout": 1.5}, "between is a probability"),
        ({"num_layers": 0}, "num_layers is at least 1, not 0"),
        ({"hidden_size": [3, 4], "num_layers": 3}, "2 sizes for 3 layers: give one per layer"),
        ({"cell": lambda i, h: NoModule()}, "NoModule is none: make the class a torch.nn.Module"),
        ({"cell": us.cells.MUT1}, "mut1 needs input = hidden"),
        ({"cell": us.cells.GRU(3, 4)}, "give it the cell type, without sizes"),
        ({"merge": "max"}, "merge is one of"),
        ({"hidden_size": "4"}, "positive whole number, not '4'"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    given = {"cell": us.cells.GRU, "input_size": 3, "hidden_size": 4, **options}
    with pytest.raises(ValueError, match=message):
        us.Recurrent(**given)


def test_states_of_the_wrong_form_are_refused() -> None:
    layer = us.Recurrent(us.cells.GRU, 3, 4, num_layers=2)
    xs = torch.randn(5, 2, 3)
    _, state = layer(xs)
    with pytest.raises(ValueError, match="the state covers 2 layers; got 1"):
        layer(xs, state[:1])
    with pytest.raises(ValueError, match="covers 1 direction; got 2"):
        layer(xs, (state[0] * 2, state[1]))
