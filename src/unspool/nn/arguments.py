"""Checks of arguments, as strict as torch's own."""

from typing import Any


def check_sizes(least: int = 1, **sizes: Any) -> None:
    """Each is a whole number, and not too small."""
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(f"{name} is a whole number, not {size!r}")
        if size < least:
            kind = "positive whole number" if least else "whole number, 0 or more"
            raise ValueError(f"{name} is a {kind}, not {size}")


def check_flags(**flags: Any) -> None:
    """Each is True or False: a text such as "False" would count as True."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} is True or False, not {flag!r}")
