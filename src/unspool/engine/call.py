"""One call of `unfold`, checked and ready for any backend."""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from unspool.cells.cell import Bound, Cell, CellType
from unspool.cells.state import make_state
from unspool.engine.masks import Masks, check_masks, masked_equations
from unspool.equations.program import Equations
from unspool.equations.rewrite import drop_name, keep_name


class CallError(ValueError, RuntimeError):
    """Tensors do not fit a cell, or each other. torch's layers raise RuntimeError for it."""


@runtime_checkable
class PythonCell(Protocol):
    """A cell as an ordinary class: sizes, and one step in torch."""

    state_sizes: Mapping[str, int]
    output_size: int

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]: ...


@dataclass(slots=True)
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

    def on(self, tensors: Sequence[Any]) -> "Call":
        """The same call on other tensors: xs, the state, the parameters."""
        assert isinstance(self.cell, Bound)
        count = 1 + len(self.state)
        parameters = dict(zip(self.cell.tensors, tensors[count:], strict=True))
        return Call(
            cell=Bound(self.cell.equations, self.cell.sizes, parameters),
            xs=tensors[0],
            state=type(self.state)(*tensors[1:count]),
            lengths=self.lengths,
            reverse=self.reverse,
            record=self.record,
            step_masks=self.step_masks,
            row_masks=self.row_masks,
        )


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
    bound = bound_of(cell)
    if not isinstance(xs, Tensor) or xs.dim() != 3:
        found = f"a tensor of shape {tuple(xs.shape)}" if isinstance(xs, Tensor) else repr(type(xs))
        raise CallError(f"xs is a tensor of shape (T, B, I): steps, rows, features; got {found}")
    xs = _same_kind(bound, xs)
    half = under_autocast(bound, xs.device.type)
    if half is not bound:
        bound, xs = half, xs.to(_dtype(half, xs))
    if isinstance(bound, Bound) and xs.shape[2] != bound.sizes["input"]:
        raise CallError(
            f"xs has {xs.shape[2]} features a step, and the cell was built with input_size="
            f"{bound.sizes['input']}; xs has shape {tuple(xs.shape)}, expected (T, B, I)"
        )
    start = state_like(bound, state, xs)
    call = Call(bound, xs, start, _lengths(lengths, xs), reverse, _record(bound, record), {}, {})
    if masks is not None:
        check_masks(bound, masks, xs)
        call.cell = _with_masks(bound, masks) if isinstance(bound, Bound) else bound
        call.step_masks = {keep_name(n): _as(start[0], mask) for n, mask in masks.keep.items()}
        call.row_masks = {drop_name(n): _as(xs, mask) for n, mask in masks.operands.items()}
    return call


def _as(like: Tensor, mask: Any) -> Any:
    return mask.to(like.device, like.dtype) if isinstance(mask, Tensor) else mask


def bound_of(cell: Any) -> Bound | PythonCell:
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
    """`xs` as the cell can take it: on its device, and, under autocast, of its dtype.

    A Python cell may read symbols: whole numbers stay what they are.
    """
    weight = _weight(cell, xs)
    if xs.device != weight.device:
        raise CallError(f"xs is on {xs.device} and the cell on {weight.device}: move one of them")
    if isinstance(cell, Bound):
        shapes = _shapes(cell.equations, tuple(cell.sizes.items()))
        for name, tensor in cell.tensors.items():
            if tensor.shape != shapes[name]:
                raise CallError(
                    f"the parameter {name} has shape {tuple(tensor.shape)}; the equations and the "
                    f"sizes of the cell ask for {tuple(shapes[name])}"
                )
            if tensor.dtype != weight.dtype or tensor.device != weight.device:
                raise CallError(
                    f"the parameters of a cell are of one kind: {name} is {tensor.dtype} on "
                    f"{tensor.device}, and another is {weight.dtype} on {weight.device}"
                )
    if xs.dtype == weight.dtype or not (isinstance(cell, Bound) or xs.is_floating_point()):
        return xs
    if not (autocast_is_on(xs.device.type) and xs.is_floating_point()):
        raise CallError(
            f"xs is {xs.dtype} and the cell's parameters are {weight.dtype}: "
            f"convert one, for example xs.to({weight.dtype})"
        )
    return xs.to(weight.dtype)


@lru_cache(maxsize=256)
def _shapes(equations: Equations, sizes: tuple[tuple[str, int], ...]) -> dict[str, torch.Size]:
    """Of every parameter."""
    known = dict(sizes)
    return {
        name: torch.Size(size.value(known) for size in equations.shape(name))
        for name in equations.parameters
    }


def autocast_is_on(device: str) -> bool:
    # the compiler of torch before 2.12 does not know the first question
    exists = device in ("cpu", "cuda") or torch.amp.is_autocast_available(device)
    return exists and torch.is_autocast_enabled(device)


def under_autocast(cell: Any, device: str) -> Any:
    """The cell in the dtype that autocast asks for, as torch.nn's layers have it on a GPU.

    On the CPU it stays as it is: bfloat16 is a backend there, which rounds products alone.
    """
    if not isinstance(cell, Bound) or not autocast_decides(device):
        return cell
    return in_dtype(cell, torch.get_autocast_dtype(device))


def autocast_decides(device: str) -> bool:
    return device != "cpu" and autocast_is_on(device)


def in_dtype(cell: Bound, dtype: torch.dtype) -> Bound:
    """With parameters of another dtype; float64 stays, as it does under autocast."""
    kinds = {tensor.dtype for tensor in cell.tensors.values()}
    if kinds <= {dtype, torch.float64}:
        return cell
    return replace(cell, tensors={name: value.to(dtype) for name, value in cell.tensors.items()})


def without_autocast(device: str) -> AbstractContextManager[Any]:
    return torch.autocast(device, enabled=False) if autocast_is_on(device) else nullcontext()


def state_like(
    cell: Bound | PythonCell, state: Sequence[Tensor] | None, xs: Tensor, what: str = "state"
) -> Any:
    """A state, or the gradient of one, checked against the cell; zeros if there is none."""
    sizes, B, dtype = cell.state_sizes, xs.shape[1], _dtype(cell, xs)
    names = tuple(sizes)
    if state is None:
        return make_state(names, zeros(xs, [(B, n) for n in sizes.values()], dtype))
    expected = ", ".join(f"{name} ({B}, {n})" for name, n in sizes.items())
    if not isinstance(state, Sequence) or len(state) != len(names):
        found = (
            f"{len(state)} values" if isinstance(state, Sequence) else f"a {type(state).__name__}"
        )
        raise CallError(f"the {what} is a tuple of {len(names)}: {expected}; got {found}")
    for (name, n), value in zip(sizes.items(), state, strict=True):
        if not isinstance(value, Tensor) or value.shape != (B, n):
            found = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise CallError(f"{what} {name} has shape {found}; expected {expected}")
        if value.device != xs.device:
            raise CallError(f"{what} {name} is on {value.device} and xs on {xs.device}: move one")
        if isinstance(cell, Bound) and value.dtype != dtype and not autocast_is_on(xs.device.type):
            raise CallError(f"{what} {name} is {value.dtype} and the cell is {dtype}: convert it")
    cast = isinstance(cell, Bound)
    return make_state(names, (value.to(dtype) if cast else value for value in state))


def zeros(like: Tensor, shapes: Sequence[Sequence[int]], dtype: torch.dtype) -> list[Tensor]:
    """Tensors of zeros; on a GPU in one launch, each aligned as if it were alone."""
    if not like.is_cuda or len(shapes) < 2:
        return [like.new_zeros(*shape, dtype=dtype) for shape in shapes]
    counts = [math.prod(shape) for shape in shapes]
    whole = like.new_zeros(sum(-(-count // 64) * 64 for count in counts), dtype=dtype)
    parts = whole.split([-(-count // 64) * 64 for count in counts])
    return [
        part[:count].view(*shape) for part, count, shape in zip(parts, counts, shapes, strict=True)
    ]


def _weight(cell: Bound | PythonCell, xs: Tensor) -> Tensor:
    """A parameter that tells the cell's device and dtype; the input itself if there is none."""
    if isinstance(cell, Bound):
        return next(iter(cell.tensors.values()), xs)
    return next(cell.parameters(), xs) if isinstance(cell, nn.Module) else xs


def _dtype(cell: Bound | PythonCell, xs: Tensor) -> torch.dtype:
    dtype = _weight(cell, xs).dtype
    return dtype if dtype.is_floating_point else torch.get_default_dtype()


def _lengths(lengths: Tensor | Sequence[int] | None, xs: Tensor) -> Tensor | None:
    if lengths is None:
        return None
    T, B = xs.shape[:2]
    try:
        if not isinstance(lengths, Tensor):
            lengths = torch.as_tensor(lengths, device="cpu")
    except (TypeError, ValueError, RuntimeError):
        raise CallError(
            f"lengths is {B} whole numbers, one for each row; got {lengths!r}"
        ) from None
    numbers = lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool
    if lengths.shape != (B,) or numbers:
        raise CallError(
            f"lengths is one whole number for each of the {B} rows; got shape "
            f"{tuple(lengths.shape)} of {lengths.dtype}"
        )
    # on another device the check would make the host wait; the reference reads them there anyway
    if (
        lengths.device.type == "cpu"
        and B
        and not (0 <= int(lengths.min()) <= int(lengths.max()) <= T)
    ):
        raise CallError(f"lengths lie between 0 and the {T} steps of xs; got {lengths.tolist()}")
    return lengths.to(torch.int64)


def _record(cell: Bound | PythonCell, record: Sequence[str]) -> tuple[str, ...]:
    if not record:
        return ()
    if isinstance(record, str):
        record = (record,)
    known = cell.equations.recordable if isinstance(cell, Bound) else tuple(cell.state_sizes)
    for name in record:
        if name not in known:
            raise CallError(f"there is no line {name!r} to record; the cell has {', '.join(known)}")
    return tuple(dict.fromkeys(record))


def _with_masks(bound: Bound, masks: Masks) -> Bound:
    """The cell that the masks make: rewritten equations, matrices with entries dropped."""
    tensors = dict(bound.tensors)
    for name, mask in masks.weights.items():
        tensors[name] = tensors[name] * mask.to(tensors[name].dtype)
    rewritten = masked_equations(bound.equations, tuple(masks.keep), tuple(masks.operands))
    return Bound(rewritten, bound.sizes, tensors)
