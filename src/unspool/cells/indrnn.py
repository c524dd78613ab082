"""Each unit reads only its own past: the recurrent matrix is a vector.

Li et al., "Independently recurrent neural network (IndRNN)", CVPR (2018), eq 3. The recurrent
weights start uniform in [0, 1], as the paper's long tasks do.
"""

from unspool.cells.cell import cell
from unspool.cells.init import uniform

IndRNN = cell(
    "h' = relu(W @ x + u * h + b)",
    name="indrnn",
    source="Li et al. 2018",
    init=uniform(0.0, 1.0, "u"),
)
