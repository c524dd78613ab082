"""Checks of arguments, as strict as torch's own; and those that are for torch's own layers."""

from collections.abc import Iterator
from operator import index
from typing import Any

import torch
from torch import Tensor, nn

from unspool.engine import in_graph, is_traced

PLAIN = (Tensor, nn.Parameter)


def check_sizes(least: int = 1, **sizes: Any) -> list[int]:
    """Each is a whole number, and not too small. Returns them as Python's own."""
    found = [whole(name, size) for name, size in sizes.items()]
    for name, size in zip(sizes, found, strict=True):
        if size < least:
            kind = "positive whole number" if least else "whole number, 0 or more"
            raise ValueError(f"{name} is a {kind}, not {size}")
    return found


def whole(name: str, size: Any) -> int:
    """A whole number, of numpy perhaps, as Python's own."""
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise TypeError(f"{name} is a whole number, not {size!r}")
    return index(size)


def check_flags(**flags: Any) -> None:
    """Each is True or False: a text such as "False" would count as True."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} is True or False, not {flag!r}")


def asks_for_torchs(*given: Any) -> bool:
    """Whether torch's own operator is asked for, by where or with what a layer is called.

    The exporter of ONNX that traces knows it; per-sample gradients and other subclasses of tensors
    do with it what they will.
    """
    if in_graph():
        return is_traced() and torch.onnx.is_in_onnx_export()
    return any(type(v) not in PLAIN and hasattr(v, "__torch_function__") for v in _leaves(given))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):  # a PackedSequence is one
        for part in value:
            yield from _leaves(part)
    else:
        yield value
