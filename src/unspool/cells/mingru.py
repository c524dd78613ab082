"""A GRU whose gate and candidate see the input only, so that the recurrence is linear.

Feng et al., "Were RNNs all we needed?" (2024), §3.1. z is the share of the new state.
"""

from unspool.cells.cell import cell

MinGRU = cell(
    """
    z  = sigmoid(W_z @ x + b_z)
    n  = W_n @ x + b_n
    h' = (1 - z) * h + z * n
    """,
    name="mingru",
    source="Feng et al. 2024",
)
