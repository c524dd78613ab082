"""The plain recurrent network. Elman, "Finding structure in time", Cognitive Science 14 (1990).

Bilici eq 64 (with the sigma' corrected to sigma), Masi and Faralli, Rocktäschel and Riedel, and
Tutek et al. all start here. tanh unless another activation is chosen.
"""

from typing import Literal

from unspool.cells.cell import CellType, cell

Activation = Literal["tanh", "sigmoid", "relu"]


def elman(activation: Activation = "tanh") -> CellType:
    return cell(
        f"h' = {activation}(W @ x + U @ h + b)",
        name="elman" if activation == "tanh" else f"elman_{activation}",
        source="Elman 1990",
    )


Elman = elman()
