"""Self-attention without recurrence: every position reads every other, however far away."""

import torch
from torch import Tensor, nn

from unspool.attention.protocol import check_sizes
from unspool.attention.weights import weigh


class NonLocal(nn.Module):
    """`z, weights = block(x)` for x (B, *positions, size), a sequence, an image or a film.

        z_i = x_i + W_o sum_j w_ij g(x_j),  w_i = softmax_j(theta(x_i) . phi(x_j))

    (Wang et al. 2018, embedded Gaussian.) theta, phi and g are linear maps to `inner` features.
    z has the shape of x, and weights are (B, N, N) over the N flattened positions. W_o starts at
    zero, so that a block that is put into a trained network changes nothing at first.
    """

    def __init__(self, size: int, inner: int):
        super().__init__()
        check_sizes(size=size, inner=inner)
        self.size = size
        self.theta = nn.Linear(size, inner, bias=False)
        self.phi = nn.Linear(size, inner, bias=False)
        self.g = nn.Linear(size, inner, bias=False)
        self.W_o = nn.Linear(inner, size, bias=False)
        nn.init.zeros_(self.W_o.weight)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """`mask` (B, *positions) is True where there is something.

        Elsewhere z and the weights are zero, and what stands in x, NaN included, changes nothing.
        """
        if x.ndim < 3 or x.shape[-1] != self.size:
            raise ValueError(f"x has shape {tuple(x.shape)}; expected (B, *positions, {self.size})")
        read = None
        if mask is not None:
            if mask.shape != x.shape[:-1] or mask.dtype != torch.bool:
                raise ValueError(
                    f"the mask is {mask.dtype} of shape {tuple(mask.shape)}; expected torch.bool "
                    f"of {tuple(x.shape[:-1])}, True where there is something"
                )
            x = torch.where(mask[..., None], x, 0)
            here = mask.flatten(1)
            read = here[:, :, None] & here[:, None, :]
        flat = x.flatten(1, -2)
        weights = weigh(self.theta(flat) @ self.phi(flat).transpose(-2, -1), read)
        return x + self.W_o(weights @ self.g(flat)).view(x.shape), weights
