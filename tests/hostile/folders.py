"""Run folders as an attacker would prepare them, from small trained runs."""

import hashlib
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

SECRET = "the secret of somebody else\n"


def edit(run: Path, **changes: Any) -> None:
    """Changes settings in config.yaml: `edit(run, **{"model.hidden": 3})`."""
    path = run / "config.yaml"
    settings = yaml.safe_load(path.read_text())
    for name, value in changes.items():
        section, _, key = name.rpartition(".")
        (settings[section] if section else settings)[key] = value
    path.write_text(yaml.safe_dump(settings))


def sign(run: Path, name: str) -> None:
    """Writes the right checksum of a file that was changed: an attacker can do that too."""
    path = run / "checksums.json"
    checksums = json.loads(path.read_text())
    checksums[name] = hashlib.sha256((run / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(checksums))


def sign_cell(run: Path) -> None:
    """Writes the checksum of the equations that config.yaml has now."""
    from unspool.train.run_folder import CELL, cell_checksum, load_config

    path = run / "checksums.json"
    checksums = json.loads(path.read_text())
    checksums[CELL] = cell_checksum(load_config(run))
    path.write_text(json.dumps(checksums))


def plant(path: Path, kind: str, secret: Path) -> None:
    """Puts something that is no plain file where a run has one."""
    if path.exists():
        path.unlink()
    PLANTS[kind](path, secret)


def _socket(path: Path, _: Path) -> None:
    # Its name must be short, so it is made from within its folder.
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


PLANTS: dict[str, Callable[[Path, Path], None]] = {
    "a link": lambda path, secret: path.symlink_to(secret),
    "a FIFO": lambda path, _: os.mkfifo(path),
    "a folder": lambda path, _: path.mkdir(),
    "a socket": _socket,
}


def header_of(path: Path) -> dict[str, Any]:
    """The header of a safetensors file."""
    data = path.read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])


def put_header(path: Path, header: Any) -> None:
    """Writes a safetensors file anew with another header; text stays as it is."""
    data = path.read_bytes()
    rest = data[8 + int.from_bytes(data[:8], "little") :]
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + rest)
