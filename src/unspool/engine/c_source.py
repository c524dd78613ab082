"""A plan's loop, printed as C: workers own slices of units and meet once a level.

The source depends on the equations and the dtype alone; sizes, strides and pointers come with
each call. A level's products are taken tile by tile, one vector of units of every gate for a few
rows at a time, and the element-wise lines follow while the sums are at hand.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from unspool.engine.plan import Accumulate, Elementwise, Item, Loop, Reduce, Term
from unspool.equations.expr import Apply, Const, Expr, Name
from unspool.equations.sizes import Size

REGISTERS = 24  # accumulators of a tile; the rest of a vector unit's 32 hold operands
FUNCTIONS = {
    "sigmoid", "tanh", "relu", "softplus", "exp", "log", "sqrt", "abs", "sin", "cos", "minimum",
    "maximum", "step", "sign", "below",
}  # fmt: skip


class CannotPrint(Exception):
    """The loop has something that no kernel is written for; the planned backend runs it."""


@dataclass(frozen=True)
class Group:
    """Matrices that read the same vector in the same tiles: packed side by side."""

    size: Size
    operand: str
    terms: tuple[tuple[int, Term], ...]  # (which accumulator, term)


@dataclass(frozen=True)
class Spec:
    """What a loop reads and writes.

    `carried` maps each state to the name that reads its old value and the line that is its new
    one (None: it becomes zero). `outputs` are stored for every step; so is the line `ys`, but
    zero past a row's end. `scalars` are arrays with one value a row.
    """

    loop: Loop
    sizes: Mapping[str, Size]
    carried: Mapping[str, tuple[str, str | None]]
    outputs: tuple[str, ...]
    ys: str | None
    scalars: frozenset[str]
    biases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # added as it is read


@dataclass
class Kernel:
    """The source, and the order in which a call hands over pointers, strides and sizes."""

    source: str = ""
    arrays: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    temps: list[str] = field(default_factory=list)
    reduces: list[str] = field(default_factory=list)

    def size(self, size: Size) -> str:
        if size not in self.sizes:
            self.sizes.append(size)
        return f"K->n[{self.sizes.index(size)}]"


@dataclass(frozen=True)
class Carry:
    """A state whose new value is made outside the loop, or is nothing."""

    state: str
    line: str | None


Read = Callable[[str], str]


def print_kernel(spec: Spec) -> Kernel:
    return _Printer(spec).kernel()


class _Printer:
    def __init__(self, spec: Spec):
        self.spec, self.out = spec, Kernel()
        inside = spec.loop.inside
        self.inside = {item.name for item in inside}
        self.level_of = {i.name: k for k, level in enumerate(spec.loop.levels) for i in level}
        self.old = {old: state for state, (old, _) in spec.carried.items()}
        self.new = {new: state for state, (_, new) in spec.carried.items() if new in self.inside}
        self.out.states = list(spec.carried)
        self.out.reduces = [item.name for item in inside if isinstance(item, Reduce)]
        stored = {*spec.outputs, *self.new}
        self.out.temps = sorted(self.read_from_memory() - stored - set(self.out.reduces))
        reads = {name for item in inside for name in item.reads()}
        reads |= {new for _, new in spec.carried.values() if new is not None}
        reads |= {vector for name in reads for vector in spec.biases.get(name, ())}
        given = sorted(reads - self.inside - set(self.old))
        own = ["ys"] if spec.ys is not None else []  # no line's place: lines have their names
        self.out.arrays = [*given, *spec.outputs, *self.out.temps, *(f":{name}" for name in own)]

    def read_from_memory(self) -> set[str]:
        """Names of the loop that others read whole, or on a later level."""
        found: set[str] = set()
        for item in self.spec.loop.inside:
            for name in item.reads() & self.inside:
                whole = not isinstance(item, Elementwise)
                if whole or self.level_of[name] < self.level_of[item.name]:
                    found.add(name)
        return found

    def kernel(self) -> Kernel:
        functions, levels = [], []
        for number, level in enumerate(self.spec.loop.levels or ((),)):
            body, calls = self.level(number, level)
            functions += body
            levels.append("\n".join(f"      {call}" for call in calls))
        steps = "\n      meet(K, &turn);\n".join(levels)
        end = "      meet(K, &turn);" if self.meets_at_the_end() else ""
        packing = ["static void pack_all(const Kernel *K, long w) {", *self.packing(), "}"]
        loop = RUN.replace("STEPS", steps).replace("END", end)
        self.out.source = "\n".join(['#include "prelude.h"', *functions, *packing, loop])
        return self.out

    def level(self, number: int, level: Sequence[Item]) -> tuple[list[str], list[str]]:
        """Functions for each size of vector, and the calls that make up the level."""
        functions: list[str] = []
        calls = [self.reduction(item) for item in level if isinstance(item, Reduce)]
        classes: dict[Size, list[Item | Carry]] = {}
        for item in level:
            if not isinstance(item, Reduce):
                classes.setdefault(self.spec.sizes[item.name], []).append(item)
        if number == 0:
            for state, (old, new) in self.spec.carried.items():
                if new not in self.inside:
                    classes.setdefault(self.spec.sizes[old], []).append(Carry(state, new))
        for size, items in classes.items():
            self.check_sizes(size, items)
            self.out.size(size)
            label = f"{number}_{self.out.sizes.index(size)}"
            sums = [item for item in items if isinstance(item, Accumulate)]
            functions.append(self.tail(label, size, items, sums))
            functions.append(self.tiles(label, size, sums) if sums else self.rows(label, size))
            calls.append(f"level_{label}(K, t, ip, in, w);")
        return functions, calls

    def check_sizes(self, size: Size, items: Sequence[Item | Carry]) -> None:
        for item in items:
            if isinstance(item, Elementwise):
                for name in item.reads():
                    if self.spec.sizes[name] != size:
                        raise CannotPrint(f"{item.name} reads {name}, of another size")

    def place(self, name: str) -> tuple[str, str]:
        """Where a vector's first row stands at this step, and how far its rows are apart."""
        for states, when in ((self.old, "ip"), (self.new, "in")):
            if name in states:
                n = self.out.size(self.spec.sizes[name])
                return f"(K->s[{self.out.states.index(states[name])}] + {when} * K->B * {n})", n
        k = self.out.arrays.index(name)
        return f"(K->p[{k}] + t * K->st[{k}])", f"K->sb[{k}]"

    def reduction(self, item: Reduce) -> str:
        (pointer, stride), k = self.place(item.of), self.out.reduces.index(item.name)
        n = self.out.size(self.spec.sizes[item.of])
        into = f"K->red + (w * {len(self.out.reduces)} + {k}) * K->B"
        return f"reduce_{item.function}({pointer}, {stride}, K->B, {n}, {into});"

    # --- element-wise lines --------------------------------------------------------------

    def tail(
        self, label: str, size: Size, items: Sequence[Item | Carry], sums: list[Accumulate]
    ) -> str:
        """A function that runs the lines of one level on a tile: some rows, some vectors."""
        lines: list[str] = []
        local: dict[str, str] = {}
        at_hand = {item.name: f"acc[({k} * J + jj) * R + r]" for k, item in enumerate(sums)}

        def define(name: str, value: str) -> str:
            local[name] = f"x{len(local)}"
            lines.append(f"    const V {local[name]} = {value};")
            return local[name]

        def read(name: str) -> str:
            return local.get(name) or define(name, at_hand.get(name) or self.load(name))

        for item in items:
            if isinstance(item, Elementwise):
                lines += self.stores(item.name, define(item.name, self.expr(item.expr, read)), read)
            elif isinstance(item, Accumulate):
                lines += self.stores(item.name, read(item.name), read)
            elif isinstance(item, Carry):
                value = "splat(0)" if item.line is None else read(item.line)
                lines.append(self.carry(item.state, value, read))
        loops = ["for (long jj = 0; jj < J; jj++)", "for (long r = 0; r < R; r++)"]
        order = loops if sums else loops[::-1]  # rows outside where only memory counts
        template = TAIL.replace("LABEL", label).replace("SIZE", self.out.size(size))
        return template.replace("LOOPS", "\n  ".join(order)).replace("LINES", "\n".join(lines))

    def load(self, name: str) -> str:
        if name in self.out.reduces:
            k = self.out.reduces.index(name)
            return f"splat(K->red[(w * {len(self.out.reduces)} + {k}) * K->B + b])"
        pointer, stride = self.place(name)
        if name in self.spec.scalars:
            return f"splat({pointer}[b * {stride}])"
        loaded = f"load({pointer} + b * {stride} + j, count)"
        return " + ".join([loaded, *map(self.load, self.spec.biases.get(name, ()))])

    def stores(self, name: str, value: str, read: Read) -> list[str]:
        lines = [self.carry(self.new[name], value, read)] if name in self.new else []
        if name == self.spec.ys:
            lines.append(self.store(":ys", f"on ? {value} : splat(0)"))
        if name in self.out.arrays:
            lines.append(self.store(name, value))
        return lines

    def store(self, array: str, value: str) -> str:
        k = self.out.arrays.index(array)
        return f"    store(K->p[{k}] + t * K->st[{k}] + b * K->sb[{k}] + j, {value}, count);"

    def carry(self, state: str, value: str, read: Read) -> str:
        """The state's new value; a row past its end keeps the old one."""
        old = self.spec.carried[state][0]
        k, n = self.out.states.index(state), self.out.size(self.spec.sizes[old])
        value = f"on ? {value} : {read(old)}"
        return f"    store(K->s[{k}] + (in * K->B + b) * {n} + j, {value}, count);"

    def expr(self, expr: Expr, read: Read) -> str:
        inner = partial(self.expr, read=read)
        match expr:
            case Const(value=value):
                return f"splat({value!r})"
            case Name(id=name):
                return read(name)
            case Apply(function="**", args=(base, Const(value=k))):
                power = f"f_power{int(k)}(" if k in (2.0, 3.0) else f"f_power({k!r}, "
                return f"{power}{inner(base)})"
            case Apply(function="neg", args=(arg,)):
                return f"(-{inner(arg)})"
            case Apply(function="+" | "-" | "*" | "/" as symbol, args=(a, b)):
                return f"({inner(a)} {symbol} {inner(b)})"
            case Apply(function=function, args=args) if function in FUNCTIONS:
                return f"f_{function}({', '.join(map(inner, args))})"
        raise CannotPrint(f"no kernel is written for {expr}")

    # --- products ------------------------------------------------------------------------

    def rows(self, label: str, size: Size) -> str:
        return ROWS.replace("LABEL", label).replace("SIZE", self.out.size(size))

    def tiles(self, label: str, size: Size, sums: list[Accumulate]) -> str:
        """Tiles of several heights, and the walk of a worker over its units and all rows."""
        by_operand: dict[str, list[tuple[int, Term]]] = {}
        for k, item in enumerate(sums):
            for term in item.terms:
                by_operand.setdefault(term.operand, []).append((k, term))
        first = len(self.out.groups)
        for operand, terms in by_operand.items():
            self.out.groups.append(Group(size, operand, tuple(terms)))
        groups = list(enumerate(self.out.groups))[first:]
        wide = max(1, 4 // len(sums))
        highest = max(1, min(8, REGISTERS // (len(sums) * wide)))
        heights = sorted({highest, *(h for h in (4, 2, 1) if h < highest)}, reverse=True)
        text = []
        for J in sorted({wide, 1}):
            text += [self.tile(label, groups, len(sums), height, J) for height in heights]
            walk = [
                f"  for (; b + {h} <= K->B; b += {h}) tile_{label}_{h}_{J}(K, t, ip, in, w, b, j0);"
                for h in heights
            ]
            head = f"static void column_{label}_{J}(const Kernel *K, long t, long ip, long in,"
            text += [head, "    long w, long j0) {", "  long b = 0;", *walk, "}"]
        level = LEVEL.replace("LABEL", label).replace("SIZE", self.out.size(size))
        return "\n".join([*text, level.replace("WIDE", str(wide))])

    def tile(
        self, label: str, groups: list[tuple[int, Group]], sums: int, height: int, J: int
    ) -> str:
        """Sums of products for `height` rows and J vectors of units, all in registers."""
        every = [(k, jj, r) for k in range(sums) for jj in range(J) for r in range(height)]
        text = [
            f"static void tile_{label}_{height}_{J}(const Kernel *K, long t, long ip, long in,",
            "    long w, long b0, long j0) {",
            *(f"  V c{k}_{jj}_{r} = splat(0);" for k, jj, r in every),
        ]
        for g, group in groups:
            (pointer, stride), count = self.place(group.operand), len(group.terms)
            m = self.out.size(self.spec.sizes[group.operand])
            text += [
                f"  {{ const real *a = {pointer} + b0 * {stride};",
                f"    const long lda = {stride}, m = {m}, block = m * {count} * VL;",
                f"    const real *at = K->packed[{g}] + j0 * block;",
                f"    for (long k = 0; k < m; k++, at += {count} * VL) {{",
                *(f"      const V a{r} = splat(a[{r} * lda + k]);" for r in range(height)),
            ]
            for jj in range(J):
                for i, (k, _) in enumerate(group.terms):
                    weight = f"*(const V *)(at + {jj} * block + {i} * VL)"
                    adds = " ".join(f"c{k}_{jj}_{r} += weight * a{r};" for r in range(height))
                    text.append(f"      {{ const V weight = {weight}; {adds} }}")
            text += ["    }", "  }"]
        values = ", ".join(f"c{k}_{jj}_{r}" for k, jj, r in every)
        text += [f"  const V acc[] = {{ {values} }};"]
        return "\n".join(
            [*text, f"  tail_{label}(K, t, ip, in, w, b0, {height}, j0, {J}, acc);", "}"]
        )

    def packing(self) -> list[str]:
        calls, matrix = [], 0
        for g, group in enumerate(self.out.groups):
            n, m = self.out.size(group.size), self.out.size(self.spec.sizes[group.operand])
            for i, (_, term) in enumerate(group.terms):
                where = f"K->m[{matrix}], K->rs[{matrix}], K->cs[{matrix}], {term.sign}"
                into = f"K->packed[{g}], {len(group.terms)}, {i}"
                calls.append(f"  pack({into}, {where}, {n}, {m}, w, K->workers);")
                matrix += 1
        return calls

    def meets_at_the_end(self) -> bool:
        """Whether the next step must wait for this one: somebody there reads a whole vector."""
        levels = self.spec.loop.levels
        whole = [item for level in levels for item in level if not isinstance(item, Elementwise)]
        if levels and any(not isinstance(item, Elementwise) for item in levels[0]):
            return True
        # or writes into a vector that somebody here may still be reading
        return bool({name for item in whole for name in item.reads()} & set(self.out.temps))


TAIL = """
static __attribute__((noinline)) void tail_LABEL(const Kernel *K, long t, long ip, long in, long w,
    long b0, long R, long j0, long J, const V *acc) {
  const long n = SIZE;
  LOOPS {
    const long b = b0 + r, j = (j0 + jj) * VL, count = n - j;
    const int on = !K->len || t < K->len[b];
    (void)on; (void)ip; (void)in; (void)w; (void)acc;
LINES
  }
}"""

ROWS = """
static void level_LABEL(const Kernel *K, long t, long ip, long in, long w) {
  const long blocks = (SIZE + VL - 1) / VL, j0 = blocks * w / K->workers;
  tail_LABEL(K, t, ip, in, w, 0, K->B, j0, blocks * (w + 1) / K->workers - j0, 0);
}"""

LEVEL = """
static void level_LABEL(const Kernel *K, long t, long ip, long in, long w) {
  const long blocks = (SIZE + VL - 1) / VL, j1 = blocks * (w + 1) / K->workers;
  long j = blocks * w / K->workers;
  for (; j + WIDE <= j1; j += WIDE) column_LABEL_WIDE(K, t, ip, in, w, j);
  for (; j < j1; j++) column_LABEL_1(K, t, ip, in, w, j);
}"""

RUN = """
void run(const Kernel *asked) {
#pragma omp parallel num_threads(asked->workers) if (asked->workers > 1)
  {
    Kernel own = *asked;
    const Kernel *K = &own;
    long w = 0, turn = 0;
#ifdef _OPENMP
    if (asked->workers > 1) { /* there may be fewer than were asked for */
      own.workers = omp_get_num_threads();
      w = omp_get_thread_num();
    }
#endif
    pack_all(K, w);
    for (long k = 0; k < K->T; k++) {
      const long t = K->backwards ? K->T - 1 - k : k;
      const long ip = K->ring ? (k & 1) : (K->backwards ? t + 1 : t);
      const long in = K->ring ? ((k + 1) & 1) : (K->backwards ? t : t + 1);
STEPS
END
    }
  }
}
"""
