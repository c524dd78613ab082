"""From an encoder's last state, or from any vector, to the state that a decoder starts from."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from unspool.cells.state import make_state
from unspool.layers import Recurrent


class Bridge(nn.Module):
    """s_0 = tanh(W v + b), for every state of every layer of the decoder.

    `bridge(vectors)` takes one vector (B, n) for each layer, of the `sizes` given.
    """

    def __init__(self, sizes: Sequence[int], decoder: Recurrent):
        super().__init__()
        self.states = [sizes_of(layer)[0] for layer in decoder.layers]
        if len(sizes) != len(self.states):
            raise ValueError(
                f"the decoder has {len(self.states)} layers: give as many sizes, not {len(sizes)}"
            )
        self.maps = nn.ModuleList(
            nn.Linear(size, sum(states.values()))
            for size, states in zip(sizes, self.states, strict=True)
        )

    @classmethod
    def from_vector(cls, size: int, decoder: Recurrent) -> "Bridge":
        """For one to many: every layer starts from the same vector; give it once a layer."""
        return cls([size] * len(decoder.layers), decoder)

    def forward(self, vectors: Sequence[Tensor]) -> tuple[Any, ...]:
        found = []
        for vector, to_states, states in zip(vectors, self.maps, self.states, strict=True):
            values = to_states(vector).tanh().split(list(states.values()), -1)
            found.append((make_state(tuple(states), values),))
        return tuple(found)


class EncoderBridge(nn.Module):
    """The decoder's start from the encoder's end, layer by layer.

    Where the two have the same states of the same sizes it is handed over as it is; where not,
    by a learned `Bridge` that reads all states of both directions. A decoder with more layers
    than the encoder reads the encoder's last one again.
    """

    def __init__(self, encoder: Recurrent, decoder: Recurrent):
        super().__init__()
        here = [sizes_of(layer) for layer in encoder.layers]
        there = [sizes_of(layer) for layer in decoder.layers]
        self.which = [min(k, len(here) - 1) for k in range(len(there))]
        sizes = [sum(n for states in here[k] for n in states.values()) for k in self.which]
        # As lists: the order of states counts, for they are handed over by their places.
        ordered = ([[list(d.items()) for d in layer] for layer in side] for side in (here, there))
        self.learned = None if next(ordered) == next(ordered) else Bridge(sizes, decoder)

    def forward(self, state: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        if self.learned is None:
            return tuple(tuple(layer) for layer in state)
        return self.learned(
            [torch.cat([part for one in state[k] for part in one], -1) for k in self.which]
        )


def sizes_of(layer: Any) -> list[dict[str, int]]:
    """For each direction of a layer its states' sizes."""
    return [dict(cell.state_sizes) for cell in layer.cells]
