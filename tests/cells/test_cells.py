"""Facts about single cells that the notes and papers state."""

import pytest
import torch

import unspool as us


def random_state(cell: us.Cell, B: int = 2) -> list[torch.Tensor]:
    return [torch.randn(B, n) for n in cell.state_sizes.values()]


def test_parts_of_the_lstm() -> None:
    """A quarter fewer parameters for the coupled cell; the 1997 memory only adds."""
    lstm, coupled = (
        sum(parameter.numel() for parameter in kind(8, 8).parameters())
        for kind in (us.cells.LSTM, us.cells.Coupled)
    )
    assert coupled == 0.75 * lstm
    cell = us.cells.LSTM97(3, 4)
    xs, state = torch.randn(5, 2, 3), random_state(cell)
    lines = us.unfold(cell, xs, state, record=("i", "u", "c"))[2]
    torch.testing.assert_close(lines["c"][-1], state[1] + (lines["i"] * lines["u"]).sum(0))


def test_peepholes_look_at_the_right_memory() -> None:
    """Zero peepholes make an LSTM; the output gate reads the new memory."""
    peephole, lstm = us.cells.Peephole(3, 4), us.cells.LSTM(3, 4)
    lstm.load_state_dict({k: v for k, v in peephole.state_dict().items() if k[0] != "p"})
    xs, state = torch.randn(5, 2, 3), random_state(lstm)
    torch.testing.assert_close(us.unfold(peephole, xs, state)[0], us.unfold(lstm, xs, state)[0])
    torch.nn.init.normal_(peephole.parameter("p_o"))
    record = us.unfold(peephole, xs[:1], state, record=("o", "c"))[2]
    h = state[0]
    p = peephole.parameter
    o = xs[0] @ p("W_o").T + h @ p("U_o").T + p("p_o") * record["c"][0] + p("b_o")
    torch.testing.assert_close(record["o"][0], torch.sigmoid(o))


def test_which_way_z_points() -> None:
    """z near 1 keeps the old state in GRU and GRUAfter, and takes the new one in GRUUpdate."""
    for kind, keeps in ((us.cells.GRU, 1), (us.cells.GRUAfter, 1), (us.cells.GRUUpdate, -1)):
        cell = kind.with_init(us.init.constant(30.0 * keeps, "b_z"))(3, 4)
        state = random_state(cell)
        _, last = us.unfold(cell, torch.randn(5, 2, 3), state)
        torch.testing.assert_close(last.h, state[0])


def test_reset_before_and_after_differ() -> None:
    before, after = us.cells.GRU(3, 4), us.cells.GRUAfter(3, 4)
    after.load_state_dict({**before.state_dict(), "d_n": torch.zeros(4)})
    xs, state = torch.randn(4, 2, 3), random_state(before)
    assert not torch.allclose(us.unfold(before, xs, state)[0], us.unfold(after, xs, state)[0])


def test_variants() -> None:
    assert us.cells.elman("relu").name == "elman_relu"
    assert us.cells.lstm(candidate="sigmoid").name == "lstm_sigmoid"
    assert us.cells.gru(candidate="sigmoid").name == "gru_sigmoid"
    ys, _ = us.unfold(us.cells.elman("sigmoid")(3, 4), torch.randn(5, 2, 3))
    assert (ys > 0).all()
    with pytest.raises(us.EquationError, match="there is no function 'gelu'"):
        us.cells.elman("gelu")  # type: ignore[arg-type]


def test_they_introduce_themselves() -> None:
    assert repr(us.cells.LSTM) == "<cell type lstm: states h, c>"
    assert repr(us.cells.LSTM(3, 4)) == "Cell(lstm, input=3, hidden=4)"
    assert all(kind.source for kind in us.cells.named().values())
