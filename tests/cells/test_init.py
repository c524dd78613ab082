"""How cells start, and constraints that hold while they train."""

import pytest
import torch

import unspool as us
from tests.conformance.table import IDS, TABLE
from unspool.equations.gates import Gate, gates

KEEPERS = {
    "lstm": (Gate("b_f", "keep", 1), Gate("b_i", "write", 1)),
    "peephole": (Gate("b_f", "keep", 1), Gate("b_i", "write", 1)),
    "coupled": (Gate("b_f", "keep", 1),),
    "gru": (Gate("b_z", "keep", 1),),
    "gru_after": (Gate("b_z", "keep", 1),),
    "gru_update": (Gate("b_z", "keep", -1),),
    "mut1": (Gate("b_z", "keep", -1),),
    "layer_norm_lstm": (Gate("b_f", "keep", 1), Gate("b_i", "write", 1)),
    "mingru": (Gate("b_z", "keep", -1),),
    "janet": (Gate("b_f", "keep", 1),),
    "elman": (),
    "lstm97": (),
}


@pytest.mark.parametrize("name", KEEPERS)
def test_gates_are_found_in_the_equations(name: str) -> None:
    assert gates(us.cells.named()[name].equations) == KEEPERS[name]


def test_forget_bias_is_one_in_a_users_cell_too() -> None:
    mine = us.cell("keep = sigmoid(A @ x + B @ m + k)\nm' = keep * m + D @ x + e")
    cell = mine(3, 4)
    assert cell.parameter("k").eq(1).all()
    assert not cell.parameter("e").any()


@pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)
def test_the_standard_start(kind: us.CellType, sizes: dict[str, int]) -> None:
    cell = us.Cell(kind, sizes)
    keepers = {gate.bias: gate.sign for gate in gates(kind.equations) if gate.role == "keep"}
    for name, value in cell.state_dict().items():
        assert torch.isfinite(value).all()
        if name in kind.equations.recurrent:
            small = value @ value.T if value.shape[0] <= value.shape[1] else value.T @ value
            torch.testing.assert_close(small, torch.eye(len(small)), atol=1e-5, rtol=0)
        elif name in keepers:
            assert value.eq(keepers[name]).all()
        elif name.startswith("b"):
            assert not value.any()


def test_vectors_that_multiply_start_at_one() -> None:
    cell = us.cells.LayerNormLSTM(3, 4)
    assert all(cell.parameter(f"v_{g}").eq(1).all() for g in "ifgoc")
    assert not us.cells.Peephole(3, 4).parameter("p_i").any()


def test_chrono_remembers_between_one_and_the_longest() -> None:
    lstm = us.cells.LSTM.with_init(us.init.chrono(100))(3, 500)
    memory = lstm.parameter("b_f").exp()
    assert 1 <= memory.min() < 10 < 90 < memory.max() <= 99
    assert lstm.parameter("b_i").equal(-lstm.parameter("b_f"))
    update = us.cells.GRUUpdate.with_init(us.init.chrono(100))(3, 50)
    assert (update.parameter("b_z") <= 0).all()
    with pytest.raises(ValueError, match="finds no gate in elman"):
        us.cells.Elman.with_init(us.init.chrono(100))(3, 4)
    with pytest.raises(ValueError, match="3 steps or more, not 2"):
        us.init.chrono(2)


def test_identity_orthogonal_normal_uniform_constant() -> None:
    irnn = us.cells.elman("relu").with_init(us.init.identity(0.5))(3, 4)
    assert irnn.parameter("U").equal(0.5 * torch.eye(4))
    wide = us.cells.Elman.with_init(us.init.orthogonal(2.0))(3, 4).parameter("U")
    torch.testing.assert_close(wide @ wide.T, 4 * torch.eye(4))
    notes = us.cells.LSTM.with_init(us.init.normal(0.01))(30, 40)
    assert notes.parameter("U_i").std().item() == pytest.approx(0.01, rel=0.2)
    assert notes.parameter("b_f").eq(1).all()
    spread = us.cells.IndRNN(3, 400).parameter("u")
    assert 0 <= spread.min() < 0.1 < 0.9 < spread.max() <= 1
    lowered = us.cells.LSTM.with_init(us.init.keep_bias(2.0), us.init.constant(-1.0, "b_[io]"))
    assert lowered(2, 3).parameter("b_f").eq(2).all()
    assert lowered(2, 3).parameter("b_o").eq(-1).all()
    with pytest.raises(ValueError, match=r"was a call forgotten, as in us.init.orthogonal\(\)"):
        us.cells.Elman.with_init(us.init.normal)(2, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no parameter of elman matches 'V'; it has W, U, b"):
        us.cells.Elman.with_init(us.init.constant(0.0, "V"))(2, 3)


@pytest.mark.parametrize("kind", [us.cells.Elman, us.cells.LSTM, us.cells.GRU])
def test_an_orthogonal_matrix_stays_orthogonal(kind: us.CellType) -> None:
    layer = us.constrain_orthogonal(us.Recurrent(kind, 3, 6, bidirectional=True))
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.5)
    xs = torch.randn(5, 2, 3)
    before = [p.clone() for p in layer.parameters()]
    for _ in range(3):
        optimiser.zero_grad()
        layer(xs)[0].square().sum().backward()
        optimiser.step()
    assert all(not a.equal(b) for a, b in zip(before, layer.parameters(), strict=True))
    for module in layer.modules():
        if isinstance(module, us.Cell):
            for name in kind.equations.recurrent:
                matrix = module.parameter(name)
                torch.testing.assert_close(matrix @ matrix.T, torch.eye(6), atol=1e-4, rtol=0)


def test_constraints_name_what_is_there() -> None:
    with pytest.raises(ValueError, match="elman has no matrix 'V'; its recurrent ones are U"):
        us.constrain_orthogonal(us.cells.Elman(2, 3), "V")
    with pytest.raises(ValueError, match="no cell here has a square recurrent matrix"):
        us.constrain_orthogonal(us.cells.MinGRU(2, 3))
    cell = us.constrain_orthogonal(us.cells.LSTM(2, 3), "U_f")
    assert us.constrain_orthogonal(cell, "U_f") is cell  # once is enough
    with pytest.raises(ValueError, match="before constraining"):
        cell.reset_parameters()  # type: ignore[operator]
    assert "parametrizations.U_f.original" in cell.state_dict()
    assert "U_i" in cell.state_dict()


def started(kind: us.CellType, threads: int) -> list[torch.Tensor]:
    """The parameters of a cell of 200 units, and of one that is kept orthogonal, from one seed."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(0)
        sizes = dict.fromkeys(set(kind.equations.named_sizes) - {"input", "hidden"}, 150)
        cell = kind(200, 200, **sizes)
        orthogonal = us.constrain_orthogonal(us.cells.Elman(200, 200))
        assert torch.get_num_threads() == threads
        return [*cell.parameters(), *orthogonal.parameters(), *orthogonal.buffers()]
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("kind", us.cells.named().values(), ids=us.cells.named())
def test_a_seed_gives_the_same_weights_with_any_number_of_threads(kind: us.CellType) -> None:
    one = started(kind, 1)
    for threads in (2, 3):
        assert all(a.equal(b) for a, b in zip(one, started(kind, threads), strict=True))
