"""Every cell: one file each, with its equations, its paper and how it starts.

Capitalised names are cell types; the functions beside them make variants.
"""

from unspool.cells.cell import CellType
from unspool.cells.coupled import Coupled
from unspool.cells.elman import Elman, elman
from unspool.cells.gru import GRU, GRUAfter, GRUUpdate, gru
from unspool.cells.indrnn import IndRNN
from unspool.cells.janet import JANET
from unspool.cells.layer_norm_lstm import LayerNormLSTM
from unspool.cells.lstm import LSTM, LSTMProjected, lstm
from unspool.cells.lstm97 import LSTM97
from unspool.cells.mingru import MinGRU
from unspool.cells.mut import MUT1, MUT2, MUT3
from unspool.cells.old_state_output import OldStateOutput
from unspool.cells.peephole import Peephole, PeepholeFull


def named() -> dict[str, CellType]:
    """Every cell type exported here, by its name on the command line."""
    return {kind.name: kind for kind in globals().values() if isinstance(kind, CellType)}
