"""Memory for kernels: a new page costs more than what is first written to it.

Large buffers ask for large pages, and the room that a call works in is kept for the next one.
"""

import ctypes
import mmap
from typing import Any

import torch
from torch import Tensor

LARGE = 4 << 20
PAGE = 2 << 20
KEPT = 64 << 20  # larger rooms go back to the system


def empty(like: Tensor, *shape: int) -> Tensor:
    """A new tensor of this shape, with `like`'s dtype and device, not filled."""
    tensor = like.new_empty(shape)
    if tensor.nbytes >= LARGE and _advise is not None:
        start, end = tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
        start, end = -(-start // PAGE) * PAGE, end // PAGE * PAGE
        if start < end:
            _advise(start, end - start, mmap.MADV_HUGEPAGE)  # a hint: no harm where it is refused
    return tensor


_kept: dict[torch.dtype, Tensor] = {}  # one of each dtype: whoever takes it owns it


def borrow(like: Tensor, count: int) -> Tensor:
    """Room for at least `count` numbers, to be given back."""
    room = _kept.pop(like.dtype, None)
    return empty(like, count) if room is None or room.numel() < count else room


def give_back(room: Tensor) -> None:
    if room.nbytes <= KEPT:
        _kept[room.dtype] = room


def _find_advise() -> Any:
    try:
        found = ctypes.CDLL(None).madvise
    except (AttributeError, OSError, TypeError):
        return None
    found.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return found if hasattr(mmap, "MADV_HUGEPAGE") else None


_advise = _find_advise()
