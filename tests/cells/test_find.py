"""Cells that a run folder can hold, under their names, and those that it cannot."""

from pathlib import Path
from typing import Any

import pytest
from torch import nn

import unspool as us
from unspool.cells.find import find_cell, lasting_name

TEXT = "h' = 0.9 * h + 0.1 * tanh(W @ x + U @ h + b)"


def test_a_cell_type_goes_by_its_name_or_its_equations() -> None:
    assert lasting_name(us.cells.GRU) == "gru"
    assert lasting_name(us.cell(TEXT)) == TEXT
    lasting = lasting_name(us.cell(TEXT, name="leaky"))
    assert lasting == f"{TEXT}\n# cell: leaky"
    assert lasting_name(lasting) == lasting
    found = find_cell(lasting)
    assert found.name == "leaky"
    assert found.equations.lines == us.cell(TEXT).equations.lines


def test_a_file_gives_its_name_unless_its_text_has_one(tmp_path: Path) -> None:
    (tmp_path / "leaky.cell").write_text(TEXT)
    assert lasting_name(str(tmp_path / "leaky.cell")) == f"{TEXT}\n# cell: leaky"
    (tmp_path / "other.cell").write_text(f"# cell: slow\n{TEXT}")
    assert find_cell(str(tmp_path / "other.cell")).name == "slow"


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (us.cell(TEXT, name="own").with_init(us.init.orthogonal()), "own has an initialisation of"),
        (us.cells.GRU.with_init(us.init.orthogonal()), "gru has an initialisation of its own"),
        (us.cells.GRU(3, 4), "this gru is a cell with sizes and weights"),
        (nn.GRUCell, r"a Python class \(GRUCell\) cannot be kept"),
        (7, r"a Python class \(int\) cannot be kept"),
    ],
)
def test_what_a_run_folder_cannot_hold(cell: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lasting_name(cell)


def test_training_takes_cell_types(tmp_path: Path) -> None:
    data = tmp_path / "data.tsv"
    data.write_text("".join(f"{'ab' * k}\t{k % 2}\n" for k in range(1, 60)))
    how: dict[str, Any] = {"hidden": 4, "epochs": 1}
    fitted = us.train.run(
        "classify", data, out=tmp_path / "run", cell=us.cell(TEXT, name="leaky"), **how
    )
    assert isinstance(fitted.model, nn.Module)
    loaded: Any = us.train.load(tmp_path / "run")
    assert loaded.settings.cell == f"{TEXT}\n# cell: leaky"
    frozen = us.cell(TEXT)(3, 4).requires_grad_(False)
    with pytest.raises(ValueError, match="frozen parameters, parametrizations and weights"):
        us.train.run("classify", data, out=tmp_path / "other", cell=frozen, **how)
    assert not (tmp_path / "other").exists()
