"""What every attention does with its scores: weights that sum to 1, and the mean they give."""

import torch
from torch import Tensor


def weigh(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """w_q = softmax of the scores of what q may read; 0 for the rest.

    scores (..., Q, K), and `mask`, True where a query may read a key, which broadcasts to them.
    A query that may read nothing has zeros.
    """
    if mask is None:
        return scores.softmax(-1)
    if mask.dtype != torch.bool:
        raise ValueError(f"the mask is torch.bool, True where a key may be read, not {mask.dtype}")
    # Not -inf, for softmax over nothing but -inf is NaN. Beside any score that occurs exp of the
    # least number is exactly 0, so what may not be read takes no weight from what may.
    weights = torch.where(mask, scores, torch.finfo(scores.dtype).min).softmax(-1)
    return torch.where(mask, weights, 0)


def attend(scores: Tensor, values: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """context_q = sum_k w_qk value_k, where w_q = softmax of the scores of what q may read.

    scores (..., Q, K), values (..., K, D), and `mask`, True where a query may read a key, which
    broadcasts to the scores. Returns the context (..., Q, D) and the weights (..., Q, K). What
    may not be read has weight 0; a query that may read nothing has no weights, and context 0.

    Values and scores that no query may read can be anything, NaN included. But the gradient of
    a score that was computed from NaN is NaN: clean what the keys are made of first.
    """
    weights = weigh(scores, mask)
    if mask is not None:
        read = torch.atleast_2d(mask).any(-2)
        values = torch.where(read[..., None], values, 0)
    return weights @ values, weights
