"""Checkpoints that cannot be lost.

A checkpoint is one safetensors file: the tensors, and everything else as JSON in its header. The
JSON holds a checksum of the whole file, and the name ends in one, so that a damaged file is known
from itself. The file `last` names the newest and is written after it. Two are kept: if one is
damaged the one before it serves.
"""

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unspool.machine import memory
from unspool.train.durable import remove_unfinished, write_durably
from unspool.train.plain_file import (
    check_not_sparse,
    is_plain,
    open_plain,
    read_plain,
    real_folder,
)
from unspool.train.plain_json import read_json
from unspool.train.state import LARGEST, check_parts
from unspool.train.tree import flatten, unflatten

FORMAT = 2  # 1 had no checksum inside
KEPT = 2
POINTER = "last"
UNSIGNED = "0" * 64  # stands where the checksum will
# Bytes of a header: of weights, which have little to say, and of checkpoints, which keep the run's
# vocabularies in it.
WEIGHTS_HEADER, CHECKPOINT_HEADER = 8 << 20, 64 << 20
WIDTHS = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2}
WIDTHS |= {"I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1}
Shapes = dict[str, tuple[int, ...]]


class DamagedFile(ValueError):
    """A file that is not what was written."""


def pack(value: Any) -> bytes:
    """A nest of plain values and tensors as the bytes of a safetensors file."""
    from safetensors.torch import save

    plain, tensors = flatten(value)
    # Clones, because tied weights and views share memory, which the format does not allow.
    own = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    # One entry: several would stand in any order, and equal values in different bytes.
    about = {"format": FORMAT, "sha256": UNSIGNED, "tree": plain}
    data = save(own, {"unspool": json.dumps(about)})
    return data.replace(UNSIGNED.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


def unpack(data: bytes, path: Path) -> Any:
    """The value that `pack` made these bytes from; `path` names them in errors."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    about = _about(data, path)
    if about["format"] != 1 and _checksum_of(data, about) != about.get("sha256"):
        raise DamagedFile(f"{path} is damaged: its bytes are not those that were written")
    try:
        return unflatten(about["tree"], load(data))
    except (SafetensorError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged: {brief(error)}") from None


def _checksum_of(data: bytes, about: dict[str, Any]) -> str:
    """The checksum of a file with its own checksum blanked out, as it was when it was made."""
    own = about.get("sha256")
    if not isinstance(own, str) or not re.fullmatch("[0-9a-f]{64}", own):
        return ""
    start = data.find(own.encode())
    digest = hashlib.sha256(data[:start])
    digest.update(UNSIGNED.encode())
    digest.update(memoryview(data)[start + len(own) :])
    return digest.hexdigest()


def _about(data: bytes, path: Path) -> dict[str, Any]:
    """What is said of the tensors in the header."""
    try:
        length = int.from_bytes(data[:8], "little")
        weights = max(0, len(data) - length)
        header = read_json(data[8 : 8 + length], weights)
        about = read_json(header["__metadata__"]["unspool"].encode(), weights)
        known = about["format"], about["tree"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged: no header of ours ({brief(error)})") from None
    if known[0] not in (1, FORMAT):
        raise ValueError(
            f"{path} has format {brief(known[0])}; this version of unspool reads 1 to {FORMAT}"
        )
    return about


def read_shapes(path: Path, longest: int = WEIGHTS_HEADER) -> Shapes:
    """The shape of every tensor in a file, from its header of at most `longest` bytes; the file's
    size must fit them."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(longest, size - 8):
            raise DamagedFile(f"{path} is damaged: it has no header of tensors")
        check_not_sparse(path, os.fstat(file.fileno()))
        raw = file.read(length)
    try:
        header = read_json(raw, size - length)
        header.pop("__metadata__", None)
        shapes = {name: tuple(map(int, about["shape"])) for name, about in header.items()}
        if not all(0 <= size < LARGEST for shape in shapes.values() for size in shape):
            raise ValueError("a size below 0, or too large")
        needed = sum(math.prod(shapes[name]) * WIDTHS[header[name]["dtype"]] for name in shapes)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged: no header of tensors ({brief(error)})") from None
    if needed != size - 8 - length:
        raise DamagedFile(
            f"{path} is damaged: its header tells of {needed:,} bytes of tensors, and "
            f"{size - 8 - length:,} are there"
        )
    if needed > memory():
        raise ValueError(
            f"{path} holds {needed / 1e9:,.1f} GB of tensors, more than the memory of this machine"
        )
    return shapes


def read_packed(path: Path) -> Any:
    """The value in a file of `pack`; its header is held against its size before it is read."""
    read_shapes(path)
    return unpack(read_plain(path, path.stat().st_size), path)


class Checkpoints:
    """The checkpoints of one run, in a folder of their own."""

    def __init__(self, folder: Path, check: Callable[[Any], None] = check_parts):
        """`check` raises a ValueError for a value that no training would have written."""
        self.folder, self.check = folder, check

    def write(self, step: int, value: Any) -> Path:
        real_folder(self.folder, make=True)
        remove_unfinished(self.folder)
        data = pack(value)
        path = self.folder / f"step-{step:09d}-{_checksum(data)}.safetensors"
        write_durably(path, data)
        write_durably(self.folder / POINTER, f"{path.name}\n".encode())
        for old in self.paths()[KEPT:]:
            old.unlink(missing_ok=True)
        return path

    def paths(self) -> list[Path]:
        """Newest first: the one that `last` names, then by step."""
        if not real_folder(self.folder):
            return []
        found = sorted(self.folder.glob("step-*.safetensors"), reverse=True)
        pointer = self.folder / POINTER
        name = read_plain(pointer, 1000).decode(errors="replace") if is_plain(pointer) else ""
        plain = [path for path in found if is_plain(path)]
        return sorted(plain, key=lambda path: path.name != name.strip())

    def read(self) -> tuple[Any, list[str]]:
        """The newest checkpoint that is intact, None if there is none, and what was damaged."""
        problems = []
        for path in self.paths():
            try:
                return read_checkpoint(path, self.check), problems
            except DamagedFile as error:
                problems.append(str(error))
                set_aside(path)  # it must not stand among the two kept
        return None, problems


def set_aside(path: Path) -> None:
    """Gives a damaged file a name that is not read; one that cannot be renamed stays."""
    with contextlib.suppress(OSError):
        path.rename(path.with_suffix(f".{secrets.token_hex(4)}.damaged"))


def read_checkpoint(path: Path, check: Callable[[Any], None] = check_parts) -> Any:
    """The value of one checkpoint."""
    read_shapes(path, CHECKPOINT_HEADER)
    data = read_plain(path, path.stat().st_size)
    if not path.stem.endswith(_checksum(data)):
        raise DamagedFile(f"{path} is damaged: its bytes are not those that were written")
    value = unpack(data, path)
    try:
        check(value)
    except ValueError as error:
        raise DamagedFile(f"{path} is damaged: {error}") from None
    return value


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def brief(what: object) -> str:
    """The text of an error or a value in one short line, since a file may put anything there."""
    text = " ".join(str(what).split())
    return text if len(text) <= 200 else text[:197] + "..."
