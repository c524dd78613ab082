"""A plan, printed as C: what runs before the loop, the loop, what runs after it, in one call.

The source depends on the equations and the dtype alone; sizes and pointers come with each call.
In the loop workers own slices of units and meet once a level. Before and after it, where steps do
not wait for each other, they own slices of rows, and a row is a step of a sequence. Products are
taken tile by tile, one vector of units of every gate for a few rows at a time, and element-wise
lines follow while the sums are at hand.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from unspool.engine.c_outers import outer_functions
from unspool.engine.c_products import Products
from unspool.engine.c_spec import CannotPrint, Carry, Kernel, Levels, Outer, Spec, Sum, Work
from unspool.engine.c_templates import HEADER, NO_TILES, ROWS, RUN, TAIL
from unspool.engine.items import Accumulate, Elementwise, Reduce, levels_of
from unspool.equations.expr import Apply, Const, Expr, Name
from unspool.equations.sizes import Size

FUNCTIONS = {
    "sigmoid", "tanh", "relu", "softplus", "exp", "log", "sqrt", "abs", "sin", "cos", "minimum",
    "maximum", "step", "sign", "below",
}  # fmt: skip


Read = Callable[[str], str]


def print_kernel(spec: Spec, registers: int) -> Kernel:
    """`registers`: accumulators of a tile; a vector unit has some more, to hold operands."""
    return _Printer(spec, registers).kernel()


class _Printer:
    def __init__(self, spec: Spec, registers: int):
        self.spec, self.out, self.registers = spec, Kernel(), registers
        rows = {"before": spec.before, "after": spec.after, "extra": spec.extra}
        self.passes: dict[str, Levels] = {k: levels_of(items) for k, items in rows.items()}  # type: ignore[arg-type]
        self.passes["loop"] = spec.levels
        self.where = {
            item.name: (p, k) for p, k, item in self.everything() if not isinstance(item, Sum)
        }
        inside = [item for level in spec.levels for item in level]
        self.inside = {item.name for item in inside}
        self.old = {old: state for state, (old, _) in spec.carried.items()}
        self.new = {new: state for state, (_, new) in spec.carried.items() if new in self.inside}
        self.out.states = list(spec.carried)
        self.out.reduces = [item.name for item in inside if isinstance(item, Reduce)]
        self.out.sums = [item.name for _, _, item in self.everything() if isinstance(item, Sum)]
        self.products = Products(spec, self.out, registers, self.place)
        self.set_places()

    def everything(self) -> Iterator[tuple[str, int, Work]]:
        for name, levels in self.passes.items():
            for k, level in enumerate(levels):
                for item in level:
                    yield name, k, item

    def set_places(self) -> None:
        """Which names stand in memory, and for how long."""
        out, spec = self.out, self.spec
        needed, elsewhere = set(spec.saved), set(spec.saved)  # in memory at all; beyond one step
        sides = {name for outer in spec.outers for name in (outer.left, outer.right)}
        given = set(sides)
        reduces = [(p, item) for p, _, item in self.everything() if isinstance(item, Reduce)]
        rows_reduced = {item.name for place, item in reduces if place != "loop"}
        for place, k, item in self.everything():
            given |= item.reads()
            whole = not isinstance(item, Elementwise | Sum)
            for name in item.reads() & set(self.where):
                made, level = self.where[name]
                read_later = whole or made != place or level < k
                needed |= {name} if read_later or name in rows_reduced else set()
                elsewhere |= {name} if made != place or place != "loop" else set()
        carried = {new for _, new in spec.carried.values() if new and new not in self.inside}
        needed, elsewhere = needed | sides | carried, elsewhere | sides | carried
        out.ring = not spec.history and not (set(self.old) | set(self.new)) & (
            sides | {n for p, _, i in self.everything() if p != "loop" for n in i.reads()}
        )
        stored = sorted((needed & set(self.where)) - set(self.new))
        kinds = {item.name: item for _, _, item in self.everything()}
        private = [n for n in stored if n in out.reduces and n not in elsewhere]
        stored = [name for name in stored if name not in private]
        out.scalars = [name for name in stored if isinstance(kinds[name], Reduce)]
        out.temps = [name for name in stored if name in self.inside and name not in elsewhere]
        out.scratch = [name for name in stored if name not in (*out.temps, *spec.saved)]
        read = sorted((given | carried) - set(self.where) - set(self.old))
        results = [array for arrays in spec.outputs.values() for array in arrays]
        out.arrays = [*read, *stored, *results]
        out.masks = [name for name in read if name in spec.masks]

    def kernel(self) -> Kernel:
        functions: list[str] = []
        text = {}
        for name in ("before", "after", "extra"):
            calls = []
            for k, level in enumerate(self.passes[name]):
                made, found = self.level(name, k, level)
                functions += made
                calls += found
            text[name] = "\n".join(f"    {call}" for call in calls)
        levels = []
        for k, level in enumerate(self.passes["loop"] or ((),)):
            made, found = self.level("loop", k, level)
            functions += made
            levels.append("\n".join(f"      {call}" for call in found))
        steps = "\n      meet(K, &turn);\n".join(levels)
        end = "      meet(K, &turn);" if self.meets_at_the_end() else ""
        run = (
            RUN.replace("STEPS", steps).replace("END", end).replace("PACK", self.products.packing())
        )
        for name, calls in text.items():
            body = ROWS.replace("CALLS", calls) if calls else ""
            run = run.replace(f"{name.upper()}_ROWS", body)
        run = run.replace("START", self.copies("first")).replace("STOP", self.copies("last"))
        run = run.replace("OUTERS", self.outers()).replace("SUMS", self.sums())
        run = run.replace("ZERO", self.zeros()).replace("FIELDS", self.fields())
        shared = outer_functions(self.registers) if self.spec.outers else []
        head = "#define HALF" if self.spec.half else ""
        self.out.source = "\n".join([head, '#include "prelude.h"', *shared, *functions, run])
        return self.out

    def level(self, where: str, k: int, level: Sequence[Work]) -> tuple[list[str], list[str]]:
        """Functions for each size of vector, and the calls that make up the level."""
        functions: list[str] = []
        calls = [self.reduction(item, where) for item in level if isinstance(item, Reduce)]
        classes: dict[Size, list[Work | Carry]] = {}
        for item in level:
            if not isinstance(item, Reduce):
                classes.setdefault(self.spec.sizes[item.name], []).append(item)
        if where == "loop" and k == 0:
            for state, (old, new) in self.spec.carried.items():
                if new not in self.inside:
                    classes.setdefault(self.spec.sizes[old], []).append(Carry(state, new))
        for size, items in classes.items():
            self.check_sizes(size, items)
            n = self.out.size(size)
            label = f"{where}_{k}_{self.out.sizes.index(size)}"
            sums = [item for item in items if isinstance(item, Accumulate)]
            functions.append(self.tail(label, size, items, sums, where))
            half, first = self.spec.half and where == "loop", len(self.out.groups)
            functions.append(
                self.products.tiles(label, size, sums, half)
                if sums
                else NO_TILES.replace("LABEL", label)
            )
            if half:
                made = list(enumerate(self.out.groups))[first:]
                calls += [self.products.halving(g, group) for g, group in made]
            slices = "0, K->B, SLICE({n})" if where == "loop" else "b0, b1, 0, BLOCKS({n})"
            calls.append(f"level_{label}(K, t, ip, in, w, {slices.format(n=n)});")
        return functions, calls

    def check_sizes(self, size: Size, items: Sequence[Work | Carry]) -> None:
        for item in items:
            if isinstance(item, Elementwise | Sum):
                for name in item.reads():
                    if self.spec.sizes[name] != size:
                        raise CannotPrint(f"{item.name} reads {name}, of another size")

    def place(self, name: str) -> tuple[str, str]:
        """Where a vector's first row stands at this step, and how far its rows are apart."""
        n = self.out.size(self.spec.sizes[name])
        for states, when in ((self.old, "ip"), (self.new, "in")):
            if name in states:
                return f"(K->s[{self.out.states.index(states[name])}] + {when} * K->B * {n})", n
        if name in self.spec.masks:
            raise CannotPrint(f"the mask {name} stands alone")
        pointer = f"K->p[{self.out.arrays.index(name)}]"
        if name in self.spec.vectors:
            return pointer, "0"
        if name in self.out.scalars:
            return f"({pointer} + t * K->B)", "1"
        return (pointer if name in self.out.temps else f"({pointer} + t * K->B * {n})"), n

    def reduction(self, item: Reduce, where: str) -> str:
        (pointer, stride), n = self.place(item.of), self.out.size(self.spec.sizes[item.of])
        rows = f"reduce_{item.function}({pointer}, {stride}"
        if where != "loop":
            return f"{rows}, b0, b1, {n}, K->p[{self.out.arrays.index(item.name)}]);"
        into = self.reduced(item.name)
        copy = ""
        if item.name in self.out.arrays:
            copy = f" if (!w) memcpy({self.place(item.name)[0]}, {into}, K->B * sizeof(real));"
        return f"{rows}, 0, K->B, {n}, {into});{copy}"

    def reduced(self, name: str) -> str:
        """A worker's own copy of a reduction in the loop."""
        count, k = len(self.out.reduces), self.out.reduces.index(name)
        return f"(K->red + (w * {count} + {k}) * K->B)"

    # --- element-wise lines --------------------------------------------------------------

    def tail(
        self,
        label: str,
        size: Size,
        items: Sequence[Work | Carry],
        sums: list[Accumulate],
        where: str,
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
            return local.get(name) or define(name, at_hand.get(name) or self.load(name, where))

        for item in items:
            if isinstance(item, Elementwise):
                lines += self.stores(item.name, define(item.name, self.expr(item.expr, read)), read)
            elif isinstance(item, Accumulate):
                for vector in item.bias:
                    at_hand[item.name] = f"({at_hand[item.name]} + {read(vector)})"
                lines += self.stores(item.name, read(item.name), read)
            elif isinstance(item, Sum):
                k, value = self.out.sums.index(item.name), self.expr(item.expr, read)
                lines.append(f"    if (on) {{ V *s = (V *)(K->sum[{k}] + w * (n + VL) + j);")
                lines.append(f"      *s = *s + {value}; }}")
            elif isinstance(item, Carry):
                value = "splat(0)" if item.line is None else read(item.line)
                lines.append(self.carry(item.state, value, read))
        loops = ["for (long jj = 0; jj < J; jj++)", "for (long r = 0; r < R; r++)"]
        order = loops if sums else loops[::-1]  # rows outside where only memory counts
        step = "t, mb = b" if where == "loop" else "b / K->B, mb = b % K->B"
        masks = f"const long mt = {step};" if any("mb" in line for line in lines) else ""
        template = TAIL.replace("LABEL", label).replace("SIZE", self.out.size(size))
        template = template.replace("MASKS", masks).replace("LOOPS", "\n  ".join(order))
        return template.replace("LINES", "\n".join(lines))

    def load(self, name: str, where: str) -> str:
        if where == "loop" and name in self.out.reduces:
            return f"splat({self.reduced(name)}[b])"
        if name in self.out.masks:
            k, m = self.out.arrays.index(name), self.out.masks.index(name)
            return f"load(K->p[{k}] + mt * K->ms[{2 * m}] + mb * K->ms[{2 * m + 1}] + j, count)"
        pointer, stride = self.place(name)
        if name in self.out.scalars:
            return f"splat({pointer}[b])"
        return f"load({pointer} + b * {stride} + j, count)"

    def stores(self, name: str, value: str, read: Read) -> list[str]:
        lines = [self.carry(self.new[name], value, read)] if name in self.new else []
        for array in self.spec.outputs.get(name, ()):
            pointer = f"K->p[{self.out.arrays.index(array)}] + (t * K->B + b) * n + j"
            lines.append(f"    store({pointer}, on ? {value} : splat(0), count);")
        if name in self.out.arrays:
            pointer, stride = self.place(name)
            lines.append(f"    store({pointer} + b * {stride} + j, {value}, count);")
        return lines

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

    # --- around the loop -----------------------------------------------------------------

    def meets_at_the_end(self) -> bool:
        """Whether the next step must wait for this one: somebody there reads a whole vector."""
        levels = self.spec.levels
        whole = [i for level in levels for i in level if not isinstance(i, Elementwise | Sum)]
        if levels and any(not isinstance(item, Elementwise | Sum) for item in levels[0]):
            return True
        # or writes into a vector that somebody here may still be reading
        written = {*self.out.temps, *(self.old if self.out.ring else ())}
        return bool({name for item in whole for name in item.reads()} & written)

    def copies(self, which: str) -> str:
        """States from where they start, and to where they are left."""
        text = []
        for k, state in enumerate(self.out.states):
            n = f"K->B * {self.out.size(self.spec.sizes[self.spec.carried[state][0]])}"
            place, slot = f"K->s[{k}] + K->{which}_slot * {n}", f"K->{which}[{k}]"
            to, source = (place, slot) if which == "first" else (slot, place)
            text.append(f"    memcpy({to}, {source}, {n} * sizeof(real));")
        return "\n".join(text)

    def outers(self) -> str:
        """Matrix gradients; right sides that meet the same left ones are taken together."""
        turns: dict[int, list[tuple[int, Outer]]] = {0: []}
        for k, outer in enumerate(self.spec.outers):
            turns.setdefault(outer.turn or 0, []).append((k, outer))
        return "\n#pragma omp barrier\n".join(map(self.outers_of_a_turn, turns.values()))

    def outers_of_a_turn(self, outers: Sequence[tuple[int, Outer]]) -> str:
        by_right: dict[str, list[tuple[int, Outer]]] = {}
        for k, outer in outers:
            by_right.setdefault(outer.right, []).append((k, outer))
        groups: dict[tuple[str, ...], list[str]] = {}
        for right, members in by_right.items():
            groups.setdefault(tuple(outer.left for _, outer in members), []).append(right)
        text = []
        for lefts, rights in groups.items():
            targets = []
            for i in range(len(lefts)):
                for right in rights:
                    k, outer = by_right[right][i]
                    targets.append(f"{{ K->grad[{k}], K->gs[{k}], {int(outer.turn is not None)} }}")
            text += [
                f"    {{ const Side left[] = {{ {', '.join(map(self.side, lefts))} }};",
                f"      const Side right[] = {{ {', '.join(map(self.side, rights))} }};",
                f"      const Target target[] = {{ {', '.join(targets)} }};",
                f"      outers(K, w, left, {len(lefts)}, right, {len(rights)}, target); }}",
            ]
        return "\n".join(text)

    def side(self, name: str) -> str:
        pointer, stride = self.place(name)
        return f"{{ {pointer}, {stride}, {self.out.size(self.spec.sizes[name])} }}"

    def sums(self) -> str:
        calls = []
        for k, name in enumerate(self.out.sums):
            n = self.out.size(self.spec.sizes[name])
            calls.append(f"    finish_sum(K, K->sum[{k}], K->vec[{k}], {n});")
        return "\n".join(calls)

    def zeros(self) -> str:
        sizes = [self.out.size(self.spec.sizes[name]) for name in self.out.sums]
        return "\n".join(f"    zero_sum(K, K->sum[{k}], {n}, w);" for k, n in enumerate(sizes))

    def fields(self) -> str:
        """The call's numbers by name: single ones, then where each row of them begins."""
        out = self.out
        matrices = sum(len(group.terms) for group in out.groups)
        outers, states, sums = len(self.spec.outers), len(out.states), len(out.sums)
        out.parts = {
            "n": len(out.sizes), "ms": 2 * len(out.masks), "p": len(out.arrays), "s": states,
            "first": states, "last": states, "m": matrices, "rs": matrices, "cs": matrices,
            "packed": len(out.groups), "half": len(out.groups), "sum": sums, "vec": sums,
            "grad": outers, "gs": outers,
        }  # fmt: skip
        text = [
            f".{name} = {'(void *)' * (name in ('on', 'red', 'panel'))}a[{k}]"
            for k, name in enumerate(HEADER)
        ]
        at = len(HEADER)
        for name, count in out.parts.items():
            text.append(f".{name} = (void *)(a + {at})")
            at += count
        return ", ".join(text)
