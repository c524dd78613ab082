"""The scaled dot product as a score of keys for queries."""

import math

from torch import Tensor


def scaled_dot(queries: Tensor, keys: Tensor) -> Tensor:
    """score(q, k) = q . k / sqrt(D) (Vaswani et al. 2017).

    queries (..., Q, D) and keys (..., K, D) give scores (..., Q, K). The root keeps the variance
    of the scores at that of one feature, whatever D is.
    """
    D = queries.shape[-1]
    if keys.shape[-1] != D:
        raise ValueError(f"queries have {D} features and keys {keys.shape[-1]}: make them the same")
    return queries @ keys.transpose(-2, -1) / math.sqrt(D)
