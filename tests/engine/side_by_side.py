"""Kernels for a GPU without one: Triton's interpreter, every program a process of its own.

The interpreter runs programs one after the other, and one that waits for the next would wait
forever. Here each runs in a forked process, on tensors in shared memory.
"""

import os
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
import triton.language as tl
import triton.runtime.interpreter as interpreter
from torch import Tensor

from unspool.engine import launch, tiles
from unspool.engine.triton_spec import Tiles

SECONDS = 120  # a program that waits longer waits for nobody


class Memory:
    """Where a launch may read and write: in its own arguments and nowhere else."""

    def __init__(self, tensors: list[Tensor]):
        ends = sorted({(t.data_ptr(), t.data_ptr() + self.extent(t)) for t in tensors})
        self.starts = np.array([start for start, _ in ends], dtype=np.uint64)
        # where tensors overlap, whatever begins before reaches as far as the farthest
        self.stops = np.maximum.accumulate(np.array([stop for _, stop in ends], dtype=np.uint64))

    @staticmethod
    def extent(tensor: Tensor) -> int:
        if not tensor.numel():
            return 0
        last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        return (last + 1) * tensor.element_size()

    def check(self, addresses: Any, mask: Any, size: int) -> None:
        found = np.atleast_1d(addresses)[np.broadcast_to(np.atleast_1d(mask), np.shape(addresses))]
        place = np.searchsorted(self.starts, found, side="right") - 1
        assert (place >= 0).all(), "an address before all arguments"
        assert (found + np.uint64(size) <= self.stops[place]).all(), "an address past an argument"


MEMORY: list[Memory] = []


class _Processes(interpreter.GridExecutor):
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        (count,) = self.grid
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if count > 1:
            for tensor in tensors:
                tensor.untyped_storage().share_memory_()
        MEMORY[:] = [Memory(tensors)]
        if count == 1:
            super().__call__(*args, **kwargs)
            return
        children = [self.fork(k, args, kwargs) for k in range(count)]
        left = set(children)
        while left:
            time.sleep(0.002)
            for child in list(left):
                found, status = os.waitpid(child, os.WNOHANG)
                left -= {found}
                if status:
                    self.end(left)  # they would wait for it
                    raise AssertionError(f"a program failed: {os.waitstatus_to_exitcode(status)}")

    def end(self, children: set[int]) -> None:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def fork(self, k: int, args: Any, kwargs: Any) -> int:
        child = os.fork()
        if child:
            return child
        status = 1
        try:
            signal.alarm(SECONDS)
            builder = interpreter.interpreter_builder
            builder.set_grid_idx = lambda x, y, z: setattr(builder, "grid_idx", (k, 0, 0))
            self.grid = (1,)
            super().__call__(*args, **kwargs)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)


def _mend(patch: pytest.MonkeyPatch) -> None:
    """What the interpreter does otherwise than a GPU.

    numpy 2.4 takes no array for a number, not even of one entry. bfloat16 is multiplied as if it
    were whole numbers, and rounded towards zero.
    """
    convert = interpreter._convert_float

    def nearest(data: Any, source: Any, target: Any, how: Any) -> Any:
        if (source, target) != (tl.float32, tl.bfloat16):
            return convert(data, source, target, how)
        rounded = torch.from_numpy(np.atleast_1d(data).copy()).to(torch.bfloat16)
        return rounded.view(torch.int16).numpy().view(np.uint16).reshape(np.shape(data))

    patch.setattr(interpreter, "_convert_float", nearest)
    multiply = interpreter.InterpreterBuilder.create_dot

    def real(handle: Any) -> Any:
        if handle.dtype.scalar != tl.bfloat16:
            return handle
        data = interpreter._convert_float(handle.data, tl.bfloat16, tl.float32, None)
        return interpreter.TensorHandle(data.view(np.float32), tl.float32)

    def dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        return multiply(self, real(a), real(b), *rest)

    patch.setattr(interpreter.InterpreterBuilder, "create_dot", dot)
    _watch_memory(patch)
    original = interpreter._patch_lang_tensor

    def with_index(tensor: Any, scope: Any) -> None:
        original(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    patch.setattr(interpreter, "_patch_lang_tensor", with_index)


def _watch_memory(patch: pytest.MonkeyPatch) -> None:
    builder = interpreter.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store

    def checked_load(self: Any, ptrs: Any, mask: Any, *rest: Any) -> Any:
        size = interpreter._get_np_dtype(ptrs.get_element_ty()).itemsize
        MEMORY[0].check(ptrs.data, mask.data, size)
        return load(self, ptrs, mask, *rest)

    def checked_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
        MEMORY[0].check(ptrs.data, mask.data, value.data.itemsize)
        return store(self, ptrs, value, mask, *rest)

    patch.setattr(builder, "create_masked_load", checked_load)
    patch.setattr(builder, "create_masked_store", checked_store)


@contextmanager
def programs(*ways: Tiles, at_once: int = 64) -> Iterator[None]:
    """Calls of the cuda backend run here, cut as it is said, or as the rules say."""
    from unspool.engine import cuda

    assert os.environ["TRITON_INTERPRET"] == "1", "it is set before Triton is imported"
    with pytest.MonkeyPatch.context() as patch:
        _mend(patch)
        patch.setattr(interpreter, "GridExecutor", _Processes)
        patch.setattr(cuda, "serves", lambda device: True)
        patch.setattr(launch, "chip", lambda device: tiles.Chip(at_once))
        if ways:
            patch.setattr(tiles, "candidates", lambda *_: list(ways))
        cuda._loop_of.cache_clear()
        yield
        cuda._loop_of.cache_clear()
