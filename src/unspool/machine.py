"""What this machine has."""

import math
import os
from pathlib import Path

CONTAINER = Path("/sys/fs/cgroup/memory.max")  # where Linux says what a container may take


def memory() -> float:
    """The bytes of memory that a process may take; infinite where the system does not say."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        physical = math.inf
    try:
        return min(physical, int(CONTAINER.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return physical
