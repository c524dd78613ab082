"""`Recurrent`: any cell, stacked, in one direction or both."""

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from unspool.cells.cell import Cell
from unspool.engine import (
    Masks,
    Stepper,
    draw_masks,
    expected_masks,
    leaf,
    no_script,
    unfold_directions,
)
from unspool.layers.dropout import Dropout
from unspool.layers.initial import LearnedState
from unspool.layers.merge import Merge, MergeDirections, check_merge
from unspool.layers.skip import SKIPS, Residual, Skip


class Recurrent(nn.Module):
    """`ys, state = layer(xs)` for `xs` of shape (T, B, I).

    The state is a tuple over layers of tuples over directions of the cell's own state; it goes
    in and comes out. `hidden_size` is one size or one per layer. `skip="residual"` adds each
    layer's input to its output, `skip="dense"` gives each layer the input and the outputs of all
    layers below. `dropout` is a probability between layers, or a `Dropout` with other kinds.
    `initial="learned"` starts from trained vectors. Sizes that the equations declare follow by
    name: `Recurrent(LSTMProjected, 64, 128, proj=32)`.
    """

    def __init__(
        self,
        cell: Callable[..., Any],
        input_size: int,
        hidden_size: int | Sequence[int] | None,
        num_layers: int = 1,
        bidirectional: bool = False,
        merge: Merge = "concat",
        skip: Skip | None = None,
        dropout: float | Dropout = 0.0,
        initial: Literal["zeros", "learned"] = "zeros",
        **sizes: int,
    ):
        super().__init__()
        if skip is not None and skip not in SKIPS:
            raise ValueError(f"skip is None or one of {', '.join(SKIPS)}, not {skip!r}")
        if initial not in ("zeros", "learned"):
            raise ValueError(f"initial is 'zeros' or 'learned', not {initial!r}")
        if isinstance(cell, Cell):
            raise ValueError("Recurrent builds its own cells: give it the cell type, without sizes")
        check_merge(merge)
        self.dropout = dropout if isinstance(dropout, Dropout) else Dropout(between=dropout)
        self.input_size, self.skip = input_size, skip
        self.layers, self.residuals = nn.ModuleList(), nn.ModuleList()
        if self.dropout.between and len(_per_layer(hidden_size, num_layers)) == 1:
            warnings.warn(
                "dropout between layers does nothing where there is one layer", stacklevel=2
            )
        size = below = input_size
        for hidden in _per_layer(hidden_size, num_layers):
            cells = [cell(size, hidden, **sizes) for _ in range(1 + bidirectional)]
            layer = _Layer(cells, merge, initial == "learned")
            self.layers.append(layer)
            if skip == "residual":
                self.residuals.append(Residual(size, layer.output_size))
            below += layer.output_size
            size = below if skip == "dense" else layer.output_size
            self.output_size = layer.output_size

    @leaf
    def forward(
        self,
        xs: Tensor,
        state: Sequence[Sequence[Any]] | None = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        record: Sequence[str] = (),
        backend: str = "auto",
        recompute: int | None = None,
    ) -> Any:
        """As `unfold`; what is recorded comes as a tuple over layers of tuples over directions."""
        names = (record,) if isinstance(record, str) else tuple(record)
        how = _How(lengths, _inside(xs, lengths), names, backend, self.training, recompute)
        ys, states, records = self._run(xs, state, how)
        return (ys, states, records) if record else (ys, states)

    __prepare_scriptable__ = no_script

    def stepper(self) -> Callable[..., tuple[Tensor, Any]]:
        """`y, state = step(x, state)` for x of shape (B, I), as in evaluation, without gradients.

        It takes a copy of the weights: make a new one when they have changed.
        """
        self._check_forwards()
        own = copy.deepcopy(self).eval()
        cells = [cell for layer in own.layers for cell in _cells(layer)]
        zoneout = self.dropout.zoneout
        masks = {cell: expected_masks(cell, zoneout) if zoneout else None for cell in cells}
        steppers = {cell: Stepper(cell, mask) for cell, mask in masks.items()}
        how = _How(None, None, (), "auto", False, None, steppers)

        @torch.no_grad()
        def step(x: Tensor, state: Sequence[Sequence[Any]] | None = None) -> tuple[Tensor, Any]:
            ys, last, _ = own._run(x[None], state, how)
            return ys[0], last

        return step

    def walker(self, backend: str = "auto") -> Callable[..., tuple[Tensor, Any]]:
        """`y, state = walk(x, state)` for x of shape (B, I): one step, with its gradient.

        For loops in which the next input depends on the last output. All steps of one walker
        are like one call of the layer: what variational dropout drops, it drops at every step.
        """
        self._check_forwards()
        how = _How(None, None, (), backend, self.training, None, drawn={})

        def walk(x: Tensor, state: Sequence[Sequence[Any]] | None = None) -> tuple[Tensor, Any]:
            ys, last, _ = self._run(x[None], state, how)
            return ys[0], last

        return walk

    def _check_forwards(self) -> None:
        if any(len(_cells(layer)) > 1 for layer in self.layers):
            raise ValueError("a layer that also reads backwards has no next step to take")

    def _run(
        self, xs: Tensor, state: Sequence[Sequence[Any]] | None, how: "_How"
    ) -> tuple[Tensor, tuple[Any, ...], tuple[Any, ...]]:
        if state is not None and len(state) != len(self.layers):
            raise ValueError(f"the state covers {len(self.layers)} layers; got {len(state)}")
        states, records = [], []
        below = up = ys = xs
        for index, layer in enumerate(self.layers):
            inputs = below if self.skip == "dense" else up
            start = None if state is None else state[index]
            ys, last, recorded = layer(inputs, start, self.dropout, how)
            if self.skip == "residual":
                ys = self.residuals[index](inputs, ys, how.inside)
            if index + 1 < len(self.layers):
                up = self.dropout.drop_between(ys, how.training)
            if self.skip == "dense":
                below = torch.cat((below, up), -1) if index + 1 < len(self.layers) else below
            states.append(last)
            records.append(recorded)
        return ys, tuple(states), tuple(records)


@dataclass(frozen=True)
class _How:
    """What every layer of one call has in common. `inside` (T, B, 1) is False past a row's end."""

    lengths: Tensor | Sequence[int] | None
    inside: Tensor | None
    record: tuple[str, ...]
    backend: str
    training: bool
    recompute: int | None
    steppers: Mapping[Any, Stepper] | None = None
    drawn: dict[Any, Any] | None = None  # what was dropped at the first step, for the others

    def once(self, owner: Any, draw: Callable[[], Any]) -> Any:
        """What is drawn once for all steps: by each call, or by the first step of a walk."""
        if self.drawn is None:
            return draw()
        if owner not in self.drawn:
            self.drawn[owner] = draw()
        return self.drawn[owner]


class _Layer(nn.Module):
    """One layer: a cell each direction, merged."""

    def __init__(self, cells: list[Any], merge: Merge, learned: bool):
        super().__init__()
        for cell in cells:
            if not isinstance(cell, nn.Module):
                raise ValueError(
                    f"a layer is made of modules, and {type(cell).__name__} is none: "
                    "make the class a torch.nn.Module, so that its parameters are found"
                )
        self.cells = nn.ModuleList(cells)
        self.starts = nn.ModuleList(LearnedState(cell) for cell in cells if learned)
        self.merge = MergeDirections(merge, cells[0].output_size) if len(cells) == 2 else None
        self.output_size = cells[0].output_size if self.merge is None else self.merge.output_size

    def forward(
        self, xs: Tensor, state: Sequence[Any] | None, dropout: Dropout, how: _How
    ) -> tuple[Tensor, tuple[Any, ...], tuple[dict[str, Tensor], ...]]:
        if state is None:
            learned = (start(xs.shape[1]) for start in self.starts)
            state = tuple(learned) if self.starts else (None,) * len(self.cells)
        if len(state) != len(self.cells):
            count = f"{len(self.cells)} direction{'s' * (len(self.cells) > 1)}"
            raise ValueError(f"a layer's state covers {count}; got {len(state)}")
        inputs = how.once(self, lambda: dropout.input_mask(xs, how.training))
        xs = xs if inputs is None else xs * inputs
        if how.steppers is not None:
            y, end = how.steppers[self.cells[0]](xs[0], state[0])
            return y[None], (end,), ()
        found = unfold_directions(
            list(self.cells),
            xs,
            state,
            masks=[_masks(cell, xs, dropout, how) for cell in self.cells],
            lengths=how.lengths,
            backend=how.backend,
            record=how.record,
            recompute=how.recompute,
        )
        outputs, last, *recorded = zip(*found, strict=True)
        records = recorded[0] if recorded else ()
        ys = outputs[0] if self.merge is None else self.merge(*outputs, how.inside)
        return ys, last, records


def _masks(cell: Any, xs: Tensor, dropout: Dropout, how: _How) -> Masks | None:
    masks = how.once(cell, lambda: dropout.masks(cell, xs, how.training))
    if how.drawn is None or masks is None or not (how.training and dropout.zoneout):
        return masks
    return replace(masks, keep=draw_masks(cell, xs, zoneout=dropout.zoneout).keep)


def _cells(layer: nn.Module) -> nn.ModuleList:
    assert isinstance(layer, _Layer)
    return layer.cells


def _inside(xs: Tensor, lengths: Tensor | Sequence[int] | None) -> Tensor | None:
    if lengths is None:
        return None
    steps = torch.arange(xs.shape[0], device=xs.device)
    return (steps[:, None] < torch.as_tensor(lengths, device=xs.device))[..., None]


def _per_layer(hidden_size: int | Sequence[int] | None, num_layers: int) -> list[Any]:
    """One size a layer; None where the equations declare every size themselves."""
    if num_layers < 1:
        raise ValueError(f"num_layers is at least 1, not {num_layers}")
    if not isinstance(hidden_size, Sequence) or isinstance(hidden_size, str):
        return [hidden_size] * num_layers
    sizes = list(hidden_size)
    if not sizes or num_layers not in (1, len(sizes)):
        raise ValueError(
            f"hidden_size has {len(sizes)} sizes for {num_layers} layers: give one per layer"
        )
    return sizes
