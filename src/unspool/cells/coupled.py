"""The LSTM with one gate for forgetting and writing: what is forgotten is replaced.

Greff et al., "LSTM: a search space odyssey" (2015), variant CIFG; Tutek et al., fused gates.
`f` keeps the old memory, 1 - f lets the new one in: a quarter fewer parameters.
"""

from unspool.cells.cell import cell

Coupled = cell(
    """
    f  = sigmoid(W_f @ x + U_f @ h + b_f)
    g  = tanh(W_g @ x + U_g @ h + b_g)
    o  = sigmoid(W_o @ x + U_o @ h + b_o)
    c' = f * c + (1 - f) * g
    h' = o * tanh(c')
    """,
    name="coupled",
    source="Greff et al. 2015",
)
