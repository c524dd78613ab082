"""Checkpoints that cannot be lost.

A checkpoint is one safetensors file: the tensors, and everything else as JSON in its header. Its
name ends in its checksum, so that a damaged file is known from itself. The file `last` names the
newest and is written after it. Two are kept: if one is damaged the one before it serves.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from unspool.train.durable import remove_unfinished, write_durably
from unspool.train.tree import flatten, unflatten

FORMAT = 1
KEPT = 2
POINTER = "last"


class DamagedFile(ValueError):
    """A file that is not what was written."""


def pack(value: Any) -> bytes:
    """A nest of plain values and tensors as the bytes of a safetensors file."""
    from safetensors.torch import save

    plain, tensors = flatten(value)
    # Clones, because tied weights and views share memory, which the format does not allow.
    own = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    # One entry: several would stand in any order, and equal values in different bytes.
    return save(own, {"unspool": json.dumps({"format": FORMAT, "tree": plain})})


def unpack(data: bytes, path: Path) -> Any:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["unspool"])
        tensors = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"{path} is damaged: {error}") from None
    if header["format"] != FORMAT:
        raise ValueError(
            f"{path} has format {header['format']}; this version of unspool reads {FORMAT}"
        )
    return unflatten(header["tree"], tensors)


class Checkpoints:
    """The checkpoints of one run, in a folder of their own."""

    def __init__(self, folder: Path):
        self.folder = folder

    def write(self, step: int, value: Any) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
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
        found = sorted(self.folder.glob("step-*.safetensors"), reverse=True)
        pointer = self.folder / POINTER
        name = pointer.read_text(errors="replace").strip() if pointer.is_file() else ""
        return sorted(found, key=lambda path: path.name != name)

    def read(self) -> tuple[Any, list[str]]:
        """The newest checkpoint that is intact, None if there is none, and what was damaged."""
        problems = []
        for path in self.paths():
            try:
                return read_checkpoint(path), problems
            except DamagedFile as error:
                problems.append(str(error))
                path.rename(path.with_suffix(".damaged"))  # it must not stand among the two kept
        return None, problems


def read_checkpoint(path: Path) -> Any:
    data = path.read_bytes()
    if not path.stem.endswith(_checksum(data)):
        raise DamagedFile(f"{path} is damaged: its bytes are not those that were written")
    return unpack(data, path)


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
