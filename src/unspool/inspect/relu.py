"""A random ReLU network without input, run forward and back: it dies out or explodes.

Karpathy's experiment, as Masi and Faralli show it: h_t = relu(U @ h_(t-1)) from a random start,
and a random gradient injected at the last step. Going back, the gradient is multiplied by the
same U^T at every step, wherever s_t = U @ h_(t-1) is above zero (the notes mask with h_(t-1)).
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class ReluRun:
    """`states` h_0 ... h_T and `gradients` dL/dh_0 ... dL/dh_T, both (T + 1, H).

    `active` (T, H) says which units were above zero at each step.
    """

    scale: float
    states: Tensor
    gradients: Tensor
    active: Tensor

    @property
    def forward_norms(self) -> Tensor:
        return self.states.norm(dim=-1)

    @property
    def gradient_norms(self) -> Tensor:
        return self.gradients.norm(dim=-1)


def random_relu(*, steps: int = 50, hidden: int = 64, scale: float = 1.0, seed: int = 0) -> ReluRun:
    """One run with U = scale * (standard normal numbers), in float64.

    A seed gives the same numbers for every scale, and then the same units are active: a scale
    above zero changes h_t by the factor scale^t, and dL/dh_t by scale^(T-t), nothing else. With
    many units norms stay about the same where scale is near sqrt(2 / hidden); with few, such as
    the 5 of the notes, all may be off at some step, and from there on everything is zero.
    """
    if steps < 1 or hidden < 1:
        raise ValueError(f"steps and hidden are 1 or more, not {steps} and {hidden}")
    if not 0 <= scale < float("inf"):
        raise ValueError(f"the scale of the weights is a number, 0 or above, not {scale}")
    draw = torch.Generator().manual_seed(seed)
    U = scale * torch.randn(hidden, hidden, generator=draw, dtype=torch.float64)
    h, d_h = torch.randn(2, hidden, generator=draw, dtype=torch.float64)
    states, active = [h], []
    for _ in range(steps):
        s = U @ states[-1]
        states.append(s.relu())
        active.append(s > 0)
    gradients = [d_h]
    for on in reversed(active):
        gradients.append(U.T @ (on * gradients[-1]))
    return ReluRun(scale, torch.stack(states), torch.stack(gradients[::-1]), torch.stack(active))
