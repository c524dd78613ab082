"""Runs a compiled kernel: programs take turns, warps meet at barriers in an order of chance's.

    run(ptx, shared=metadata.shared, arguments=[...], grid=8, warps=4)

Lanes of a warp go together, as in the branches of these kernels they do; a branch that parts them
is refused. Between two barriers each warp runs by itself, so that what they exchange without one is
found out by chance.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from tests.ptx.instructions import execute
from tests.ptx.memory import Fault, Memory
from tests.ptx.program import Instruction, Program, parse
from tests.ptx.warp import KINDS, LANES

REGISTERS = {"p": "pred", "rs": "b16", "r": "b32", "rd": "b64", "f": "b32", "fd": "b64"}
TURNS = 2_000_000  # of all warps together: who needs more waits for nobody


@dataclass
class Tally:
    """What the warps of a launch did together."""

    instructions: int = 0
    barriers: int = 0
    products: int = 0
    read: int = 0  # bytes from global memory
    written: int = 0
    rounds: int = 0  # of shared memory, which serves 32 banks at a time
    rounds_needed: int = 0  # had no two lanes met in a bank

    def of_each(self, programs: int) -> dict[str, float]:
        return {name: round(count / programs, 1) for name, count in vars(self).items()}


def run(
    ptx: str,
    arguments: Sequence[Any],
    *,
    shared: int,
    grid: int,
    warps: int,
    seed: int = 0,
) -> Tally:
    """Executes a grid on tensors of the CPU."""
    program, chance, tally = parse(ptx), random.Random(seed), Tally()
    tensors = [one for one in arguments if isinstance(one, Tensor)]
    memory = Memory.of_tensors(tensors)
    values = [one.data_ptr() if isinstance(one, Tensor) else int(one) for one in arguments]
    hidden = len(program.parameters) - len(values)  # scratch memory, which these do not use
    values += [0] * hidden
    given = dict(zip(program.parameters, values, strict=True))
    blocks = [
        Block(program, given, memory, Memory.of_size(shared), index, grid, warps, chance, tally)
        for index in range(grid)
    ]
    going = [(block, block.turns()) for block in blocks]
    for _ in range(TURNS):
        if not going:
            return tally
        pair = chance.choice(going)
        if next(pair[1], None) is None:
            going.remove(pair)
    raise Fault("programs wait for one another in vain")


class Block:
    """One program: its warps, and the memory that they share."""

    def __init__(
        self,
        program: Program,
        given: dict[str, int],
        memory: Memory,
        shared: Memory,
        index: int,
        grid: int,
        warps: int,
        chance: random.Random,
        tally: Tally,
    ):
        self.memory, self.shared, self.given, self.chance = memory, shared, given, chance
        self.tally = tally
        special = {"%ctaid.x": index, "%nctaid.x": grid, "%ntid.x": warps * LANES}
        self.warps = [Warp(self, program, special, k) for k in range(warps)]

    def turns(self) -> Iterator[bool]:
        """Ends when all warps have; a pause wherever others may go first."""
        running = list(self.warps)
        while running:
            waiting, ended = [], []
            while left := [w for w in running if w not in waiting and w not in ended]:
                warp = self.chance.choice(left)
                why = warp.go()
                if why == "bar":
                    waiting.append(warp)
                elif why == "ret":
                    ended.append(warp)
                yield True
            if waiting and ended:
                raise Fault("some warps have ended where others wait for them")
            if len({warp.at for warp in waiting}) > 1:
                raise Fault("warps wait at different barriers")
            running = waiting


class Warp:
    def __init__(self, block: Block, program: Program, special: dict[str, int], index: int):
        self.block, self.program, self.at, self.tally = block, program, 0, block.tally
        lanes = np.arange(LANES, dtype=np.uint32)
        self.registers: dict[str, Any] = {
            "%tid.x": lanes + np.uint32(LANES * index),
            "%laneid": lanes,
            **{name: np.full(LANES, value, np.uint32) for name, value in special.items()},
        }

    def go(self) -> str:
        """Up to a barrier, the end, or a branch backwards: why it stopped."""
        with np.errstate(all="ignore"):
            while True:
                one = self.program.instructions[self.at]
                self.at += 1
                self.tally.instructions += 1
                mask = self.mask(one)
                name = one.parts[0]
                if name in ("bar", "barrier"):
                    self.tally.barriers += 1
                    return "bar"
                if name in ("ret", "exit"):
                    return "ret"
                if name == "bra":
                    if mask.any() != mask.all():
                        raise Fault(f"lanes part at {one}")
                    if mask.all():
                        back = self.program.labels[one.operands[-1]]
                        backwards, self.at = back < self.at, back
                        if backwards:
                            return "turn"
                    continue
                try:
                    execute(self, one, mask)
                except Fault as fault:
                    raise Fault(f"{fault}: {one}") from None

    def mask(self, one: Instruction) -> Any:
        if not one.guard:
            return np.ones(LANES, np.bool_)
        return self.get(one.guard, "pred") ^ np.bool_(one.unless)

    # --- registers -------------------------------------------------------------------------

    def get(self, operand: str, kind: str) -> Any:
        """An operand as numbers of a kind: a register, a number, a name."""
        wanted = KINDS.get(kind, np.uint16)
        if operand.startswith("%"):
            word = self.registers.get(operand)
            if word is None:
                raise Fault(f"{operand} is read before it is written")
            if word.itemsize != np.dtype(wanted).itemsize:  # a part of a wider one
                return word.astype(f"u{np.dtype(wanted).itemsize}").view(wanted)
            return word.view(wanted)
        if operand == "global_smem":
            return np.zeros(LANES, wanted)
        if operand[:2] in ("0f", "0F"):
            return np.full(LANES, int(operand[2:], 16), np.uint32).view(wanted)
        if operand[:2] in ("0d", "0D"):
            return np.full(LANES, int(operand[2:], 16), np.uint64).view(wanted)
        if kind == "pred":
            return np.full(LANES, int(operand) != 0)
        bits = 8 * np.dtype(wanted).itemsize
        number = int(operand, 0) & ((1 << bits) - 1)
        return np.full(LANES, number, f"u{bits // 8}").view(wanted)

    def put(self, operand: str, value: Any, mask: Any) -> None:
        if operand == "_":
            return
        prefix = re.match(r"%([a-z]+)", operand)[1]  # type: ignore[index]
        kind = KINDS[REGISTERS[prefix]]
        if kind is not np.bool_:
            if value.itemsize != np.dtype(kind).itemsize:
                value = value.astype(kind)
            value = np.ascontiguousarray(value).view(kind)
        if not mask.all():
            old = self.registers.get(operand, np.zeros(LANES, kind))
            value = np.where(mask, value, old)
        self.registers[operand] = value

    def note(self, addresses: Any, mask: Any, size: int, shared: bool, reads: bool) -> None:
        """What an access costs: bytes of global memory, rounds of shared memory's banks."""
        if not shared:
            name = "read" if reads else "written"
            setattr(self.tally, name, getattr(self.tally, name) + size * int(mask.sum()))
            return
        taken = (addresses[mask] // 4)[:, None] + np.arange(max(1, size // 4), dtype=np.uint64)
        # lanes are served in as many groups as it takes for 128 bytes each
        groups = max(1, size // 4)
        each = -(-len(taken) // groups)
        for start in range(0, len(taken), max(1, each)):
            words = np.unique(taken[start : start + each])
            self.tally.rounds += int(np.bincount((words % 32).astype(int)).max(initial=0))
            self.tally.rounds_needed += -(-len(words) // 32)

    def address(self, operand: str, kind: str) -> Any:
        base, _, offset = operand.strip("[] ").partition("+")
        start = self.get(base.strip(), kind).astype(np.uint64)
        return start + np.uint64(int(offset or "0", 0) % 2**64)
