"""What a kernel for the GPU computes, and how its work is cut into tiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unspool.engine.items import Accumulate, Item, Reduce

Levels = tuple[tuple[Item, ...], ...]
BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8}


def pitch(n: int) -> int:
    """How far rows of a shared vector are apart: whole 32-byte sectors, whatever the dtype."""
    return -(-n // 16) * 16


def read_whole(level: Sequence[Item]) -> list[str]:
    """Vectors that a level reads from end to end."""
    found: list[str] = []
    for item in level:
        if isinstance(item, Accumulate):
            found += [term.operand for term in item.terms]
        elif isinstance(item, Reduce):
            found.append(item.of)
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Recurrence:
    """One direction of time, over vectors of known sizes; or two side by side, with other weights.

    `carried` maps each state to the name that reads its old value and the line that is its new one
    (None: it becomes zero). `stored` lines are written for every step, `outputs` too, and are zero
    past a row's end. With `history` every step's states are kept, the first ones included. Each
    entry of `backwards` is a side: whether it runs from the last step to the first.
    """

    levels: Levels
    sizes: Mapping[str, int]
    carried: Mapping[str, tuple[str, str | None]]
    outputs: tuple[str, ...]
    stored: tuple[str, ...]
    vectors: frozenset[str]
    row_masks: frozenset[str]
    numbers: frozenset[str]  # masks that are one number
    history: bool
    ragged: bool  # rows end at their own lengths
    backwards: tuple[bool, ...]


@dataclass(frozen=True)
class Tiles:
    """How a recurrence is cut: a program owns `units` of each vector for `rows` rows.

    Products add up `chunk` columns at a time, split among `split` groups of warps. One program
    alone (`programs` = 1) may hand its vectors on in registers (`local`); more of them meet in
    memory, unless no vector is read whole (`meets` is False). Up to `held` bytes of its weights are
    on chip for all steps; the others are read again in each of them. A program waits as a whole for
    what is not yet there, or each of its warps by itself (`warps_wait`).
    """

    rows: int
    programs: int
    units: tuple[tuple[int, int], ...]  # by size of vector
    chunk: int
    split: int
    warps: int
    local: bool = False
    meets: bool = True
    held: int = 1 << 30
    batch: int = 65536  # bytes of a tile that wait in registers together
    precision: str = "ieee"  # of products of float32
    warps_wait: bool = False
    delay: int = 0  # for tests: programs dawdle up to so many reads of memory before they write

    @property
    def parts(self) -> int:
        """For three products of TF32 every number is there in two parts."""
        return 2 if self.precision == "tf32x3" else 1

    @property
    def shape(self) -> tuple[int, int, int, bool]:
        """Ways that have this in common differ little."""
        return self.rows, self.programs, self.warps, self.split == 1

    def of(self, size: int) -> int:
        return dict(self.units)[size]


@dataclass
class Printed:
    """A kernel's source, and the order of what it is called with."""

    source: str = ""
    matrices: list[tuple[str, bool]] = field(default_factory=list)
    arrays: list[str] = field(default_factory=list)  # (T, B, n), read
    vectors: list[str] = field(default_factory=list)  # (n,)
    row_masks: list[str] = field(default_factory=list)  # (B, n)
    numbers: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    shared: dict[str, int] = field(default_factory=dict)  # lines that meet in memory: their place
    histories: list[str] = field(default_factory=list)  # states kept for every step
    met: set[str] = field(default_factory=set)  # those of them that others read
