"""The LSTM with nothing but its forget gate.

van der Westhuizen and Lasenby, "The unreasonable effectiveness of the forget gate" (2018),
eq 4 with beta = 0: the memory is the output.
"""

from unspool.cells.cell import cell

JANET = cell(
    """
    f  = sigmoid(W_f @ x + U_f @ h + b_f)
    g  = tanh(W_g @ x + U_g @ h + b_g)
    h' = f * h + (1 - f) * g
    """,
    name="janet",
    source="van der Westhuizen and Lasenby 2018",
)
