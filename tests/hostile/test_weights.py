"""Weights from anybody: odd headers, tensors that are missing, numbers that are none."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from tests.hostile.attack import refused
from tests.hostile.folders import header_of, put_header
from unspool.train.checkpoint import pack, read_packed

Mailed = Callable[..., Path]
WEIGHTS = "model.safetensors"


def first(header: dict[str, Any]) -> dict[str, Any]:
    """The first tensor of a header."""
    return next(value for name, value in sorted(header.items()) if name != "__metadata__")


def metadata(text: object) -> Callable[[dict[str, Any]], Any]:
    def change(header: dict[str, Any]) -> Any:
        return header | {"__metadata__": {"unspool": text}}

    return change


def about(**changes: Any) -> Callable[[dict[str, Any]], Any]:
    """Changes what is said of the tensors, in the metadata."""

    def change(header: dict[str, Any]) -> Any:
        said = json.loads(header["__metadata__"]["unspool"]) | changes
        return header | {"__metadata__": {"unspool": json.dumps(said)}}

    return change


def tensor(**changes: Any) -> Callable[[dict[str, Any]], Any]:
    """Changes what is said of the first tensor."""

    def change(header: dict[str, Any]) -> Any:
        first(header).update(changes)
        return header

    return change


def without_first(header: dict[str, Any]) -> Any:
    name = min(name for name in header if name != "__metadata__")
    return {key: value for key, value in header.items() if key != name}


# What becomes of the header.
HEADERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "none": lambda header: b"",
    "no JSON": lambda header: b"{" * 100,
    "brackets without an end": lambda header: b"[" * 100_000,
    "bytes": lambda header: b"\xff\xfe" * 50,
    "a list": lambda header: [1, 2],
    "a number": lambda header: 7,
    "no metadata": lambda header: {k: v for k, v in header.items() if k != "__metadata__"},
    "metadata that is a list": lambda header: header | {"__metadata__": [1]},
    "metadata of others": lambda header: header | {"__metadata__": {"format": "pt"}},
    "metadata that is no JSON": metadata("{"),
    "metadata nested without an end": metadata("[" * 50_000),
    "metadata that is a number": metadata("7"),
    "no format": metadata("{}"),
    "a format that is to come": about(format=99),
    "a format that is a list": about(format=[2]),
    "an old format": about(format=1, tree={"$tensor": "no such"}),
    "no checksum": about(sha256=None),
    "a short checksum": about(sha256="abc"),
    "another checksum": about(sha256="0" * 64),
    "a tree that is none": about(tree=7),
    "a tree that is nested": about(tree=json.loads("[" * 400 + "]" * 400)),
    "a shape below nothing": tensor(shape=[-1, 4]),
    "a shape without an end": tensor(shape=[2**62, 2**62]),
    "a shape of zeros": tensor(shape=[0] * 1000),
    "a shape that is text": tensor(shape="4x4"),
    "a kind of number that is none": tensor(dtype="F3"),
    "offsets that are none": tensor(data_offsets=[0, -1]),
    "offsets beyond the end": tensor(data_offsets=[0, 2**60]),
    "a tensor less": without_first,
    "a tensor that is a number": lambda header: header | {"a": 7},
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(mailed: Mailed, name: str) -> None:
    run = mailed()
    put_header(run / WEIGHTS, HEADERS[name](header_of(run / WEIGHTS)))
    assert WEIGHTS in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize("name", ["none", "no metadata", "no format", "a shape without an end"])
def test_headers_of_counts(mailed: Mailed, name: str) -> None:
    run = mailed()
    path = run / "vocab/ngram.safetensors"
    put_header(path, HEADERS[name](header_of(path)))
    assert "ngram.safetensors" in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize("name", ["none", "no metadata", "a shape without an end"])
def test_headers_of_a_checkpoint(mailed: Mailed, name: str) -> None:
    """Each is passed over with a word; with none left the run begins anew from its start, and
    without that there is an error."""
    run = mailed("classify")
    for path in [*(run / "checkpoints").glob("*.safetensors")]:
        put_header(path, HEADERS[name](header_of(path)))
    assert "safetensors" in refused("train", "--resume", run, inside=[run])


def changed(change: Callable[[dict[str, torch.Tensor]], Any], path: Path) -> None:
    """Packs weights anew, with the right checksum: an attacker can do that."""
    weights = read_packed(path)
    path.write_bytes(pack(change(weights)))


# Weights in the right format that are not those of the model, and what the error says.
WRONG: dict[str, tuple[Callable[[dict[str, torch.Tensor]], Any], str]] = {
    "a tensor is missing": (lambda w: dict(list(w.items())[1:]), "there is none"),
    "a tensor too many": (lambda w: w | {"more": torch.zeros(3)}, "of more it asks for none"),
    "another shape": (lambda w: {k: v[..., :1] for k, v in w.items()}, "it asks for"),
    "whole numbers": (lambda w: {k: v.long() for k, v in w.items()}, "numbers of another kind"),
    "not a number": (lambda w: {k: v * float("nan") for k, v in w.items()}, "not numbers"),
    "infinite": (lambda w: {k: v + float("inf") for k, v in w.items()}, "not numbers"),
    "nothing": (lambda w: {}, "there is none"),
    "a list": (lambda w: list(w.values()), "do not go with"),
    "a number": (lambda w: 7, "do not go with"),
    "text for a tensor": (lambda w: dict.fromkeys(w, "text"), "do not go with"),
}


@pytest.mark.parametrize("name", WRONG)
def test_weights_of_another_model(mailed: Mailed, name: str) -> None:
    change, said = WRONG[name]
    run = mailed()
    changed(change, run / WEIGHTS)
    assert said in refused("score", run, text="def", inside=[run])


def test_weights_of_another_program(mailed: Mailed) -> None:
    run = mailed()
    weights = {name: value.clone() for name, value in read_packed(run / WEIGHTS).items()}
    (run / WEIGHTS).unlink()
    save_file(weights, run / WEIGHTS)
    assert "no header of ours" in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100])
def test_weights_cut_short(mailed: Mailed, size: int) -> None:
    run = mailed()
    os.truncate(run / WEIGHTS, size)
    assert f"{WEIGHTS} is damaged" in refused("score", run, text="def", inside=[run])


def test_a_header_longer_than_its_file(mailed: Mailed) -> None:
    run = mailed()
    (run / WEIGHTS).write_bytes((2**63).to_bytes(8, "little") + b"{}")
    assert f"{WEIGHTS} is damaged" in refused("score", run, text="def", inside=[run])
