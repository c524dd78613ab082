"""Operations that each lane does for itself."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ptx.warp import KINDS, narrowed, pair, widened

Get = Callable[[int, str], Any]  # the k-th source, as numbers of a kind


class Unknown(Exception):
    """An instruction that no kernel had so far: write it down here."""


def _two(work: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def run(parts: tuple[str, ...], get: Get) -> Any:
        kind = parts[-1]
        if kind == "u16x2":
            words = [get(k, "b32").view(np.uint16) for k in (0, 1)]
            return work(*words).view(np.uint32)
        if kind in ("bf16", "bf16x2"):
            raise Unknown(".".join(parts))
        return work(get(0, kind), get(1, kind))

    return run


def _one(work: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda parts, get: work(get(0, parts[-1]))


def _multiply(parts: tuple[str, ...], get: Get) -> Any:
    return _product(parts, get)


def _multiply_add(parts: tuple[str, ...], get: Get) -> Any:
    product = _product(parts, get)
    kind = f"{parts[-1][0]}{8 * product.itemsize}"
    return product + get(2, kind)


def _product(parts: tuple[str, ...], get: Get) -> Any:
    kind = parts[-1]
    a, b = get(0, kind), get(1, kind)
    if kind[0] == "f" or "lo" in parts:
        return a * b
    wider = KINDS[f"{kind[0]}{16 * a.itemsize}"] if a.itemsize < 8 else object
    wide = a.astype(wider) * b.astype(wider)
    if "wide" in parts:
        return wide
    assert "hi" in parts, parts
    return (wide >> (8 * a.itemsize)).astype(a.dtype)


def _fused(parts: tuple[str, ...], get: Get) -> Any:
    """One rounding: float64 has room for a product of two of float32."""
    kind = parts[-1]
    a, b, c = (get(k, kind) for k in range(3))
    return (a.astype(np.float64) * b + c).astype(a.dtype)


def _divide(parts: tuple[str, ...], get: Get) -> Any:
    a, b = get(0, parts[-1]), get(1, parts[-1])
    if parts[-1][0] == "f":
        return a / b
    if parts[-1][0] == "s":  # towards zero
        return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)
    return a // b


def _remainder(parts: tuple[str, ...], get: Get) -> Any:
    return np.fmod(get(0, parts[-1]), get(1, parts[-1]))


def _shift(parts: tuple[str, ...], get: Get) -> Any:
    value, by = get(0, parts[-1]), get(1, "b32")
    bits = 8 * value.itemsize
    amount = np.minimum(by, bits - 1).astype(value.dtype)
    moved = value << amount if parts[0] == "shl" else value >> amount
    gone = parts[0] == "shl" or parts[-1][0] != "s"
    return np.where((by >= bits) & gone, value.dtype.type(0), moved)


def _bits(parts: tuple[str, ...], get: Get) -> Any:
    """bfe: some bits of a word, with their sign or without."""
    word, start, length = get(0, "b32"), get(1, "b32"), get(2, "b32")
    part = (word.astype(np.uint64) >> start) & (
        (np.uint64(1) << length.astype(np.uint64)) - np.uint64(1)
    )
    if parts[-1] == "s32":
        sign = (part >> (length - 1).astype(np.uint64)) & np.uint64(1)
        part = part - (sign << length.astype(np.uint64))
    return part.astype(np.uint32)


def _permute(parts: tuple[str, ...], get: Get) -> Any:
    """prmt: four of eight bytes."""
    a, b, chosen = get(0, "b32"), get(1, "b32"), get(2, "b32")
    both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    found = np.zeros(len(a), np.uint64)
    for k in range(4):
        nibble = (chosen >> np.uint32(4 * k)) & np.uint32(7)
        byte = (both >> (nibble.astype(np.uint64) * np.uint64(8))) & np.uint64(0xFF)
        found |= byte << np.uint64(8 * k)
    return found.astype(np.uint32)


def _compare(parts: tuple[str, ...], get: Get) -> Any:
    how, kind = parts[1], parts[-1]
    if kind in ("bf16", "f16"):
        a, b = (widened(get(k, "b16"), kind) for k in (0, 1))
    else:
        a, b = get(0, kind), get(1, kind)
    odd = np.isnan(a) | np.isnan(b) if a.dtype.kind == "f" else np.zeros(len(a), np.bool_)
    if how in ("num", "nan"):
        return ~odd if how == "num" else odd
    plain = how.removesuffix("u") if how not in ("lo", "ls", "hi", "hs") else how
    work = {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
        "gt": np.greater, "ge": np.greater_equal,
    }[plain]  # fmt: skip
    return work(a, b) & ~odd | (odd if how.endswith("u") else False)


def _select(parts: tuple[str, ...], get: Get) -> Any:
    kind = parts[-1]
    return np.where(get(2, "pred"), get(0, kind), get(1, kind))


def _float(work: Callable[[Any], Any]) -> Callable[..., Any]:
    """Functions that a GPU approximates, here to the nearest."""

    def run(parts: tuple[str, ...], get: Get) -> Any:
        value = get(0, parts[-1])
        return work(value.astype(np.float64)).astype(value.dtype)

    return run


def _copysign(parts: tuple[str, ...], get: Get) -> Any:
    return np.copysign(get(1, parts[-1]), get(0, parts[-1]))


def convert(kinds: list[str], sources: list[Any], said: str) -> Any:
    """cvt: from the second kind to the first."""
    to, source = kinds
    if to in ("bf16x2", "f16x2"):  # the first source is the upper half
        high, low = (narrowed(value, to[:-2]) for value in sources)
        return pair(low, high)
    (value,) = sources
    if to == "tf32":
        return (value.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    if source in ("bf16", "f16"):
        value = widened(value.view(np.uint16), source)
    if to in ("bf16", "f16"):
        return narrowed(value.astype(np.float32), to)
    if value.dtype.kind == "f" and KINDS[to]().dtype.kind in "iu":
        raise Unknown(said)
    return value.astype(KINDS[to])


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": _two(np.add), "sub": _two(np.subtract), "and": _two(np.bitwise_and),
    "or": _two(np.bitwise_or), "xor": _two(np.bitwise_xor), "not": _one(np.invert),
    "neg": _one(np.negative), "abs": _one(np.abs),
    "min": _two(np.fmin), "max": _two(np.fmax),
    "mul": _multiply, "mad": _multiply_add, "fma": _fused, "div": _divide, "rem": _remainder,
    "shl": _shift, "shr": _shift, "bfe": _bits, "prmt": _permute, "setp": _compare,
    "selp": _select, "copysign": _copysign, "cvta": _one(lambda value: value),
    "ex2": _float(np.exp2), "lg2": _float(np.log2), "sqrt": _float(np.sqrt),
    "rsqrt": _float(lambda x: 1 / np.sqrt(x)), "rcp": _float(lambda x: 1 / x),
    "sin": _float(np.sin), "cos": _float(np.cos),
}  # fmt: skip
