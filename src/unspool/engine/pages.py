"""Large buffers on large pages: a new page costs more than what is first written to it."""

import ctypes
import mmap
from typing import Any

from torch import Tensor

LARGE = 4 << 20
PAGE = 2 << 20


def empty(like: Tensor, *shape: int) -> Tensor:
    """A new tensor of this shape, with `like`'s dtype and device, not filled."""
    tensor = like.new_empty(shape)
    if tensor.nbytes >= LARGE and _advise is not None:
        start, end = tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
        start, end = -(-start // PAGE) * PAGE, end // PAGE * PAGE
        if start < end:
            _advise(start, end - start, mmap.MADV_HUGEPAGE)  # a hint: no harm where it is refused
    return tensor


def _find_advise() -> Any:
    try:
        found = ctypes.CDLL(None).madvise
    except (AttributeError, OSError, TypeError):
        return None
    found.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return found if hasattr(mmap, "MADV_HUGEPAGE") else None


_advise = _find_advise()
