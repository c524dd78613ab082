"""The memories of a GPU that is not there: every access is held against what exists."""

import ctypes
from typing import Any

import numpy as np
from torch import Tensor


class Fault(Exception):
    """What a GPU would answer with an error, or with somebody else's numbers."""


class Bytes:
    """One stretch of memory."""

    def __init__(self, start: int, data: Any):
        self.start, self.stop, self.data = start, start + len(data), data


class Memory:
    """Stretches of bytes at their addresses; reads and writes of many lanes at once."""

    def __init__(self, stretches: list[Bytes]):
        self.stretches = sorted(stretches, key=lambda one: one.start)
        self.starts = np.array([one.start for one in self.stretches], dtype=np.uint64)

    @staticmethod
    def of_tensors(tensors: list[Tensor]) -> "Memory":
        """The storages of arguments, at their own addresses."""
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
        return Memory(
            [
                Bytes(start, np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start)))
                for start, size in storages.items()
                if size
            ]
        )

    @staticmethod
    def of_size(size: int) -> "Memory":
        """Shared memory, which begins at 0; nobody has written there yet."""
        return Memory([Bytes(0, np.full(size, 0xCD, np.uint8))])

    def places(self, addresses: Any, mask: Any, size: int) -> list[tuple[Any, Any, Any]]:
        """By stretch: its bytes, where in it, which lanes."""
        if (addresses[mask] % np.uint64(size)).any():
            raise Fault(f"an access of {size} bytes is not aligned")
        which = np.searchsorted(self.starts, addresses, side="right") - 1
        found = []
        for k in np.unique(which[mask]):
            lanes = mask & (which == k)
            if k < 0:
                raise Fault("an address before everything")
            one = self.stretches[k]
            if (addresses[lanes] + np.uint64(size) > np.uint64(one.stop)).any():
                raise Fault("an address past the end")
            found.append((one.data, (addresses[lanes] - np.uint64(one.start)).astype(int), lanes))
        return found

    def read(self, addresses: Any, mask: Any, kind: Any, count: int) -> Any:
        """(lanes, count) words; zeros where the mask is False."""
        size = np.dtype(kind).itemsize
        found = np.zeros((len(addresses), count), kind)
        for data, at, lanes in self.places(addresses, mask, size * count):
            wide = data[at[:, None] + np.arange(size * count)]
            found[lanes] = wide.view(kind)
        return found

    def write(self, addresses: Any, mask: Any, words: Any) -> None:
        count, size = words.shape[1], words.dtype.itemsize
        for data, at, lanes in self.places(addresses, mask, size * count):
            chosen = np.ascontiguousarray(words[lanes])
            data[at[:, None] + np.arange(size * count)] = chosen.view(np.uint8)
