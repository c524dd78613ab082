"""A printed recurrence on the GPU: the memory that its programs meet in, and its launch."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from unspool.engine import tiles as tiling
from unspool.engine import triton_build, tune
from unspool.engine.c_build import CannotBuild
from unspool.engine.rows import as_rows
from unspool.engine.stages import Stages
from unspool.engine.triton_source import COUNTS, print_triton
from unspool.engine.triton_spec import Printed, Recurrence, Tiles, pitch

DTYPES = {
    torch.bfloat16: "bf16",
    torch.float16: "fp16",
    torch.float32: "fp32",
    torch.float64: "fp64",
}
LONG = 16  # steps from which on it is worth finding out what is fastest
IN_VAIN = 1  # what a kernel tells of its waiting, where there is the mark otherwise
WORDS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def real_of(dtype: torch.dtype) -> torch.dtype:
    """What kernels compute in, and keep for themselves."""
    return torch.promote_types(dtype, torch.float32)


@lru_cache(maxsize=16)
def chip(device: torch.device) -> tiling.Chip:
    if device.type != "cuda":
        return tiling.Chip(1)
    about = torch.cuda.get_device_properties(device)
    shared = getattr(about, "shared_memory_per_block_optin", about.shared_memory_per_block)
    hopper = about.major >= 9 and torch.version.hip is None
    return tiling.Chip(about.multi_processor_count, shared, warps_wait=hopper)


def on(device: torch.device) -> AbstractContextManager[Any]:
    """Launches, clocks and captures are the current device's."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def is_captured(device: torch.device) -> bool:
    """Whether what is launched is recorded as a graph, and not run."""
    if device.type != "cuda":
        return False
    with on(device):
        return torch.cuda.is_current_stream_capturing()


def precision_of(dtype: torch.dtype) -> str:
    """Products of float32 are as exact as torch's own setting asks.

    Three products of TF32 have nearly all digits of one of float32, and are the tensor cores' own.
    """
    if dtype != torch.float32:
        return "ieee"
    return "tf32" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "tf32x3"


@dataclass
class Side:
    """What a kernel reads for one direction: rows (N, n) by name, and the first states."""

    stages: Stages
    flat: Mapping[str, Any]
    first: Sequence[Tensor]
    backwards: bool

    def one_step(self) -> "Side":
        """The same of a single step: what a compiler needs to see."""
        call = self.stages.call
        return replace(self, stages=replace(self.stages, call=replace(call, xs=call.xs[:1])))


@dataclass
class Found:
    """What a kernel leaves: arrays of rows (N, n), outputs (T, B, n), the last states."""

    stored: dict[str, Tensor]
    outputs: dict[str, Tensor]
    last: list[Tensor]
    histories: dict[str, Tensor]  # (T + 1, B, n)

    def states_by_step(
        self, carried: Mapping[str, str | None], backwards: bool, old: Any = str
    ) -> dict[str, Tensor]:
        """Each step's old states and new ones, as rows."""
        found = {}
        for state, steps in self.histories.items():
            first, second = steps[:-1].flatten(0, 1), steps[1:].flatten(0, 1)
            if backwards:
                first, second = second, first
            found[old(state)] = first
            line = carried.get(state)
            if line:
                found[line] = second
        return found


class Loop:
    """A recurrence for up to B rows: how it is cut is settled at its first launch."""

    def __init__(
        self,
        recurrence: Recurrence,
        dtype: torch.dtype,
        B: int,
        device: torch.device,
        precision: str,
    ):
        self.rec, self.dtype = recurrence, dtype
        self.kernels: dict[bool, Kernel] = {}
        self.ways = tiling.candidates(
            tiling.Work.of(recurrence),
            B,
            dtype.itemsize,
            chip(device),
            len(recurrence.backwards),
            precision,
        )
        if not self.ways:
            raise CannotBuild(f"it has more units than the programs can hold that fit on {device}")

    def launch(self, sides: Sequence[Side]) -> list[Found]:
        """A few steps are no measure of anything: what they run with is only the likeliest."""
        xs = sides[0].stages.call.xs
        is_long = len(xs) >= LONG
        with on(xs.device):
            if is_long in self.kernels:
                return self.kernels[is_long].launch(sides)
            kernel, found = tune.fastest(self.ways, self.built, sides, is_long)
            if not is_captured(xs.device):  # where nothing can be measured
                self.kernels[is_long] = kernel
            return found

    def printed(self, way: Tiles) -> Printed:
        return print_triton(self.rec, way, DTYPES[self.dtype])

    def built(self, way: Tiles) -> "Kernel":
        return Kernel(self.rec, way, self.printed(way))


class Kernel:
    """A recurrence, printed for one way to cut it."""

    def __init__(self, recurrence: Recurrence, tiles: Tiles, printed: Printed):
        self.rec, self.tiles, self.printed = recurrence, tiles, printed
        self.function = triton_build.load(self.printed.source)
        self.proven = False
        self.variants: dict[tuple[Any, ...], Any] = {}

    def launch(self, sides: Sequence[Side]) -> list[Found]:
        xs = sides[0].stages.call.xs
        rooms, trouble = self.rooms(sides)
        self.start(self.arguments(rooms, trouble), xs.shape[1], xs.device)
        if trouble.numel() and not self.proven and not is_captured(xs.device):
            if trouble.item() == IN_VAIN:
                raise CannotBuild("programs of a kernel waited for one another in vain")
            self.proven = True
        return [room.found() for room in rooms]

    def compile(self, sides: Sequence[Side]) -> None:
        """Ahead of a launch; the compiler lets several threads at it."""
        device = sides[0].stages.call.xs.device
        arguments = self.arguments(*self.rooms([side.one_step() for side in sides]))
        with on(device):  # a thread of its own has a current device of its own
            self.function.warmup(*arguments, grid=(1,), **self.options())

    def options(self) -> dict[str, Any]:
        how: dict[str, Any] = {"num_warps": self.tiles.warps}
        return how | ({"launch_cooperative_grid": True} if self.tiles.meets else {})

    def rooms(self, sides: Sequence[Side]) -> "tuple[list[Room], Tensor]":
        """What is written to; and where it is told that somebody waited in vain."""
        places, trouble = self.meeting_places(sides[0].stages.call.xs)
        rooms = [Room(self, side, *place) for side, place in zip(sides, places, strict=True)]
        return rooms, trouble

    def arguments(self, rooms: "Sequence[Room]", trouble: Tensor) -> list[Any]:
        """In the order of `triton_source.arguments`."""
        call, out = rooms[0].side.stages.call, self.printed
        T, B = call.xs.shape[:2]
        lengths = call.lengths
        ends = call.xs if lengths is None else lengths.to(call.xs.device).contiguous()
        found: list[Any] = [T, B, 0, 0, ends, trouble, *(room.shared for room in rooms)]
        for matrices in self.matrices(rooms):
            found += [*matrices, *matrices[0].stride()]
        for name in out.arrays:
            arrays = _alike([room.array(name) for room in rooms])
            found += [*arrays, arrays[0].stride(0)]
        for name in out.vectors:
            found += [room.side.flat[name].contiguous() for room in rooms]
        for name in out.row_masks:
            masks = _alike([_straight(room.side.stages.call.row_masks[name]) for room in rooms])
            found += [*masks, masks[0].stride(0)]
        for name in out.numbers:
            found += [room.number(name) for room in rooms]
        for k in range(len(out.states)):
            found += [room.side.first[k].contiguous() for room in rooms]
        for k in range(len(out.states)):
            found += [room.last[k] for room in rooms]
        for name in out.histories:
            found += [room.histories[name] for room in rooms]
        for name in self.rec.outputs:
            found += [room.outputs[name] for room in rooms]
        for name in self.rec.stored:
            found += [call.xs if name in out.shared else room.stored[name] for room in rooms]
        return found

    def matrices(self, rooms: "Sequence[Room]") -> list[Sequence[Tensor]]:
        """Each of all rooms; those that are transposed laid out by columns."""
        names = self.printed.matrices
        own = [[room.side.stages.tensors[name] for room in rooms] for name, _ in names]
        turned = [k for k, (_, transposed) in enumerate(names) if transposed]
        columns = iter(_columns_first([matrix for k in turned for matrix in own[k]]))
        for k in turned:
            own[k] = [next(columns) for _ in rooms]
        return [_alike(matrices) for matrices in own]

    def meeting_places(self, xs: Tensor) -> tuple[list[tuple[dict[str, Tensor], Tensor]], Tensor]:
        """Memory for vectors that are read whole, every place of it marked as not yet written.

        Nothing outlives a launch: it may stand in the memory of a graph that is being made.
        """
        T, B = xs.shape[:2]
        out, sides = self.printed, len(self.rec.backwards)
        word = WORDS[xs.element_size()]
        if not out.met and not out.shared:
            nothing = torch.empty(0, dtype=torch.int32, device=xs.device)
            if self.tiles.delay:
                nothing = torch.full((1,), -1, dtype=torch.int32, device=xs.device)
            return [({}, xs.new_empty(0))] * sides, nothing
        widths = {name: pitch(self.state_size(name)) for name in out.histories if name in out.met}
        shared = sum(pitch(self.rec.sizes[name]) for name in out.shared)
        lengths = [*((T + 1) * B * width for width in widths.values()), T * B * shared]
        count = sides * sum(lengths)
        buffer = torch.full((count + 16,), -1, dtype=word, device=xs.device)
        parts = iter(buffer[:count].view(xs.dtype).split(lengths * sides))
        found = []
        for _ in range(sides):
            met = {name: next(parts).view(T + 1, B, width) for name, width in widths.items()}
            found.append((met, next(parts).view(T, B, shared)))
        return found, buffer[count:].view(torch.int32)[:1]

    def state_size(self, state: str) -> int:
        return self.rec.sizes[self.rec.carried[state][0]]

    def start(self, arguments: list[Any], B: int, device: torch.device) -> None:
        """Groups of rows, as many at once as the GPU has room for: whoever waits must be there."""
        tiles, sides = self.tiles, len(self.rec.backwards)
        groups = -(-B // tiles.rows)
        at_once = groups
        if tiles.meets:
            at_once = min(groups, chip(device).programs // (tiles.programs * sides))
        if not at_once:
            raise CannotBuild(f"{tiles.programs * sides} programs do not fit on {device} at once")
        for first in range(0, groups, at_once):
            count = min(at_once, groups - first)
            arguments[2:4] = first * tiles.rows, count
            self.run(sides * count * tiles.programs, arguments)

    def run(self, programs: int, arguments: list[Any]) -> None:
        """Triton finds out at every call which of its variants fits; here that is looked up.

        A variant depends on types, on alignment, and on strides that are 1 or multiples of 16.
        """
        numbers = [a.data_ptr() if isinstance(a, Tensor) else a for a in arguments]
        kinds = [a.dtype if isinstance(a, Tensor) else None for a in arguments]
        grain = [n & 15 if kind else n for n, kind in zip(numbers, kinds, strict=True)]
        key = (*kinds, *grain[len(COUNTS) :])
        variant = self.variants.get(key)
        if variant is not None:
            variant[(programs, 1, 1)](*numbers)
            return
        found = self.function[(programs,)](*arguments, **self.options())
        if arguments[4].is_cuda:
            self.variants[key] = found


class Room:
    """What one side of a launch writes to."""

    def __init__(self, kernel: Kernel, side: Side, histories: dict[str, Tensor], shared: Tensor):
        """What is met in is also what is left: no line is written twice."""
        self.shared = shared
        self.kernel, self.side, xs = kernel, side, side.stages.call.xs
        rec, self.shape = kernel.rec, xs.shape[:2]
        self.outputs = {name: xs.new_empty(*self.shape, rec.sizes[name]) for name in rec.outputs}
        self.last = [xs.new_empty(value.shape) for value in side.first]
        self.stored: dict[str, Tensor] = {}
        places, real = kernel.printed.shared, real_of(xs.dtype)
        T, B = self.shape
        self.histories = {
            name: histories[name]
            if name in histories
            else xs.new_empty(T + 1, B, kernel.state_size(name), dtype=real)
            for name in kernel.printed.histories
        }
        for name in rec.stored:
            n = rec.sizes[name]
            if name in places:
                self.stored[name] = shared[..., places[name] : places[name] + n].flatten(0, 1)
            else:
                self.stored[name] = xs.new_empty(T * B, n, dtype=real)

    def array(self, name: str) -> Tensor:
        rows, n = as_rows(self.side.flat, name), self.kernel.rec.sizes[name]
        return _straight(rows if rows.shape[1] == n else rows.expand(-1, n))

    def number(self, name: str) -> Tensor:
        """In memory: Triton takes numbers in float32 alone."""
        xs, value = self.side.stages.call.xs, self.side.flat[name]
        if isinstance(value, Tensor):
            return value
        return xs.new_full((1,), value, dtype=real_of(xs.dtype))

    def found(self) -> Found:
        sizes = {name: self.kernel.state_size(name) for name in self.histories}
        steps = {name: found[..., : sizes[name]] for name, found in self.histories.items()}
        return Found(self.stored, self.outputs, self.last, steps)


def _columns_first(matrices: list[Tensor]) -> list[Tensor]:
    """Laid out by columns: what a product adds up is close together in a transpose too.

    Else a program's few columns are read in single entries, which meet in the banks of its memory.
    """
    if len(matrices) > 2 and len({matrix.shape for matrix in matrices}) == 1:
        return list(torch.stack(matrices).mT.contiguous().mT)  # two launches
    return [matrix.mT.contiguous().mT for matrix in matrices]


def _straight(rows: Tensor) -> Tensor:
    return rows if rows.stride(-1) == 1 or rows.shape[-1] == 1 else rows.contiguous()


def _alike(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """All sides' tensors are laid out in the same way: their strides are handed over once."""
    if len(tensors) == 1 or len({tensor.stride() for tensor in tensors}) == 1:
        return tensors
    return [tensor.contiguous() for tensor in tensors]
