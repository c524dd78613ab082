"""A nest of tuples, dicts and tensors as JSON and a flat dict of tensors, and back.

What training must remember is one such nest. Nothing in it can run: there is no pickle.
"""

from typing import Any

from torch import Tensor

from unspool.cells.state import make_state

Tensors = dict[str, Tensor]


def flatten(value: Any) -> tuple[Any, Tensors]:
    """Plain JSON with the tensors' names in their places, and the tensors."""
    tensors: Tensors = {}
    return _plain(value, "", tensors), tensors


def unflatten(plain: Any, tensors: Tensors) -> Any:
    if isinstance(plain, list):
        return [unflatten(part, tensors) for part in plain]
    if not isinstance(plain, dict):
        return plain
    ((kind, parts),) = plain.items()
    if kind == "tensor":
        return tensors[parts]
    if kind == "dict":
        return {key: unflatten(part, tensors) for key, part in parts}
    if kind == "tuple":
        return tuple(unflatten(part, tensors) for part in parts)
    if kind == "state":
        names, values = parts
        return make_state(tuple(names), [unflatten(part, tensors) for part in values])
    raise ValueError(f"a saved value is of the kind {kind!r}, which this version does not know")


def moved(value: Any, device: Any) -> Any:
    """The same nest with its tensors on this device."""
    plain, tensors = flatten(value)
    return unflatten(plain, {name: tensor.to(device) for name, tensor in tensors.items()})


def _plain(value: Any, name: str, tensors: Tensors) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Tensor):
        tensors[name or "value"] = value
        return {"tensor": name or "value"}
    if isinstance(value, dict):
        for key in value:
            assert isinstance(key, str | int), f"{name}: a key is text or a number, not {key!r}"
        return {"dict": [[k, _plain(v, _join(name, k), tensors)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        parts = [_plain(part, _join(name, index), tensors) for index, part in enumerate(value)]
        if isinstance(value, list):
            return parts
        names = getattr(value, "_fields", None)
        return {"tuple": parts} if names is None else {"state": [list(names), parts]}
    raise TypeError(f"{name} is a {type(value).__name__}: only plain values and tensors are saved")


def _join(name: str, key: str | int) -> str:
    return f"{name}.{key}" if name else str(key)
