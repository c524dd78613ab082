"""A cell's state: a NamedTuple with one field per state."""

import keyword
from collections import namedtuple
from collections.abc import Iterable
from typing import Any

from torch import Tensor

_types: dict[tuple[str, ...], Any] = {}  # not functools.cache: torch.compile looks through that


def state_type(names: tuple[str, ...]) -> Any:
    """The NamedTuple class of these states; the same names always give the same class."""
    if names not in _types:
        _types[names] = _make_type(names)
    return _types[names]


def _make_type(names: tuple[str, ...]) -> Any:
    """A name that Python reserves gets an underscore behind it: `lambda_`."""
    fields: list[str] = []
    for name in names:
        field = name + "_" if keyword.iskeyword(name) else name
        while field in fields or (field != name and field in names):
            field += "_"
        fields.append(field)
    base = namedtuple("State", fields)

    class State(base):
        __slots__ = ()

        def __reduce__(self) -> Any:  # the class is made here, so pickle must come here too
            return make_state, (names, tuple(self))

    return State


def make_state(names: tuple[str, ...], values: Iterable[Tensor]) -> Any:
    return state_type(names)(*values)


def detach(state: Any) -> Any:
    """The same state, cut off from the graph: truncated backpropagation carries this on.

    Works on a cell's state and on the nested state of a `Recurrent`.
    """
    if isinstance(state, Tensor):
        return state.detach()
    parts = [detach(part) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
