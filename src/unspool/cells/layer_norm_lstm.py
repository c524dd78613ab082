"""The LSTM with layer normalisation inside the recurrence.

Ba, Kiros and Hinton, "Layer normalization" (2016), eq 20-22: input and recurrent sums are
normalised apart, with gains v and w, and so is the memory before it is read. The paper
normalises all four gates as one vector; here each gate is a vector of its own.
"""

from unspool.cells.cell import cell

LayerNormLSTM = cell(
    """
    i  = sigmoid(v_i * layer_norm(W_i @ x) + w_i * layer_norm(U_i @ h) + b_i)
    f  = sigmoid(v_f * layer_norm(W_f @ x) + w_f * layer_norm(U_f @ h) + b_f)
    g  = tanh(v_g * layer_norm(W_g @ x) + w_g * layer_norm(U_g @ h) + b_g)
    o  = sigmoid(v_o * layer_norm(W_o @ x) + w_o * layer_norm(U_o @ h) + b_o)
    c' = f * c + i * g
    h' = o * tanh(v_c * layer_norm(c') + b_c)
    """,
    name="layer_norm_lstm",
    source="Ba et al. 2016",
)
