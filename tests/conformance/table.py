"""One row a cell. Every property in this folder runs over the whole table."""

from collections.abc import Iterable

import torch

import unspool as us
from unspool.equations.roles import equations

# MUT1 and MUT2 need input = hidden; every other cell is run with sizes that all differ.
TABLE: list[tuple[us.CellType, dict[str, int]]] = [
    (us.cells.Elman, {"input": 3, "hidden": 4}),
    (us.cells.OldStateOutput, {"input": 3, "hidden": 4, "output": 2}),
    (us.cells.LSTM97, {"input": 3, "hidden": 4}),
    (us.cells.LSTM, {"input": 3, "hidden": 4}),
    (us.cells.LSTMProjected, {"input": 3, "hidden": 4, "proj": 2}),
    (us.cells.Peephole, {"input": 3, "hidden": 4}),
    (us.cells.PeepholeFull, {"input": 3, "hidden": 4}),
    (us.cells.Coupled, {"input": 3, "hidden": 4}),
    (us.cells.GRU, {"input": 3, "hidden": 4}),
    (us.cells.GRUAfter, {"input": 3, "hidden": 4}),
    (us.cells.GRUUpdate, {"input": 3, "hidden": 4}),
    (us.cells.MUT1, {"input": 4, "hidden": 4}),
    (us.cells.MUT2, {"input": 4, "hidden": 4}),
    (us.cells.MUT3, {"input": 3, "hidden": 4}),
    (us.cells.LayerNormLSTM, {"input": 3, "hidden": 4}),
    (us.cells.IndRNN, {"input": 3, "hidden": 4}),
    (us.cells.MinGRU, {"input": 3, "hidden": 4}),
    (us.cells.JANET, {"input": 3, "hidden": 4}),
    # variants, and cells that only a user would write
    (us.cells.elman("relu"), {"input": 3, "hidden": 4}),
    (us.cells.elman("sigmoid"), {"input": 3, "hidden": 4}),
    (us.cells.lstm(candidate="sigmoid"), {"input": 3, "hidden": 4}),
    (us.cells.gru(candidate="sigmoid"), {"input": 3, "hidden": 4}),
    (
        us.cell("h' = tanh(W @ concat(x, h) + b)", name="concat"),
        {"input": 3, "hidden": 4},
    ),
    (
        us.cell(
            """
            y: output
            c: memory
            u  = softplus(A @ concat(h, x, c) + a)
            v  = minimum(sqrt(u), 1.5) - maximum(x_gain * (B @ x), 0.1) / (1 + exp(-u))
            c' = layer_norm(c) * 0.5 + abs(sin(C @ v)) ** 1.5 + cos(D @ x)
            h' = tanh(E @ c' + F @ (v * relu(h + e))) - log(1 + u ** 2)
            y  = -(G @ concat(h', c)) + 0.5
            """,
            name="everything",
        ),
        {"input": 3, "hidden": 4, "output": 2, "memory": 5},
    ),
]
TABLE.append(
    # names that derivations use for themselves, and an idle line, which us.cell warns of
    (
        us.CellType(
            equations("h' = tanh(W @ x + U @ h)\nys = V @ h'\nc' = ys + 0.5 * c\nx1 = ys * c'"),
            "names",
        ),
        {"input": 3, "hidden": 4},
    )
)
TABLE.append(
    # concat with a name, between operators, as a state and as the output
    (
        us.cell(
            """
            a: left
            b: right
            z  = concat(x, h)
            a  = sigmoid(W_a @ z + d)
            b  = sigmoid(W_b @ x + U_b @ (h * k))
            h' = concat(a, b) * tanh(0.5 * (V @ z)) + (1 - concat(a, b)) * h
            y  = concat(h', a)
            """,
            name="joined",
        ),
        {"input": 3, "hidden": 5, "left": 2, "right": 3},
    )
)
IDS = [kind.name for kind, _ in TABLE]


def resized(sizes: dict[str, int], others: Iterable[int]) -> dict[str, int]:
    """Other numbers for the sizes of a row, which keep what its equations ask for."""
    found = dict(zip(sizes, others, strict=False))
    if sizes["input"] == sizes["hidden"]:
        found["input"] = found["hidden"]
    if "left" in sizes:
        found["hidden"] = found["left"] + found["right"]
    return found


def build(kind: us.CellType, sizes: dict[str, int]) -> us.Cell:
    """The cell in float64 with parameters large enough for everything to matter."""
    cell = us.Cell(kind, sizes).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.4)
    return cell


def inputs(cell: us.Cell, T: int = 5, B: int = 3) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """A sequence and an initial state that all require gradients."""
    xs = torch.randn(T, B, cell.input_size, dtype=torch.float64)
    state = [torch.randn(B, n, dtype=torch.float64) * 0.5 for n in cell.state_sizes.values()]
    return xs.requires_grad_(), [value.requires_grad_() for value in state]
