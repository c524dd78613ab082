"""Checks of arguments, as strict as torch's own."""

from typing import Any


def check_sizes(**sizes: Any) -> None:
    """Each is a positive whole number."""
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(f"{name} is a whole number, not {size!r}")
        if size < 1:
            raise ValueError(f"{name} is a positive whole number, not {size}")


def check_flags(**flags: Any) -> None:
    """Each is True or False: a text such as "False" would count as True."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} is True or False, not {flag!r}")
