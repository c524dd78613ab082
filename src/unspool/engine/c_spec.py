"""What a kernel computes, and what a call of it hands over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from unspool.engine.items import Item, Term
from unspool.equations.expr import Expr, names
from unspool.equations.sizes import Size


class CannotPrint(Exception):
    """There is something that no kernel is written for; the planned backend runs it."""


@dataclass(frozen=True)
class Sum:
    """A parameter that receives an expression at every step of every row."""

    name: str
    expr: Expr
    waits: ClassVar[bool] = False

    def reads(self) -> set[str]:
        return names(self.expr)


@dataclass(frozen=True)
class Carry:
    """A state whose new value is made outside the loop, or is nothing."""

    state: str
    line: str | None


Work = Item | Sum
Levels = tuple[tuple[Work, ...], ...]


@dataclass(frozen=True)
class Group:
    """Matrices that read the same vector in the same tiles: packed side by side."""

    size: Size
    operand: str
    terms: tuple[tuple[int, Term], ...]  # (which accumulator, term)
    half: bool = False


@dataclass(frozen=True)
class Outer:
    """A matrix that receives `left` times `right` transposed at every step.

    With a `turn` it is added to what is there, once everybody is done with the turns before.
    """

    matrix: str
    left: str
    right: str
    turn: int | None


@dataclass(frozen=True)
class Spec:
    """What one direction of time computes.

    `carried` maps each state to the name that reads its old value and the line that is its new
    one (None: it becomes zero). `outputs` maps lines to arrays that are zero past a row's end;
    `saved` lines are kept for a later call, and so is every step's state if `history` says so.
    `extra` runs after the loop if the call asks for it.
    """

    before: tuple[Work, ...]
    levels: Levels
    after: tuple[Work, ...]
    extra: tuple[Work, ...]
    sizes: Mapping[str, Size]
    carried: Mapping[str, tuple[str, str | None]]
    outputs: Mapping[str, tuple[str, ...]]
    saved: frozenset[str]
    history: bool
    vectors: frozenset[str]
    masks: frozenset[str]
    outers: tuple[Outer, ...] = ()
    half: bool = False  # the loop's products in bfloat16, added up in float


@dataclass
class Kernel:
    """The source, and the order in which a call hands over pointers and sizes."""

    source: str = ""
    arrays: list[str] = field(default_factory=list)
    masks: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    temps: list[str] = field(default_factory=list)  # one step of them
    scalars: list[str] = field(default_factory=list)  # one value a row
    scratch: list[str] = field(default_factory=list)  # over all steps, for this call
    reduces: list[str] = field(default_factory=list)
    sums: list[str] = field(default_factory=list)
    ring: bool = True  # two places for each state are enough
    parts: dict[str, int] = field(default_factory=dict)  # how many numbers of each kind

    def size(self, size: Size) -> str:
        if size not in self.sizes:
            self.sizes.append(size)
        return f"K->n[{self.sizes.index(size)}]"
