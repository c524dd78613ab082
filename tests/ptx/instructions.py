"""What each instruction does to a warp: memory, products, exchange between lanes, and the rest."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.ptx.arithmetic import ARITHMETIC, Unknown, convert
from tests.ptx.program import Instruction
from tests.ptx.warp import KINDS, LANES, halves, ldmatrix, mma, stmatrix

if TYPE_CHECKING:
    from tests.ptx.machine import Warp


def execute(warp: "Warp", one: Instruction, mask: Any) -> None:
    HANDLERS.get(one.parts[0], _arithmetic)(warp, one, mask)


def _names(operand: str) -> list[str]:
    return [name.strip() for name in operand.strip("{} ").split(",")]


def _arithmetic(warp: "Warp", one: Instruction, mask: Any) -> None:
    work = ARITHMETIC.get(one.parts[0])
    if work is None:
        raise Unknown(str(one))
    target, *sources = one.operands
    if one.parts[-1] in ("bf16x2", "f16x2"):  # a comparison of two halves has two answers
        for name, half in zip(target.split("|"), (0, 1), strict=True):
            parts = (*one.parts[:-1], one.parts[-1][:-2])
            get = lambda k, kind, half=half: halves(warp.get(sources[k], "b32"))[half]  # noqa: E731
            warp.put(name, work(parts, get), mask)
        return
    found = work(one.parts, lambda k, kind: warp.get(sources[k], kind))
    warp.put(target, found, mask)


def _load(warp: "Warp", one: Instruction, mask: Any) -> None:
    where, kind = one.parts, one.parts[-1]
    targets = _names(one.operands[0])
    if "param" in where:
        number = warp.block.given[one.operands[1].strip("[] ")]
        words = np.full(LANES, number % 2 ** (8 * np.dtype(KINDS[kind]).itemsize), KINDS[kind])
        warp.put(targets[0], words, mask)
        return
    memory = warp.block.shared if "shared" in where else warp.block.memory
    addresses = warp.address(one.operands[1], "b32" if "shared" in where else "b64")
    words = memory.read(addresses, mask, KINDS[kind], len(targets))
    warp.note(addresses, mask, words[0].nbytes, "shared" in where, reads=True)
    for k, target in enumerate(targets):
        warp.put(target, np.ascontiguousarray(words[:, k]), mask)


def _store(warp: "Warp", one: Instruction, mask: Any) -> None:
    where, kind = one.parts, one.parts[-1]
    memory = warp.block.shared if "shared" in where else warp.block.memory
    addresses = warp.address(one.operands[0], "b32" if "shared" in where else "b64")
    words = np.stack([warp.get(name, kind) for name in _names(one.operands[1])], 1)
    memory.write(addresses, mask, words)
    warp.note(addresses, mask, words[0].nbytes, "shared" in where, reads=False)


def _ldmatrix(warp: "Warp", one: Instruction, mask: Any) -> None:
    targets = _names(one.operands[0])
    addresses = warp.address(one.operands[1], "b32")
    used = np.arange(LANES) < 8 * len(targets)
    rows = warp.block.shared.read(addresses, used, np.uint16, 8)[used]
    warp.note(addresses, used, 16, True, reads=True)
    for target, word in zip(targets, ldmatrix(rows, "trans" in one.parts), strict=True):
        warp.put(target, word, mask)


def _stmatrix(warp: "Warp", one: Instruction, mask: Any) -> None:
    words = [warp.get(name, "b32") for name in _names(one.operands[1])]
    rows = np.zeros((LANES, 8), np.uint16)
    rows[: 8 * len(words)] = stmatrix(words, "trans" in one.parts)
    used = np.arange(LANES) < 8 * len(words)
    addresses = warp.address(one.operands[0], "b32")
    warp.block.shared.write(addresses, used, rows)
    warp.note(addresses, used, 16, True, reads=False)


def _mma(warp: "Warp", one: Instruction, mask: Any) -> None:
    kind = one.parts[-2]
    word = "b64" if kind == "f64" else "b32"
    targets, *given = map(_names, one.operands)
    a, b, c = ([warp.get(name, word) for name in names] for names in given)
    warp.tally.products += 1
    shape = next(part for part in one.parts if re.fullmatch(r"m\d+n\d+k\d+", part))
    for target, found in zip(targets, mma(shape, kind, a, b, c), strict=True):
        warp.put(target, found, mask)


def _shuffle(warp: "Warp", one: Instruction, mask: Any) -> None:
    target, source, by = one.operands[0].split("|")[0], one.operands[1], one.operands[2]
    lanes, step = np.arange(LANES), warp.get(by, "b32").astype(int)
    reached = {
        "bfly": lanes ^ step,
        "idx": step,
        "down": np.where(lanes + step < LANES, lanes + step, lanes),
        "up": np.where(lanes >= step, lanes - step, lanes),
    }[one.parts[2]]
    warp.put(target, warp.get(source, "b32")[reached], mask)


def _reduce(warp: "Warp", one: Instruction, mask: Any) -> None:
    values = warp.get(one.operands[1], one.parts[-1])
    most = {"max": np.max, "min": np.min, "add": np.sum}[one.parts[2]](values)
    warp.put(one.operands[0], np.full(LANES, most, values.dtype), mask)


def _vote(warp: "Warp", one: Instruction, mask: Any) -> None:
    found = {"any": np.any, "all": np.all}[one.parts[2]](warp.get(one.operands[1], "pred"))
    warp.put(one.operands[0], np.full(LANES, found), mask)


def _convert(warp: "Warp", one: Instruction, mask: Any) -> None:
    kinds = [
        part
        for part in one.parts[1:]
        if part in KINDS or part in ("bf16", "bf16x2", "f16x2", "tf32")
    ]
    sources = [warp.get(operand, kinds[1]) for operand in one.operands[1:]]
    warp.put(one.operands[0], convert(kinds, sources, str(one)), mask)


def _move(warp: "Warp", one: Instruction, mask: Any) -> None:
    """Between registers; also two halves into one word, or one word into two halves."""
    target, source = one.operands
    if source.startswith("{"):
        low, high = _names(source)
        half = "b16" if one.parts[-1] == "b32" else "b32"
        a, b = warp.get(low, half), warp.get(high, half)
        wide = KINDS[one.parts[-1]]
        shift = wide(8 * a.itemsize)
        warp.put(target, a.astype(wide) | (b.astype(wide) << shift), mask)
    elif target.startswith("{"):
        word = warp.get(source, one.parts[-1])
        half = np.uint16 if word.itemsize == 4 else np.uint32
        low, high = _names(target)
        warp.put(low, word.astype(half), mask)
        warp.put(high, (word >> word.dtype.type(4 * word.itemsize)).astype(half), mask)
    else:
        warp.put(target, warp.get(source, one.parts[-1]), mask)


def _nothing(warp: "Warp", one: Instruction, mask: Any) -> None:
    """Order among memory accesses: here they are in order."""


HANDLERS: dict[str, Callable[["Warp", Instruction, Any], None]] = {
    "ld": _load, "st": _store, "ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "mma": _mma,
    "shfl": _shuffle, "redux": _reduce, "vote": _vote, "cvt": _convert, "mov": _move,
    "membar": _nothing, "fence": _nothing,
}  # fmt: skip
