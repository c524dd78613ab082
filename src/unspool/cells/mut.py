"""Three cells that a search over architectures found.

Jozefowicz, Zaremba and Sutskever, "An empirical exploration of recurrent network
architectures", ICML (2015). z is the share of the new state. MUT1 and MUT2 add the input
itself to a hidden vector, so they need input = hidden.
"""

from unspool.cells.cell import cell

MUT1 = cell(
    """
    z  = sigmoid(W_z @ x + b_z)
    r  = sigmoid(W_r @ x + U_r @ h + b_r)
    h' = tanh(U_h @ (r * h) + tanh(x) + b_h) * z + h * (1 - z)
    """,
    name="mut1",
    source="Jozefowicz et al. 2015",
)

MUT2 = cell(
    """
    z  = sigmoid(W_z @ x + U_z @ h + b_z)
    r  = sigmoid(x + U_r @ h + b_r)
    h' = tanh(U_h @ (r * h) + W_h @ x + b_h) * z + h * (1 - z)
    """,
    name="mut2",
    source="Jozefowicz et al. 2015",
)

MUT3 = cell(
    """
    z  = sigmoid(W_z @ x + U_z @ tanh(h) + b_z)
    r  = sigmoid(W_r @ x + U_r @ h + b_r)
    h' = tanh(U_h @ (r * h) + W_h @ x + b_h) * z + h * (1 - z)
    """,
    name="mut3",
    source="Jozefowicz et al. 2015",
)
