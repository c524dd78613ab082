"""A sequence as one vector: its steps weighed by learned queries."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from unspool.attention.mask import readable
from unspool.attention.scaled_dot import scaled_dot
from unspool.attention.weights import attend


class AttentionPooling(nn.Module):
    """`pooled, weights = pooling(xs, lengths)` for xs of shape (T, B, H).

    Each of the learned queries q weighs the steps by softmax_t(q . x_t / sqrt(H)). Their means
    stand side by side in `pooled` (B, queries * H); `weights` are (B, queries, T). A row of
    length 0 gives zeros.
    """

    def __init__(self, size: int, queries: int = 1):
        super().__init__()
        if size < 1 or queries < 1:
            raise ValueError(f"size and queries are at least 1, not {size} and {queries}")
        self.output_size = queries * size
        self.queries = nn.Parameter(torch.empty(queries, size))
        # Small, so that training starts near the mean; random, so that queries differ.
        nn.init.uniform_(self.queries, -(size**-0.5), size**-0.5)

    def forward(
        self, xs: Tensor, lengths: Tensor | Sequence[int] | None = None
    ) -> tuple[Tensor, Tensor]:
        H = xs.shape[2]
        if self.queries.shape[1] != H:
            raise ValueError(f"xs have {H} features; this pooling has size {self.queries.shape[1]}")
        xs_BTH, mask = xs.transpose(0, 1), None
        if lengths is not None:
            inside = readable(xs, lengths)
            xs_BTH, mask = torch.where(inside[..., None], xs_BTH, 0), inside[:, None]
        context, weights = attend(scaled_dot(self.queries, xs_BTH), xs_BTH, mask)
        return context.flatten(1), weights
