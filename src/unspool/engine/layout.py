"""Where everything of a call stands: two buffers, and the numbers that a kernel is called with."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from unspool.engine import c_build
from unspool.engine.c_source import Kernel, Spec
from unspool.equations.sizes import Size

SMALL = 60_000  # multiplications a step below which a second worker costs more than it brings
BLOCK, PANELS = 256, 8  # of prelude.h


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

    def _use(self, count: int) -> int:
        start = self.work_length
        self.work_length = start + -(-count // 16) * 16
        return start * self.element

    def _save(self, count: int) -> int:
        start = self.saved_length
        self.saved_length = start + -(-count // 16) * 16
        return start * self.element

    @cached_property
    def matrices(self) -> list[tuple[str, bool]]:
        return [(t.matrix, t.transposed) for group in self.kernel.groups for _, t in group.terms]

    def numbers(
        self,
        *,
        backwards: bool,
        extra: bool,
        on: int,
        work: int,
        saved: int,
        given: Mapping[str, int],
        masks: Mapping[str, tuple[int, int]],
        ends: Sequence[int],
        matrices: Mapping[str, tuple[int, int, int]],
        vectors: Sequence[int],
        gradients: Sequence[tuple[int, int]],
    ) -> list[int]:
        """All numbers of a call, in the order that the kernel reads them in.

        `ends` are the addresses of the states' first values, then of their last ones. A matrix
        is an address and two steps, from row to row and from column to column.
        """
        kernel, T = self.kernel, self.T
        first, last = (0, T & 1) if kernel.ring else ((T, 0) if backwards else (0, T))
        found = [
            T, self.B, self.together, self.workers, backwards, kernel.ring, 1, extra,
            int(backwards), int(not backwards), first, last, on, work + self.red,
            work + self.panel, self.panel_size, *self.n,
        ]  # fmt: skip
        for name in kernel.masks:
            found += masks[name]
        for name in kernel.arrays:
            if name in self.work:
                found.append(work + self.work[name])
            elif name in self.saved:
                found.append(saved + self.saved[name])
            else:
                found.append(given[name])
        states = saved if self.spec.history else work
        found += [states + place for place in self.states]
        found += ends
        terms = [(*matrices[name], transposed) for name, transposed in self.matrices]
        found += [address for address, _, _, _ in terms]
        found += [columns if transposed else rows for _, rows, columns, transposed in terms]
        found += [rows if transposed else columns for _, rows, columns, transposed in terms]
        found += [work + place for place in self.packed]
        found += [work + place for place in self.half]
        found += [work + place for place in self.sums]
        found += vectors
        found += [address for address, _ in gradients]
        found += [step for _, step in gradients]
        return found
