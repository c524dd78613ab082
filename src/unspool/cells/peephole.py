"""LSTMs whose gates see the memory.

`Peephole`: Gers and Schmidhuber, "Recurrent nets that time and count", IJCNN (2000). The input
and forget gates read the old memory, the output gate the new one, each through a vector.
`PeepholeFull`: Tutek et al. give the gate the whole memory through a matrix, W_fch c(t-1), and
say the idea can be applied to all gates; all three read the old memory here.
"""

from unspool.cells.cell import cell
from unspool.cells.init import constant

Peephole = cell(
    """
    i  = sigmoid(W_i @ x + U_i @ h + p_i * c + b_i)
    f  = sigmoid(W_f @ x + U_f @ h + p_f * c + b_f)
    g  = tanh(W_g @ x + U_g @ h + b_g)
    c' = f * c + i * g
    o  = sigmoid(W_o @ x + U_o @ h + p_o * c' + b_o)
    h' = o * tanh(c')
    """,
    name="peephole",
    source="Gers and Schmidhuber 2000",
    init=constant(0.0, "p_*"),  # starts as a plain LSTM
)

PeepholeFull = cell(
    """
    i  = sigmoid(W_i @ x + U_i @ h + V_i @ c + b_i)
    f  = sigmoid(W_f @ x + U_f @ h + V_f @ c + b_f)
    g  = tanh(W_g @ x + U_g @ h + b_g)
    o  = sigmoid(W_o @ x + U_o @ h + V_o @ c + b_o)
    c' = f * c + i * g
    h' = o * tanh(c')
    """,
    name="peephole_full",
    source="Tutek et al. 2024, peepholes",
)
