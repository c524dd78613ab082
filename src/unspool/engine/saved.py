"""What a forward pass leaves for the backward pass."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass
class Saved:
    """Tensors, which autograd holds, and how the backend finds its way in them."""

    tensors: list[Tensor]
    rest: Any
