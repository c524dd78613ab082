"""Dropout of single entries, drawn as `unspool.engine.masks` draws everything."""

from torch import Tensor, nn

from unspool.engine.masks import check_probability, keep_mask


def drop(xs: Tensor, p: float, training: bool) -> Tensor:
    """Entries become 0 with probability p, and the others 1 / (1 - p) times what they were."""
    if not (training and p):
        return xs
    if xs.device.type != "cpu":
        return nn.functional.dropout(xs, p)
    return xs * keep_mask(tuple(xs.shape), p, xs)


class Drop(nn.Module):
    """`drop` as a module, in the place of torch.nn.Dropout: more than twice as fast on a CPU."""

    def __init__(self, p: float):
        super().__init__()
        check_probability("dropout", p)
        self.p = p

    def forward(self, xs: Tensor) -> Tensor:
        return drop(xs, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"
