"""One call of `unfold`, checked and ready for any backend."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from unspool.cells.cell import Bound, Cell, CellType
from unspool.cells.state import make_state
from unspool.engine.masks import Masks, masked_equations
from unspool.equations.rewrite import drop_name, keep_name, recurrent_operands


@runtime_checkable
class PythonCell(Protocol):
    """A cell as an ordinary class: sizes, and one step in torch."""

    state_sizes: Mapping[str, int]
    output_size: int

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]: ...


@dataclass(frozen=True)
class Call:
    """What a backend gets. Masks that change by step are (T, B, n) or a number, others (B, n)."""

    cell: Bound | PythonCell
    xs: Tensor
    state: Any
    lengths: Tensor | None
    reverse: bool
    record: tuple[str, ...]
    step_masks: Mapping[str, Tensor | float]
    row_masks: Mapping[str, Tensor]


def prepare(
    cell: Any,
    xs: Tensor,
    state: Sequence[Tensor] | None,
    *,
    lengths: Tensor | Sequence[int] | None,
    reverse: bool,
    masks: Masks | None,
    record: Sequence[str],
) -> Call:
    bound = _bound(cell)
    if not isinstance(xs, Tensor) or xs.dim() != 3:
        found = f"a tensor of shape {tuple(xs.shape)}" if isinstance(xs, Tensor) else repr(type(xs))
        raise ValueError(f"xs is a tensor of shape (T, B, I): steps, rows, features; got {found}")
    xs = _same_kind(bound, xs)
    if isinstance(bound, Bound) and xs.shape[2] != bound.sizes["input"]:
        raise ValueError(
            f"xs has {xs.shape[2]} features a step, and the cell was built with input_size="
            f"{bound.sizes['input']}; xs has shape {tuple(xs.shape)}, expected (T, B, I)"
        )
    masks = masks or Masks()
    call = Call(
        bound, xs, _state(bound, state, xs), _lengths(lengths, xs), reverse,
        _record(bound, record), *_masks(bound, masks, xs),
    )  # fmt: skip
    return replace(call, cell=_with_masks(bound, masks)) if isinstance(bound, Bound) else call


def _bound(cell: Any) -> Bound | PythonCell:
    if isinstance(cell, Cell):
        return cell.bind()
    if isinstance(cell, Bound):
        return cell
    if isinstance(cell, CellType):
        raise ValueError(
            f"{cell.name} is a cell type; unfold takes a cell, which has sizes: "
            f"{cell.name}(input_size, hidden_size)"
        )
    if isinstance(cell, PythonCell):
        return cell
    raise ValueError(
        f"{type(cell).__name__} is no cell: write one as equations with unspool.cell, or as a "
        "class with state_sizes, output_size and step(x, state) -> (y, state)"
    )


def _same_kind(cell: Bound | PythonCell, xs: Tensor) -> Tensor:
    """`xs` as the cell can take it: on its device, of its dtype, which autocast yields to."""
    if isinstance(cell, Bound):
        weight = next(iter(cell.tensors.values()), xs)
    else:
        weight = next(cell.parameters(), xs) if isinstance(cell, nn.Module) else xs
    if xs.device != weight.device:
        raise ValueError(f"xs is on {xs.device} and the cell on {weight.device}: move one of them")
    if xs.dtype != weight.dtype and not (autocast_is_on(xs.device.type) and xs.is_floating_point()):
        raise ValueError(
            f"xs is {xs.dtype} and the cell's parameters are {weight.dtype}: "
            f"convert one, for example xs.to({weight.dtype})"
        )
    return xs.to(weight.dtype)


def autocast_is_on(device: str) -> bool:
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def without_autocast(device: str) -> AbstractContextManager[Any]:
    return torch.autocast(device, enabled=False) if autocast_is_on(device) else nullcontext()


def _state(cell: Bound | PythonCell, state: Sequence[Tensor] | None, xs: Tensor) -> Any:
    sizes = cell.state_sizes
    names = tuple(sizes)
    B = xs.shape[1]
    if state is None:
        return make_state(names, (xs.new_zeros(B, n) for n in sizes.values()))
    expected = ", ".join(f"{name} ({B}, {n})" for name, n in sizes.items())
    if isinstance(state, Tensor) or len(state) != len(names):
        found = "one tensor" if isinstance(state, Tensor) else f"{len(state)} values"
        raise ValueError(f"the state is a tuple of {len(names)}: {expected}; got {found}")
    for (name, n), value in zip(sizes.items(), state, strict=True):
        if not isinstance(value, Tensor) or value.shape != (B, n):
            found = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise ValueError(f"state {name} has shape {found}; expected {expected}")
    return make_state(names, (value.to(xs.dtype) for value in state))


def _lengths(lengths: Tensor | Sequence[int] | None, xs: Tensor) -> Tensor | None:
    if lengths is None:
        return None
    lengths = torch.as_tensor(lengths)
    T, B = xs.shape[:2]
    if lengths.shape != (B,) or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise ValueError(
            f"lengths is one whole number for each of the {B} rows; got shape "
            f"{tuple(lengths.shape)} of {lengths.dtype}"
        )
    # on another device the check would make the host wait; the reference reads them there anyway
    if (
        lengths.device.type == "cpu"
        and B
        and not (0 <= int(lengths.min()) <= int(lengths.max()) <= T)
    ):
        raise ValueError(f"lengths lie between 0 and the {T} steps of xs; got {lengths.tolist()}")
    return lengths


def _record(cell: Bound | PythonCell, record: Sequence[str]) -> tuple[str, ...]:
    if isinstance(record, str):
        record = (record,)
    known = cell.equations.recordable if isinstance(cell, Bound) else tuple(cell.state_sizes)
    for name in record:
        if name not in known:
            raise ValueError(
                f"there is no line {name!r} to record; the cell has {', '.join(known)}"
            )
    return tuple(record)


def _masks(
    cell: Bound | PythonCell, masks: Masks, xs: Tensor
) -> tuple[dict[str, Tensor | float], dict[str, Tensor]]:
    T, B = xs.shape[:2]
    sizes = cell.state_sizes
    for state, keep in masks.keep.items():
        if state not in sizes:
            raise ValueError(f"a keep mask names {state!r}; the states are {', '.join(sizes)}")
        _check_mask(f"keep[{state!r}]", keep, (T, B, sizes[state]))
    if isinstance(cell, Bound):
        operands = recurrent_operands(cell.equations)
        for text, mask in masks.operands.items():
            if text not in operands:
                listed = ", ".join(operands) or "none"
                raise ValueError(
                    f"an operand mask names {text!r}; the recurrent operands are: {listed}"
                )
            _check_mask(f"operands[{text!r}]", mask, (B, operands[text][1].value(cell.sizes)))
        for name, mask in masks.weights.items():
            if name not in cell.equations.matrices:
                raise ValueError(f"a weight mask names {name!r}, which is no matrix of the cell")
            _check_mask(f"weights[{name!r}]", mask, tuple(cell.tensors[name].shape))
    elif masks.operands or masks.weights:
        raise ValueError("operand and weight masks need a cell written as equations")
    return (
        {keep_name(state): keep for state, keep in masks.keep.items()},
        {drop_name(text): mask for text, mask in masks.operands.items()},
    )


def _check_mask(name: str, mask: Tensor | float, shape: tuple[int, ...]) -> None:
    if isinstance(mask, Tensor) and tuple(mask.shape) != shape:
        raise ValueError(f"the mask {name} has shape {tuple(mask.shape)}; expected {shape}")


def _with_masks(bound: Bound, masks: Masks) -> Bound:
    """The cell that the masks make: rewritten equations, matrices with entries dropped."""
    tensors = dict(bound.tensors)
    for name, mask in masks.weights.items():
        tensors[name] = tensors[name] * mask
    rewritten = masked_equations(bound.equations, tuple(masks.keep), tuple(masks.operands))
    return Bound(rewritten, bound.sizes, tensors)
