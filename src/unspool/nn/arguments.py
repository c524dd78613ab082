"""Checks of arguments, as strict as torch's own; and those that are for torch's own layers."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from unspool.engine import in_graph, is_traced

PLAIN = (Tensor, nn.Parameter)


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
