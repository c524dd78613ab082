"""A cell whose output reads the old state: o_t = g(x_t, s_(t-1)), the second form of Alex, §2.

The output has a size of its own: `OldStateOutput(10, 30, output=5)` is the notes' example.
"""

from unspool.cells.cell import cell

OldStateOutput = cell(
    """
    y: output
    y  = tanh(W_o @ x + U_o @ s)
    s' = tanh(W @ x + U @ s)
    """,
    name="old_state_output",
    source="Alex, Recurrent Neural Networks 1, §2",
)
