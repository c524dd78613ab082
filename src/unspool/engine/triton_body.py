"""The steps of a recurrence in Triton: level by level, products, reductions, element-wise lines.

Programs own slices of units for some rows, and keep their states in registers from step to step.
A product or a reduction reads a whole vector: everybody writes their slice to memory, where a
place that is not yet written holds a mark, and reads until no mark is left. What is read is its
own proof of having arrived, so there is no barrier, and no place is written twice in a launch.
"""

from collections.abc import Sequence

from unspool.engine.c_spec import CannotPrint
from unspool.engine.items import Accumulate, Elementwise, Item, Reduce, Term
from unspool.engine.triton_meeting import GIVES_UP, Meeting
from unspool.engine.triton_spec import BYTES, Printed, Recurrence, Tiles, pitch, read_whole
from unspool.equations.expr import Apply, Const, Expr, Name
from unspool.equations.functions import FUNCTIONS, LAYER_NORM_EPS, OPERATORS

TYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64"}
PRINTED = set(FUNCTIONS) - set(OPERATORS) - {"layer_norm", "concat", "mean", "rstd"}
TRITONS = {"exp", "log", "sqrt", "abs", "sin", "cos"}  # its own; the others are the prelude's


class Body:
    """Prints what a program does in a step, and finds out what it needs for that."""

    def __init__(self, recurrence: Recurrence, tiles: Tiles, dtype: str):
        self.rec, self.tiles, self.dtype = recurrence, tiles, dtype
        self.real = "tl.float64" if dtype == "fp64" else "tl.float32"
        self.type = f"tl.{TYPES[dtype]}"
        self.out = Printed(states=list(recurrence.carried))
        self.weights: list[str] = []  # lines that read what is held for all steps
        self.lines: list[str] = []  # of a step
        self.later: list[str] = []  # what nobody waits for, written when all else is done
        self.held = 0  # bytes of weights, so far
        self.made = {item.name for level in recurrence.levels for item in level}
        self.old = {old: state for state, (old, _) in recurrence.carried.items()}
        self.new = {new: state for state, (_, new) in recurrence.carried.items() if new}
        # what is at hand in registers, by name
        self.local = {old: f"s{k}" for k, old in enumerate(self.old)}
        self.set_places()
        for k, level in enumerate(recurrence.levels or ((),)):
            self.level(k, level)

    # --- places ----------------------------------------------------------------------------

    def set_places(self) -> None:
        """Which vectors meet in memory, and what is read from outside."""
        rec, out = self.rec, self.out
        whole = [name for level in rec.levels for name in read_whole(level)]
        self.operands = list(dict.fromkeys(whole))
        if not self.tiles.local:
            out.met = {state for name in whole if (state := self.state_of(name))}
        out.histories = [s for s in out.states if rec.history or s in out.met]
        self.shared_pitch = 0
        for name in self.operands:
            if self.tiles.local or self.state_of(name):
                continue
            if name not in self.made:
                raise CannotPrint(f"{name} is read whole, and nothing in the loop makes it")
            out.shared[name] = self.shared_pitch
            self.shared_pitch += pitch(rec.sizes[name])
        named = {*self.made, *self.old, *self.operands}
        self.sizes = sorted({rec.sizes[name] for name in named})
        self.meeting = Meeting(self)

    def state_of(self, name: str) -> str | None:
        """The state whose old or new value a name is, if it stands among the states' steps."""
        return self.old.get(name) or self.new.get(name)

    def state_size(self, state: str) -> int:
        return self.rec.sizes[self.rec.carried[state][0]]

    def given(self, kind: list[str], name: str) -> int:
        if name not in kind:
            kind.append(name)
        return kind.index(name)

    # --- one level -------------------------------------------------------------------------

    def level(self, k: int, level: Sequence[Item]) -> None:
        sums = [item for item in level if isinstance(item, Accumulate)]
        for index, item in enumerate(sums):
            self.local[item.name] = f"d{k}_{index}"
        if k == 0:
            self.carry_early()
        parts = {item.name: self.terms(item) for item in sums}
        begun: set[str] = set()
        for batch in self.meeting.batches(read_whole(level)):
            self.lines += self.meeting.wait(batch)
            for piece in batch:
                for item in sums:
                    for operand, chunk, weights in parts[item.name]:
                        if (operand, chunk) == piece:
                            self.product(item, piece, weights, item.name not in begun)
                            begun.add(item.name)
        self.add_up(sums)
        if self.tiles.delay:
            self.dawdle(k)
        for index, item in enumerate(item for item in level if isinstance(item, Reduce)):
            self.local[item.name] = f"g{k}_{index}"
            self.reduction(item, self.local[item.name])
            self.stores(item.name, f"({self.local[item.name]} + zero{self.rec.sizes[item.name]})")
        for index, item in enumerate(item for item in level if isinstance(item, Elementwise)):
            self.line(item, f"e{k}_{index}")
        for item in sums:
            self.stores(item.name, self.local[item.name])
        self.lines += self.later
        self.later = []

    def dawdle(self, k: int) -> None:
        """For tests: as many reads of memory, one after the other, as chance says."""
        self.lines += [
            "idle = 0",
            f"for _ in range((pid * 7919 + i * 104729 + {31 * k}) % {self.tiles.delay}):",
            "    idle += (tl.load(trouble + idle, volatile=True) > 0).to(tl.int32)",
            f"patience = tl.where(idle > 0, {GIVES_UP}, patience)",
        ]

    # --- products --------------------------------------------------------------------------

    def terms(self, item: Accumulate) -> list[tuple[str, int, str]]:
        """Every chunk of every product of a sum, with the weights that it is taken with."""
        found = []
        for index, term in enumerate(item.terms):
            for operand, chunk in self.meeting.pieces([term.operand]):
                weights = f"{self.local[item.name]}_{index}_{chunk}"
                load = self.weight(term, chunk, self.rec.sizes[item.name])
                size = self.tiles.of(self.rec.sizes[item.name]) * self.tiles.chunk
                size *= BYTES[self.dtype] * self.tiles.parts
                if self.held + size <= self.tiles.held:
                    self.held += size
                    self.weights.append(f"{weights} = {load}")
                else:
                    weights = load
                found.append((operand, chunk, weights))
        return found

    def weight(self, term: Term, chunk: int, n: int) -> str:
        key = (term.matrix, term.transposed)
        if key not in self.out.matrices:
            self.out.matrices.append(key)
        k, inner = self.out.matrices.index(key), self.rec.sizes[term.operand]
        unit, deep = f"j{n}", f"(k_w + {chunk * self.tiles.chunk})"
        if self.tiles.local:
            deep = f"tl.arange(0, {self.tiles.of(inner)})[:, None]"
        elif self.tiles.split > 1:
            unit = f"u{n}[None, None, :]"
        row, column = ("mc", "mr") if term.transposed else ("mr", "mc")
        place = f"m{k} + {unit} * {row}{k} + {deep} * {column}{k}"
        load = f"tl.load({place}, mask=({unit} < {n}) & ({deep} < {inner}), other=0.0)"
        return f"-{load}" if term.sign < 0 else load

    def product(self, item: Accumulate, piece: tuple[str, int], weights: str, fresh: bool) -> None:
        name = self.local[item.name]
        start = f"sum{self.rec.sizes[item.name]}" if fresh else name
        how = f'input_precision="{self.tiles.precision}", out_dtype={self.real}'
        self.lines.append(f"{name} = tl.dot({self.meeting.name(piece)}, {weights}, {start}, {how})")

    def add_up(self, sums: Sequence[Accumulate]) -> None:
        """The shares of the groups of warps."""
        by_size: dict[int, list[str]] = {}
        for item in sums if self.is_deep else ():
            by_size.setdefault(self.rec.sizes[item.name], []).append(self.local[item.name])
        for names in by_size.values():
            while names:
                count = 4 if len(names) > 3 else 2 if len(names) > 1 else 1
                some, names = ", ".join(names[:count]), names[count:]
                self.lines.append(f"{some} = add_up{count if count > 1 else ''}({some})")

    # --- reductions ------------------------------------------------------------------------

    def reduction(self, item: Reduce, name: str) -> None:
        n, out = self.rec.sizes[item.of], self.lines
        out.append(f"{name} = ({self.row_sums(item.of, '{x}')}) / {n}")
        if item.function == "mean":
            out.append(f"{name} = {name}[:, None]")
            return
        mean = f"{name}[None, :, None]" if self.is_deep else f"{name}[:, None]"
        squares = self.row_sums(item.of, f"({{x}} - {mean}) * ({{x}} - {mean})")
        out.append(f"{name} = (1.0 / tl.sqrt(({squares}) / {n} + {LAYER_NORM_EPS!r}))[:, None]")

    @property
    def is_deep(self) -> bool:
        """Whether pieces have three dimensions: groups of warps, rows, columns."""
        return self.tiles.split > 1 and not self.tiles.local

    def row_sums(self, operand: str, value: str) -> str:
        n, total = self.rec.sizes[operand], []
        for piece in self.meeting.pieces([operand]):
            x = f"{self.meeting.name(piece)}.to({self.real})"
            inside = f"k_x < {n - piece[1] * self.tiles.chunk}"
            if self.tiles.local:
                x, inside = self.read(operand), f"j{n} < {n}"
            term = f"tl.where({inside}, {value.format(x=x)}, 0.0)"
            total.append(f"tl.sum(tl.sum({term}, 2), 0)" if self.is_deep else f"tl.sum({term}, 1)")
        return " + ".join(total)

    # --- element-wise lines ----------------------------------------------------------------

    def line(self, item: Elementwise, name: str) -> None:
        n = self.rec.sizes[item.name]
        for read in item.reads():
            if self.rec.sizes[read] != n:
                raise CannotPrint(f"{item.name} reads {read}, of another size")
        self.width = n
        value = self.expr(item.expr)
        full = set(self.rec.sizes) - self.rec.vectors - self.rec.numbers
        if not item.reads() & full:
            value = f"{value} + zero{n}"
        self.lines.append(f"{name} = {value}")
        self.local[item.name] = name
        self.stores(item.name, name)

    def read(self, name: str) -> str:
        """The own slice of a vector, in registers."""
        if name in self.local:
            return self.local[name]
        if name in self.rec.vectors:
            return f"p{self.given(self.out.vectors, name)}"
        if name in self.rec.row_masks:
            return f"q{self.given(self.out.row_masks, name)}"
        if name in self.rec.numbers:
            return f"y{self.given(self.out.numbers, name)}"
        return f"r{self.given(self.out.arrays, name)}.to({self.real})"

    def expr(self, expr: Expr) -> str:
        match expr:
            case Const(value=value):
                return repr(value)
            case Name(id=name):
                return self.read(name)
            case Apply(function="**", args=(base, Const(value=k))):
                return f"f_power({self.expr(base)}, {k!r})"
            case Apply(function="neg", args=(arg,)):
                return f"(-{self.expr(arg)})"
            case Apply(function="+" | "-" | "*" | "/" as symbol, args=(a, b)):
                return f"({self.expr(a)} {symbol} {self.expr(b)})"
            case Apply(function=function, args=args) if function in PRINTED:
                name = f"tl.{function}" if function in TRITONS else f"f_{function}"
                return f"{name}({', '.join(map(self.argument, args))})"
        raise CannotPrint(f"no kernel is written for {expr}")

    def argument(self, expr: Expr) -> str:
        """What a function is given has a type, which a plain number has not."""
        value = self.expr(expr)
        return f"({value} + zero{self.width})" if isinstance(expr, Const) else value

    # --- what is written -------------------------------------------------------------------

    def stores(self, name: str, value: str) -> None:
        n = self.rec.sizes[name]
        ended = f"tl.where(on, {value}, 0.0)" if self.rec.ragged else value
        if name in self.new:
            self.carry(self.new[name], value)
        for k, output in enumerate(self.rec.outputs):
            if output == name:
                self.later.append(self.store(f"o{k}", "at", n, ended))
        if name in self.out.shared:
            self.lines.append(self.share("shared", "at", self.shared_pitch, n, ended,
                                         self.out.shared[name]))  # fmt: skip
        elif name in self.rec.stored:
            place = f"w{self.rec.stored.index(name)}"
            self.later.append(self.store(place, "at", n, ended, self.real))

    def store(self, base: str, when: str, n: int, value: str, kind: str | None = None) -> str:
        """What only this program's units are concerned with.

        What is kept for the backward pass is not rounded: 1 - f of a gate that is nearly 1 would
        have no digit left.
        """
        place = f"{base} + {when} * {n} + (row * {n} + j{n})"
        return f"tl.store({place}, ({value}).to({kind or self.type}), mask=ok{n})"

    def share(self, base: str, when: str, width: int, n: int, value: str, start: int = 0) -> str:
        """Into a place that others read: the padding of its rows too, and never the mark."""
        place = f"{base} + {when} * {width} + (row * {width} + j{n}) + {start}"
        written = f"plain(tl.where(j{n} < {n}, {value}, 0.0))"
        return f"tl.store({place}, {written}.to({self.type}), mask=in{n})"

    def carry_early(self) -> None:
        """States whose new value is made outside the loop, or is nothing."""
        for state, (old, new) in self.rec.carried.items():
            if new is None:
                self.carry(state, f"zero{self.rec.sizes[old]}")
            elif new not in self.made:
                self.carry(state, self.read(new))

    def carry(self, state: str, value: str) -> None:
        """A state's new value; a row past its end keeps the old one."""
        k = self.out.states.index(state)
        self.lines.append(f"n{k} = tl.where(on, {value}, s{k})" if self.rec.ragged
                          else f"n{k} = {value}")  # fmt: skip
        if state in self.out.histories:
            where = self.lines if state in self.out.met else self.later
            where.append(self.keep(state, "new", f"n{k}"))

    def keep(self, state: str, when: str, value: str) -> str:
        """A state into its place among all steps."""
        n, place = self.state_size(state), f"x{self.out.histories.index(state)}"
        if state in self.out.met:
            return self.share(place, when, pitch(n), n, value)
        return self.store(place, when, n, value, self.real)
