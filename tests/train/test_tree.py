"""What training remembers becomes a file and comes back."""

import math
from pathlib import Path

import pytest
import torch

from unspool.cells.state import make_state
from unspool.train.checkpoint import DamagedFile, pack, unpack
from unspool.train.tree import flatten, unflatten

STATE = make_state(("h", "c"), (torch.randn(2, 3), torch.randn(2, 3)))
VALUE = {
    "step": 3,
    "rate": 0.1 + 0.2,
    "best": None,
    "infinite": math.inf,
    "done": True,
    "name": "naïve\n",
    "carried": ((STATE,), (STATE,)),
    "optimiser": {"state": {0: {"step": torch.tensor(4.0)}, 1: {}}, "param_groups": [{"lr": 1e-3}]},
    "random": torch.get_rng_state(),
    "empty": torch.zeros(0, 3, dtype=torch.float64),
}


def same(a: object, b: object) -> None:
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert isinstance(b, torch.Tensor)
        assert a.dtype == b.dtype
        assert a.equal(b)
    elif isinstance(a, dict):
        assert isinstance(b, dict)
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert isinstance(b, list | tuple)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b


def test_there_and_back() -> None:
    plain, tensors = flatten(VALUE)
    same(VALUE, unflatten(plain, tensors))
    same(VALUE, unpack(pack(VALUE), Path("x")))


def test_shared_memory_is_no_trouble() -> None:
    table = torch.randn(3, 4)
    same(
        {"a": table, "b": table, "c": table.t()},
        unpack(pack({"a": table, "b": table, "c": table.t()}), Path("x")),
    )


def test_what_cannot_be_saved_is_refused() -> None:
    with pytest.raises(TypeError, match=r"a\.b is a set"):
        flatten({"a": {"b": {1}}})


@pytest.mark.parametrize("data", [b"", b"\x08", b"\x02\0\0\0\0\0\0\0{}", b"x" * 100])
def test_rubbish_is_said_to_be_damaged(data: bytes) -> None:
    with pytest.raises(DamagedFile, match="file is damaged"):
        unpack(data, Path("file"))


def test_another_format_is_named() -> None:
    data = pack({"a": 1}).replace(b'format\\": 2', b'format\\": 9')
    with pytest.raises(ValueError, match="file has format 9; this version of unspool reads 1 to 2"):
        unpack(data, Path("file"))
