"""What this machine has."""

import contextlib
import math
import os
from pathlib import Path

# Where Linux says what a container may take, in the second and the first version of its cgroups.
CONTAINER = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def memory() -> float:
    """The bytes of memory that a process may take; infinite where the system does not say."""
    limits = [_physical()]
    for path in CONTAINER:
        with contextlib.suppress(OSError, ValueError):  # no container, or no limit ("max")
            limits.append(int(path.read_text()))
    return min(limits)


def _physical() -> float:
    if os.name == "nt":
        return _physical_windows()
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _physical_windows() -> float:
    """From GlobalMemoryStatusEx: its structure is two numbers of 32 bits and seven of 64."""
    import ctypes

    status = (ctypes.c_uint64 * 8)()
    ctypes.cast(status, ctypes.POINTER(ctypes.c_uint32))[0] = ctypes.sizeof(status)
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009
    return float(status[1]) if kernel.GlobalMemoryStatusEx(status) else math.inf
