"""The likeliest tokens of every row, and always the same ones among equals."""

import torch
from torch import Tensor

CHUNK = 64


def likeliest(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Of each row of log_probs (R, V) the `count` largest, and their tokens, (R, count) both.

    They come in no particular order. Of tokens that are equally likely the lower are taken. NaN
    anywhere in a row is among the values of that row.
    """
    V = log_probs.shape[1]
    count = min(count, V)
    values, tokens = _top(log_probs, min(count + 1, V))  # one more, to see a tie at the border
    if count < V:
        least, spare = values[:, count - 1], values[:, count]
        tied = (least == spare) & (least > -torch.inf) & ~values[:, 0].isnan()
        tied = tied.nonzero()[:, 0]
        values, tokens = values[:, :count], tokens[:, :count]
        if len(tied):
            tokens[tied] = _lowest(log_probs[tied], least[tied, None], count)
            values[tied] = log_probs[tied].gather(1, tokens[tied])
    return values, tokens


def _top(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """torch.topk, several times faster for a few of many.

    The largest values of a row lie in those of its chunks that have the largest maxima, and a
    maximum is quickly found.
    """
    R, V = log_probs.shape
    chunks = V // CHUNK
    if chunks < 4 * count:
        return log_probs.topk(count, 1)
    whole = chunks * CHUNK
    _, best = log_probs[:, :whole].unflatten(1, (chunks, CHUNK)).amax(2).topk(count, 1)
    near = torch.arange(CHUNK, device=best.device)
    left = torch.arange(whole, V, device=best.device).expand(R, -1)
    tokens = torch.cat(((best[:, :, None] * CHUNK + near).flatten(1), left), 1)
    values, places = log_probs.gather(1, tokens).topk(count, 1)
    return values, tokens.gather(1, places)


def _lowest(log_probs: Tensor, least: Tensor, count: int) -> Tensor:
    """All tokens above `least` (R, 1), and of those equal to it the lowest, `count` in all."""
    above, equal = log_probs > least, log_probs == least
    spare = count - above.sum(1, keepdim=True)
    return (above | (equal & (equal.cumsum(1) <= spare))).nonzero()[:, 1].view(-1, count)
