"""Recordings: any named line of any cell in a model, and the gradient that reaches it.

    with watch(model) as seen:
        loss = model.loss(batch).total
    seen.backward(loss)
    seen.layers                      # one for each layer and direction that ran
    seen.line(0, "f")                # the forget gate of every step, (T, B, n)
    seen.gradient(0, "h")            # dL/dh_t of every step, (T, B, n)

The model may be in training or in evaluation, on any device. Look before its weights change:
lines are found by doing the recorded call again.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from unspool.cells.cell import Bound, Cell
from unspool.engine import Seen, bptt, unfold, watching


@dataclass(frozen=True)
class Layer:
    """One cell of a model: its name among the modules, in words, and its lines with their sizes."""

    name: str
    title: str
    lines: dict[str, int]


@dataclass
class Watched:
    """What ran, by layer: the calls of each cell in their order."""

    layers: list[Layer] = field(default_factory=list)
    calls: list[list[Seen]] = field(default_factory=list)

    def backward(self, loss: Tensor) -> None:
        """Sends the loss back to every layer, and not to the parameters, whose gradients stay.

        `loss.backward()` does as well, if those are wanted too.
        """
        calls = [call for calls in self.calls for call in calls]
        wanted = [v for call in calls for v in (call.ys, *call.last) if v.requires_grad]
        if not wanted:
            raise ValueError("nothing was kept to go back through: run it with gradients enabled")
        loss.backward(inputs=wanted)

    def line(self, layer: int, name: str) -> Tensor:
        """A line at every step, (T, B, n); a state's name means its new value.

        Where a cell was called several times, as a decoder is step by step, the steps of all
        calls follow each other.
        """
        return torch.cat(self.lines(layer, name))

    def gradient(self, layer: int, name: str) -> Tensor:
        """dL/d(line) at every step, (T, B, n), over all that came of it; after `backward()`."""
        return torch.cat(self.gradients(layer, name))

    def lines(self, layer: int, name: str) -> list[Tensor]:
        """The same for each call by itself: calls may have different rows."""
        self._check(layer, name)
        return [_line(call, name) for call in self.calls[layer]]

    def gradients(self, layer: int, name: str) -> list[Tensor]:
        self._check(layer, name)
        outputs = [value for call in self.calls[layer] for value in (call.ys, *call.last)]
        if all(value.grad is None for value in outputs):
            raise ValueError(
                "no gradient has come back to this layer: send a loss back first, with "
                "backward(loss); the model must run with gradients enabled"
            )
        return [_gradient(call, name) for call in self.calls[layer]]

    def _check(self, layer: int, name: str) -> None:
        if not self.layers:
            raise ValueError("no cell ran while this was watched: call the model inside the block")
        if not 0 <= layer < len(self.layers):
            raise ValueError(f"there are layers 0 to {len(self.layers) - 1}, not {layer}")
        known = self.layers[layer].lines
        if name not in known:
            title = self.layers[layer].title
            raise ValueError(f"{title} has no line {name!r}; it has {', '.join(known)}")


@contextmanager
def watch(model: nn.Module) -> Iterator[Watched]:
    """Watches every cell of the model that runs inside this block; filled when it ends."""
    found = Watched()
    with watching() as calls:
        yield found
    names = {id(module): name for name, module in model.named_modules()}
    places: dict[Any, int] = {}
    for call in calls:
        # A layer in torch's own layout binds its weights anew each time: it has no name to tell.
        key = id(call.cell) if id(call.cell) in names else object()
        if key not in places:
            places[key] = len(found.layers)
            name = names.get(id(call.cell), f"call {len(found.layers) + 1}")
            found.layers.append(Layer(name, in_words(name), lines_of(call.cell)))
            found.calls.append([])
        found.calls[places[key]].append(call)


def in_words(name: str) -> str:
    """`net.encoder.layers.0.cells.1` as "encoder, layer 1, backwards"."""
    place = re.fullmatch(r"(.*?)\.?layers\.(\d+)\.cells\.(\d+)", name)
    if place is None:
        return name
    owner, layer, direction = place.groups()
    kept = [part for part in owner.split(".") if part not in ("", "net", "layers", "forwards")]
    words = ["reader " + str(int(p) + 1) if p.isdecimal() else p for p in kept if p != "readers"]
    turned = ["backwards"] if direction == "1" and "backwards" not in words else []
    return ", ".join([*words, f"layer {int(layer) + 1}", *turned])


def lines_of(cell: Any) -> dict[str, int]:
    """What can be recorded of a cell, and how many units it has."""
    if not isinstance(cell, Cell | Bound):
        return dict(cell.state_sizes)
    bound = cell.bind() if isinstance(cell, Cell) else cell
    carried = bound.equations.carried
    return {name: bound.size(carried.get(name, name)) for name in bound.equations.recordable}


@torch.no_grad()
def _line(call: Seen, name: str) -> Tensor:
    _, _, lines = unfold(
        call.as_it_ran(),
        call.xs,
        call.state,
        lengths=call.lengths,
        reverse=call.reverse,
        masks=call.masks,
        record=(name,),
    )
    return lines[name]


def _gradient(call: Seen, name: str) -> Tensor:
    d_ys = torch.zeros_like(call.ys) if call.ys.grad is None else call.ys.grad
    ends = [torch.zeros_like(s) if s.grad is None else s.grad for s in call.last]
    found = bptt(
        call.as_it_ran(),
        call.xs.detach(),
        None if call.state is None else [value.detach() for value in call.state],
        d_ys=d_ys,
        d_state=ends,
        lengths=call.lengths,
        reverse=call.reverse,
        masks=call.masks,
        record=(name,),
    )
    return found.recorded[name]
