"""The LSTM with a forget gate.

Gers, Schmidhuber and Cummins, "Learning to forget", Neural Computation 12 (2000). Bilici
eq 69-76, with one name for the input gate (i), the output gate on h(t-1), and h = o * tanh(c).
Gate order i, f, g, o. `projection=True` is the LSTM of Sak, Senior and Beaufays (2014), whose
h is a smaller vector: `LSTMProjected(64, 128, proj=32)`.
"""

from typing import Literal

from unspool.cells.cell import CellType, cell


def lstm(candidate: Literal["tanh", "sigmoid"] = "tanh", projection: bool = False) -> CellType:
    name = "lstm" + "_projected" * projection + "_sigmoid" * (candidate == "sigmoid")
    return cell(
        f"""
    {"h: proj" if projection else ""}
    i  = sigmoid(W_i @ x + U_i @ h + b_i)
    f  = sigmoid(W_f @ x + U_f @ h + b_f)
    g  = {candidate}(W_g @ x + U_g @ h + b_g)
    o  = sigmoid(W_o @ x + U_o @ h + b_o)
    c' = f * c + i * g
    h' = {"P @ (o * tanh(c'))" if projection else "o * tanh(c')"}
    """,
        name=name,
        source="Sak et al. 2014" if projection else "Gers et al. 2000",
    )


LSTM = lstm()
LSTMProjected = lstm(projection=True)
