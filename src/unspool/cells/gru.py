"""The gated recurrent unit, in the three forms that are in use.

Cho et al., "Learning phrase representations using RNN encoder-decoder" (2014).
`GRU`: reset before the product, z keeps the old state (Cho et al.; Masi and Faralli; Tutek et
al., whose sigmoid candidate is `gru(candidate="sigmoid")`).
`GRUAfter`: reset after the product, with a bias of its own inside it, z keeps the old state:
what torch and cuDNN compute.
`GRUUpdate`: Bilici eq 77-80, reset after the product, and z is the share of the *new* state
(the missing sigmoid of eq 78 put back, and a matrix each for x and h).
Gate order r, z, n.
"""

from typing import Literal

from unspool.cells.cell import CellType, cell


def gru(candidate: Literal["tanh", "sigmoid"] = "tanh") -> CellType:
    return cell(
        f"""
    r  = sigmoid(W_r @ x + U_r @ h + b_r)
    z  = sigmoid(W_z @ x + U_z @ h + b_z)
    n  = {candidate}(W_n @ x + U_n @ (r * h) + b_n)
    h' = z * h + (1 - z) * n
    """,
        name="gru" if candidate == "tanh" else f"gru_{candidate}",
        source="Cho et al. 2014",
    )


GRU = gru()

GRUAfter = cell(
    """
    r  = sigmoid(W_r @ x + U_r @ h + b_r)
    z  = sigmoid(W_z @ x + U_z @ h + b_z)
    n  = tanh(W_n @ x + b_n + r * (U_n @ h + d_n))
    h' = z * h + (1 - z) * n
    """,
    name="gru_after",
    source="torch.nn.GRU, cuDNN",
)

GRUUpdate = cell(
    """
    r  = sigmoid(W_r @ x + U_r @ h + b_r)
    z  = sigmoid(W_z @ x + U_z @ h + b_z)
    n  = tanh(W_n @ x + r * (U_n @ h) + b_n)
    h' = (1 - z) * h + z * n
    """,
    name="gru_update",
    source="Bilici, eq 77-80",
)
