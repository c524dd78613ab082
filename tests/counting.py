"""Operators of torch, counted."""

from collections import Counter
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class Counted(TorchDispatchMode):
    """`with Counted() as counted: ...`: how often each operator was called, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.note(op.overloadpacket.__name__, args)
        return op(*args, **(kwargs or {}))

    def note(self, name: str, args: Any) -> None:
        self.calls[name] += 1
