"""JSON files that a person can read: one symbol a line, and each line one symbol."""

import json
from pathlib import Path
from typing import Any


def write_json(path: str | Path, value: Any) -> None:
    """A list, or a dictionary of lists and plain values, with one item a line."""
    Path(path).write_text(_text(value) + "\n", encoding="utf-8", newline="\n")


def read_json(path: str | Path) -> Any:
    """What `write_json` wrote; errors name the file."""
    try:
        return json.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 (byte {error.start}): expected a JSON file"
        ) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}: expected JSON, but {error.msg}") from None


def _text(value: Any) -> str:
    if isinstance(value, dict):
        items = [f"{_item(key)}: {_text(item)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + "\n}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(_item(item) for item in value) + "\n]"
    return _item(value)


def _item(value: Any) -> str:
    # What cannot be seen is escaped: U+2028 would end a line in many editors, and a lone
    # surrogate has no UTF-8.
    return json.dumps(value, ensure_ascii=not str(value).isprintable())
