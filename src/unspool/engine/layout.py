"""Where everything of a call stands: two buffers, and the numbers that a kernel is called with."""

from collections.abc import Mapping
from functools import cached_property

from unspool.engine import c_build
from unspool.engine.c_spec import Kernel, Spec
from unspool.engine.c_templates import HEADER
from unspool.equations.sizes import Size

SMALL = 60_000  # multiplications a step below which a second worker costs more than it brings
BLOCK, PANELS = 256, 8  # of prelude.h
ALIGNED = 16  # each array begins at a multiple of so many numbers


def saved_counts(spec: Spec, kernel: Kernel, sizes: Mapping[str, int]) -> tuple[int, int, int]:
    """What training saves: numbers for each step of a row, numbers for each row, arrays."""
    lines = [1 if n in kernel.scalars else spec.sizes[n].value(sizes) for n in spec.saved]
    states = sum(spec.sizes[spec.carried[state][0]].value(sizes) for state in kernel.states)
    return sum(lines) + states, states, len(lines) + len(kernel.states)


class Layout:
    """For one set of sizes. Places are bytes from a buffer's start.

    `saved` is what the backward pass reads again, `work` what is gone when the call returns.
    """

    def __init__(
        self,
        spec: Spec,
        kernel: Kernel,
        T: int,
        B: int,
        sizes: Mapping[str, int],
        element: int,
        threads: int,
    ):
        self.spec, self.kernel, self.T, self.B, self.element = spec, kernel, T, B, element
        self.n = [size.value(sizes) for size in kernel.sizes]
        value: dict[Size, int] = dict(zip(kernel.sizes, self.n, strict=True))

        def size(name: str) -> int:
            found = spec.sizes[name]
            return value[found] if found in value else found.value(sizes)

        self.output_sizes = {a: size(n) for n, arrays in spec.outputs.items() for a in arrays}
        self.state_sizes = [size(spec.carried[state][0]) for state in kernel.states]
        self.saved: dict[str, int] = {}
        self.work: dict[str, int] = {}
        self.saved_length = self.work_length = 0
        for name in sorted(spec.saved):
            self.saved[name] = self._save(T * B * (1 if name in kernel.scalars else size(name)))
        for name in (*kernel.scratch, *kernel.temps):
            columns = 1 if name in kernel.scalars else size(name)
            self.work[name] = self._use((1 if name in kernel.temps else T) * B * columns)
        slots = 2 if kernel.ring else T + 1
        take = self._save if spec.history else self._use
        self.states = [take(slots * B * n) for n in self.state_sizes]
        lanes = 64 // element
        areas = [value[g.size] * size(g.operand) * len(g.terms) for g in kernel.groups]
        self.packed = [
            self._use((value[g.size] + lanes) * size(g.operand) * len(g.terms))
            for g in kernel.groups
        ]
        self.half = [0] * len(kernel.groups)
        terms = [
            (item.name, term.operand)
            for level in spec.levels
            for item in level
            for term in getattr(item, "terms", ())
        ]
        step = B * sum(size(name) * size(operand) for name, operand in terms)
        alone = 4 if T == 1 else 1  # one step has nobody to wait for the workers it wakes
        self.workers = threads if step >= SMALL * alone else 1
        for k, group in enumerate(kernel.groups):
            if group.half:
                self.half[k] = self._use(self.workers * B * (size(group.operand) + 1) // 2 + 16)
        outers = sum(size(outer.left) * size(outer.right) for outer in spec.outers)
        everything = T * B * (sum(areas) + outers)
        self.together = threads if everything >= 20 * SMALL else self.workers
        self.sums = [self._use(self.together * (size(name) + lanes)) for name in kernel.sums]
        self.red = self._use(max(1, self.workers * len(kernel.reduces) * B))
        block, wide = min(BLOCK, T * B), c_build.accumulators() // 6 * lanes
        rights = {outer.right for outer in spec.outers}
        panels = min(PANELS, sum(-(-size(right) // wide) for right in rights))
        self.panel_size = block * (panels * wide + 6)
        self.panel = self._use(self.together * self.panel_size)
        self.latest: tuple[int, bool, list[int]] | None = None

    def _use(self, count: int) -> int:
        start = self.work_length
        self.work_length = start + -(-count // ALIGNED) * ALIGNED
        return start * self.element

    def _save(self, count: int) -> int:
        start = self.saved_length
        self.saved_length = start + -(-count // ALIGNED) * ALIGNED
        return start * self.element

    @cached_property
    def parts(self) -> dict[str, int]:
        """Where each part of a call's numbers begins, in the order of the kernel."""
        starts, at = {}, len(HEADER)
        for name, count in self.kernel.parts.items():
            starts[name] = at
            at += count
        return {**starts, "end": at}

    @cached_property
    def given(self) -> list[tuple[int, str]]:
        """What a call brings with it: which number is the address of which array."""
        own = {*self.work, *self.saved}
        arrays = enumerate(self.kernel.arrays, self.parts["p"])
        return [(k, name) for k, name in arrays if name not in own]

    @cached_property
    def matrices(self) -> list[tuple[str, bool]]:
        return [(t.matrix, t.transposed) for group in self.kernel.groups for _, t in group.terms]

    def numbers(self, work: int, saved: int, backwards: bool) -> list[int]:
        """Those of a call that the sizes and the two buffers settle; the rest are zero."""
        latest = self.latest  # read once: other threads may put theirs there
        if latest is None or latest[:2] != (work, backwards):
            self.latest = latest = (work, backwards, self._settled(work, backwards))
        found, at = latest[2].copy(), self.parts
        if saved:
            for k, name in enumerate(self.kernel.arrays, at["p"]):
                if name in self.saved:
                    found[k] = saved + self.saved[name]
            if self.spec.history:
                found[at["s"] : at["first"]] = [saved + place for place in self.states]
        return found

    def _settled(self, work: int, backwards: bool) -> list[int]:
        kernel, T, at = self.kernel, self.T, self.parts
        first, last = (0, T & 1) if kernel.ring else ((T, 0) if backwards else (0, T))
        head = [
            T, self.B, self.together, self.workers, int(backwards), int(kernel.ring), 1, 0,
            int(backwards), int(not backwards), first, last, 0, work + self.red,
            work + self.panel, self.panel_size, *self.n,
        ]  # fmt: skip
        found = head + [0] * (at["end"] - len(head))
        for k, name in enumerate(kernel.arrays, at["p"]):
            if name in self.work:
                found[k] = work + self.work[name]
        if not self.spec.history:
            found[at["s"] : at["first"]] = [work + place for place in self.states]
        places = (*self.packed, *self.half, *self.sums)
        found[at["packed"] : at["vec"]] = [work + place for place in places]
        return found
