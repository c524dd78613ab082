"""Settings as text: YAML files, `a.b=c`, and errors that name the nearest key."""

import difflib
import math
import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from unspool.train.plain_file import read_plain
from unspool.train.yaml_text import read_yaml

C = TypeVar("C")
SETTINGS_BYTES = 64 << 10  # bytes of a file of settings
LARGEST = 2**53  # of whole numbers: above it not every one is a float


def from_plain(kind: type[C], plain: Any, where: str = "") -> C:
    """A dataclass from nested dicts of plain values; every key and type is checked."""
    place = f"{where}: " if where else ""
    if not isinstance(plain, dict):
        raise ValueError(f"{place}settings are names with values, not {_short(plain)}")
    known = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind, include_extras=True)
    values = {}
    for key, value in plain.items():
        name = f"{where}.{key}" if where else str(key)
        if key not in known:
            raise ValueError(f"there is no setting {name}{_nearest(str(key), where, known)}")
        values[key] = _value(hints[key], value, name)
    for name, item in known.items():
        required = item.default is MISSING and item.default_factory is MISSING
        if required and name not in values:
            raise ValueError(f"the setting {where + '.' if where else ''}{name} is missing")
    return kind(**values)


def to_plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_plain(getattr(value, item.name)) for item in fields(value)}
    return dict(value) if isinstance(value, dict) else value


def merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Nested dicts laid over each other; what stands above wins."""
    found = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = merge(found[key], value) if both else value
    return found


def assignment(text: str) -> dict[str, Any]:
    """`a.b=c` as {"a": {"b": "c"}}; the value is read as YAML."""
    name, equals, value = text.partition("=")
    if not equals or not all(name.split(".")):
        raise ValueError(f"a setting is NAME=VALUE, as in model.hidden=128, not {_short(text)}")
    found: Any
    try:
        found = read_yaml(value)
    except ValueError:
        found = value
    for part in reversed(name.split(".")):
        found = {part: found}
    return found


def read_config(path: str | Path) -> dict[str, Any]:
    """The settings in a YAML file, as nested dicts."""
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path}: no such file of settings")
    data = read_plain(path.resolve(), SETTINGS_BYTES)
    try:
        settings = read_yaml(data.decode("utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as YAML: {error}") from None
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise ValueError(f"{path}: settings are names with values, not {_short(settings)}")
    return settings


def config_text(plain: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)


def options(kind: type) -> Iterator[tuple[Field[Any], Any, str]]:
    """Each field of a dataclass with its plain type and the sentence that explains it."""
    hints = typing.get_type_hints(kind, include_extras=True)
    for item in fields(kind):
        hint = hints[item.name]
        about = hint.__metadata__[0] if typing.get_origin(hint) is Annotated else ""
        yield item, _bare(hint), about


def _bare(hint: Any) -> Any:
    return typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint


def _value(hint: Any, value: Any, name: str) -> Any:
    kind = _bare(hint)
    if is_dataclass(kind):
        return from_plain(typing.cast(type, kind), value, name)
    if typing.get_origin(kind) is Literal:
        choices = typing.get_args(kind)
        if value not in choices:
            raise ValueError(f"{name} is one of {', '.join(choices)}, not {_short(value)}")
        return value
    if typing.get_origin(kind) is dict:
        inner = typing.get_args(kind)[1]
        if not isinstance(value, dict):
            raise ValueError(
                f"{name} is names with values, as in {name}.proj=64, not {_short(value)}"
            )
        return {str(key): _value(inner, part, f"{name}.{key}") for key, part in value.items()}
    return _plain_value(kind, value, name)


def _plain_value(kind: Any, value: Any, name: str) -> Any:
    if isinstance(kind, types.UnionType):
        raise TypeError(f"{name}: settings have one type each")
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        if abs(value) >= LARGEST:
            raise ValueError(f"{name} lies below {LARGEST:,} in size; got {_short(value)}")
        return value
    if kind is float and not isinstance(value, bool):
        try:
            number = float(value)  # YAML takes 1e-3 for text
        except (TypeError, ValueError, OverflowError):
            number = None
        if number is not None:
            return _finite(number, name)
    if kind is str and not isinstance(value, dict | list):
        return "" if value is None else str(value)
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    raise ValueError(f"{name} is {words[kind]}, not {_short(value)}")


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{name} is a number that is neither infinite nor nan")
    return value


def _short(value: Any) -> str:
    """A value as messages quote it."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits
        return f"a very long {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def _nearest(key: str, where: str, known: dict[str, Any]) -> str:
    close = difflib.get_close_matches(key, known, 1)
    prefix = f"{where}." if where else ""
    if close:
        return f"; did you mean {prefix}{close[0]}?"
    return f"; there are {', '.join(prefix + name for name in known)}"
