"""What 32 lanes do together with one instruction, and how registers become numbers."""

from typing import Any

import numpy as np

LANES = 32
WORD = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
KINDS = {
    **{f"{letter}{bits}": WORD[bits] for letter in "bu" for bits in WORD},
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "pred": np.bool_,
}  # fmt: skip
G, T = np.arange(LANES) >> 2, np.arange(LANES) & 3  # a lane's group, and its place in it


def widened(halves: Any, kind: str) -> Any:
    """Words of 16 bits as float32."""
    if kind == "bf16":
        return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return halves.view(np.float16).astype(np.float32)


def narrowed(values: Any, kind: str) -> Any:
    """float32 to words of 16 bits, to the nearest, ties to even."""
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.view(np.uint32)
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    rounded = np.where(np.isnan(values), np.uint32(0x7FFF0000), rounded)
    return (rounded >> np.uint32(16)).astype(np.uint16)


def pair(low: Any, high: Any) -> Any:
    return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))


def halves(words: Any) -> tuple[Any, Any]:
    return words.astype(np.uint16), (words >> np.uint32(16)).astype(np.uint16)


def ldmatrix(rows: Any, transposed: bool) -> list[Any]:
    """`rows` (matrices * 8, 8) of 16 bits: each lane's word of each matrix of eight by eight."""
    found = []
    for matrix in rows.reshape(-1, 8, 8):
        matrix = matrix.T if transposed else matrix
        found.append(pair(matrix[G, 2 * T], matrix[G, 2 * T + 1]))
    return found


def stmatrix(words: list[Any], transposed: bool) -> Any:
    """The way back: rows (matrices * 8, 8) of 16 bits."""
    matrices = np.zeros((len(words), 8, 8), np.uint16)
    for matrix, word in zip(matrices, words, strict=True):
        matrix[G, 2 * T], matrix[G, 2 * T + 1] = halves(word)
    return (matrices.transpose(0, 2, 1) if transposed else matrices).reshape(-1, 8)


def mma(shape: str, kind: str, a: list[Any], b: list[Any], c: list[Any]) -> list[Any]:
    """A product of a warp, added to c: registers in, registers out. PTX ISA, "Matrix Fragments"."""
    if shape == "m8n8k4":
        return _mma_doubles(a, b, c)
    m, n = np.zeros((16, 8), np.float32), 8
    for k, word in enumerate(c):
        m[G + 8 * (k // 2), 2 * T + k % 2] = word.view(np.float32)
    depth = int(shape.split("k")[1])
    left, right = np.zeros((16, depth), np.float32), np.zeros((depth, n), np.float32)
    if kind == "tf32":
        digits = np.uint32(0xFFFFE000)  # the others are not read
        for k, word in enumerate(a):
            left[G + 8 * (k % 2), T + 4 * (k // 2)] = (word & digits).view(np.float32)
        for k, word in enumerate(b):
            right[T + 4 * k, G] = (word & digits).view(np.float32)
    else:
        for k, word in enumerate(a):
            for i, half in enumerate(halves(word)):
                left[G + 8 * (k % 2), 2 * T + i + 8 * (k // 2)] = widened(half, kind)
        for k, word in enumerate(b):
            for i, half in enumerate(halves(word)):
                right[2 * T + i + 8 * k, G] = widened(half, kind)
    total = (left.astype(np.float64) @ right.astype(np.float64) + m).astype(np.float32)
    return [total[G + 8 * (k // 2), 2 * T + k % 2].view(np.uint32) for k in range(len(c))]


def _mma_doubles(a: list[Any], b: list[Any], c: list[Any]) -> list[Any]:
    left, right, m = np.zeros((8, 4)), np.zeros((4, 8)), np.zeros((8, 8))
    left[G, T], right[T, G] = a[0].view(np.float64), b[0].view(np.float64)
    for k, word in enumerate(c):
        m[G, 2 * T + k] = word.view(np.float64)
    total = left @ right + m
    return [np.ascontiguousarray(total[G, 2 * T + k]).view(np.uint64) for k in range(len(c))]
