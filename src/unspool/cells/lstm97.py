"""The first LSTM: no forget gate, the memory only ever adds.

Hochreiter and Schmidhuber, "Long short-term memory", Neural Computation 9 (1997); Alex §2.2.
`i` lets the update `u` in, `o` lets the memory out; dc'/dc = 1 along the memory.
"""

from unspool.cells.cell import cell

LSTM97 = cell(
    """
    i  = sigmoid(W_i @ x + U_i @ h + b_i)
    o  = sigmoid(W_o @ x + U_o @ h + b_o)
    u  = tanh(W_u @ x + U_u @ h + b_u)
    c' = c + i * u
    h' = o * tanh(c')
    """,
    name="lstm97",
    source="Hochreiter and Schmidhuber 1997",
)
