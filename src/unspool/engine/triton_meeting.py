"""How programs meet: where vectors that are read whole stand, and how they are waited for.

Everybody writes their slice of such a vector to memory, where a place that is not yet written holds
a mark, and reads until no mark is left.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from unspool.engine import triton_wait
from unspool.engine.triton_spec import BYTES, pitch

if TYPE_CHECKING:
    from unspool.engine.triton_body import Body

GIVES_UP = 2  # what is left of a program's patience once it has waited in vain
Piece = tuple[str, int]  # a vector, and which chunk of it


class Meeting:
    def __init__(self, body: "Body"):
        self.body, self.tiles, self.rec = body, body.tiles, body.rec
        self.size = BYTES[body.dtype]
        self.word, self.mark = f"tl.uint{8 * self.size}", 256**self.size - 1

    def pieces(self, operands: Sequence[str]) -> list[Piece]:
        if self.tiles.local:
            return [(operand, 0) for operand in operands]
        chunk = self.tiles.chunk
        return [(o, c) for o in operands for c in range(-(-self.rec.sizes[o] // chunk))]

    def batches(self, operands: Sequence[str]) -> Iterator[list[Piece]]:
        """What is waited for together."""
        pieces = self.pieces(operands)
        each = max(1, self.tiles.batch // (self.tiles.rows * self.tiles.chunk * self.size))
        if self.tiles.local:
            each = max(1, len(pieces))
        for k in range(0, len(pieces), each):
            yield list(pieces[k : k + each])

    def name(self, piece: Piece) -> str:
        return f"z{self.body.operands.index(piece[0])}_{piece[1]}"

    def wait(self, batch: Sequence[Piece]) -> Iterator[str]:
        """Reads pieces of vectors until all of them have been written."""
        if self.tiles.local:
            for operand, _ in batch:
                n = self.rec.sizes[operand]
                value = f"tl.where(j{n} < {n}, {self.body.read(operand)}, 0.0)"
                yield f"{self.name((operand, 0))} = ({value}).to({self.body.type})"
            return
        yield from self.by_warps(batch) if self.warps_wait else self.by_program(batch)
        for name in map(self.name, batch):
            yield f"{name} = {name}.to({self.body.type}, bitcast=True)"

    def by_program(self, batch: Sequence[Piece]) -> Iterator[str]:
        """Reads everything again until nobody finds a mark."""
        tiles = self.tiles
        shape = f"({tiles.rows}, {tiles.chunk})"
        if tiles.split > 1:
            shape = f"({tiles.split}, {tiles.rows}, {tiles.chunk // tiles.split})"
        names = [self.name(piece) for piece in batch]
        places = [self.place(piece) for piece in batch]
        for name, (base, start, offset, _) in zip(names, places, strict=True):
            yield f"{name} = tl.zeros({shape}, {self.word})"
            yield f"{name}_p = {base} + {start} + ({offset})"
        # a name of its own, and the last one: Triton 3.6 mixes up what loops carry otherwise
        wait = f"wait_{names[0]}"
        yield f"{wait} = 1"
        yield f"while ({wait} > 0) & ({wait} < patience):"
        for name, (*_, mask) in zip(names, places, strict=True):
            yield f"    {name} = tl.load({name}_p, mask={mask}, other=0, volatile=True)"
        # the mark is the greatest word: one maximum of all finds it, two words at a time
        most = names[0]
        for name in names[1:]:
            most = f"tl.maximum({most}, {name})"
        most = f"{most}.to(tl.int32)" if self.size == 2 else most
        yield f"    {wait} = ({wait} + 1) * (tl.max({most}) == {self.mark}).to(tl.int32)"
        yield f"patience = tl.where({wait} > 0, {GIVES_UP}, patience)"

    @property
    def words(self) -> int:
        """Of a piece, in each thread."""
        return self.tiles.rows * self.tiles.chunk // (32 * self.tiles.warps)

    @property
    def warps_wait(self) -> bool:
        """Where a thread has whole rows of words."""
        whole = self.words > 0 and self.words * self.size % triton_wait.ROW == 0
        return self.tiles.warps_wait and self.size < 8 and whole

    def by_warps(self, batch: Sequence[Piece]) -> Iterator[str]:
        """Reads all pieces once; each warp then waits for its own."""
        by_place: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for piece in batch:
            name = self.name(piece)
            base, start, offset, mask = self.place(piece)
            place = f"{base} + {start} + ({offset})"
            yield f"{name} = tl.load({place}, mask={mask}, other=0, volatile=True)"
            by_place.setdefault((base, offset), []).append((name, start))
        for (base, offset), pieces in by_place.items():
            names = ", ".join(name for name, _ in pieces)
            starts = [start * self.size for _, start in pieces]
            asm = triton_wait.assembly(self.size, self.words, starts)
            how = triton_wait.constraints(self.size, self.words, len(pieces))
            given = f"[{names}, {offset}, ({base}).to(tl.int64), trouble.to(tl.int64)]"
            kinds = f"({f'{self.word}, ' * len(pieces)})" if len(pieces) > 1 else self.word
            call = f"({asm!r}, {how!r}, {given}, {kinds}, False, {self.words})"
            yield f"{names} = tl.inline_asm_elementwise{call}"

    def place(self, piece: Piece) -> tuple[str, int, str, str]:
        """Where a piece of a vector stands at this step: an array of words, and its start there.

        Then the offset of each word, and which of them exist.
        """
        body, (name, chunk) = self.body, piece
        n, start = self.rec.sizes[name], chunk * self.tiles.chunk
        state = body.state_of(name)
        if state:
            width, base = pitch(n), f"x{body.out.histories.index(state)}"
            when = "old" if name in body.old else "new"
        else:
            width, base, when = body.shared_pitch, "shared", "at"
            start += body.out.shared[name]
        pointer = f"{base}.to(tl.pointer_type({self.word}))"
        base, offset = f"{pointer} + {when} * {width}", f"row_x * {width} + k_x"
        still = min(pitch(n), self.tiles.programs * self.tiles.of(n)) - chunk * self.tiles.chunk
        more = "" if self.tiles.chunk <= still else f" & (k_x < {still})"
        return base, start, offset, f"in_x{more}"
