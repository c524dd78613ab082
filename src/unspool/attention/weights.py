"""What every attention does with its scores: weights that sum to 1, and the mean they give."""

import torch
from torch import Tensor


def attend(scores: Tensor, values: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """context_q = sum_k w_qk value_k, where w_q = softmax of the scores of what q may read.

    scores (..., Q, K), values (..., K, D), and `mask`, True where a query may read a key, which
    broadcasts to the scores. Returns the context (..., Q, D) and the weights (..., Q, K). What
    may not be read has weight 0; a query that may read nothing has no weights, and context 0.

    Values and scores that no query may read can be anything, NaN included. But the gradient of
    a score that was computed from NaN is NaN: clean what the keys are made of first.
    """
    if mask is None:
        weights = scores.softmax(-1)
        return weights @ values, weights
    if mask.dtype != torch.bool:
        raise ValueError(f"the mask is torch.bool, True where a key may be read, not {mask.dtype}")
    mask = mask.expand(scores.shape)
    nothing = ~mask.any(-1, keepdim=True)
    # Softmax over -inf alone is NaN, so a query with nothing to read goes through it with zeros.
    weights = scores.masked_fill(~mask, -torch.inf).masked_fill(nothing, 0).softmax(-1)
    weights = weights.masked_fill(~mask, 0)
    return weights @ torch.where(mask.any(-2)[..., None], values, 0), weights
