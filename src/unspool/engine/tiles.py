"""How a recurrence may be cut into tiles for a GPU: a few ways, the likeliest first.

A rough model of a step decides which ways are worth trying: programs wait for one another, read
the vectors that they have exchanged through the second-level cache, and read their weights from
shared memory, or through that cache where they do not fit. Which way is fastest is then measured.
"""

from dataclasses import dataclass, replace
from itertools import product

from unspool.engine.items import Accumulate
from unspool.engine.triton_spec import Recurrence, Tiles, read_whole

# An H200, in microseconds and bytes a microsecond: fitted to 140 measured ways, those of 168 that
# leave registers free.
MEETING = 1.75  # from one program's writing to the others' having read; their other work with it
LOOK = 0.25  # reading what has long been written, once more in a step
CACHE, CACHE_EACH = 9e6, 1.5e5  # what all programs together read, and one alone
NEAR = 2.5e5  # what one reads from its own shared memory
BANKS = 128  # bytes of it that are read or written at a time
PRODUCT = 0.0084  # 16 x 8 x 16 numbers, on one of a multiprocessor's four tensor cores
REGISTERS = 192  # numbers that a thread has at hand, without putting any aside
ALONE = 64 * 1024  # bytes of weights up to which one program may hold a whole cell
LEAST = 1 << 16  # bytes of vectors that wait in registers together: half of those of four warps
MOST = 1 << 17  # the same of eight
SHARES = tuple(  # warps, groups of them, columns of each group, bytes that wait together
    (warps, split, each, batch)
    for warps, split, each in ((4, 4, 64), (8, 8, 32), (8, 8, 64), (8, 4, 64), (8, 1, 256))
    for batch in (LEAST, MOST)[: warps // 4]
)
MANY_ROWS = 64  # from which on warps go together through products of 16-bit numbers
NUMBERS = 2048  # of a vector's, in all rows, that four warps have at hand without crowding
WIDEST = 4096  # units of a row that a program may have by itself
MANY = 4  # ways that are worth measuring


@dataclass(frozen=True)
class Chip:
    """How many programs run at once, one on each multiprocessor, and the memory that each has.

    On some chips a warp can wait by itself for what it lacks (`triton_wait`).
    """

    programs: int
    shared: int = 227 * 1024
    warps_wait: bool = False


def power_of_two(n: int, least: int = 1) -> int:
    size = least
    while size < n:
        size *= 2
    return size


@dataclass(frozen=True)
class Work:
    """What a recurrence does in a step, in sizes."""

    vectors: tuple[int, ...]  # sizes that occur
    products: tuple[tuple[int, int], ...]  # rows and columns of each matrix
    read: tuple[int, ...]  # sizes of vectors that are read whole
    meetings: int

    @staticmethod
    def of(recurrence: Recurrence) -> "Work":
        sizes, products, read, meetings = recurrence.sizes, [], [], 0
        names = {name for name, _ in recurrence.carried.values()}
        for level in recurrence.levels:
            names |= {name for item in level for name in (item.name, *item.reads())}
            whole = read_whole(level)
            read += [sizes[name] for name in whole]
            meetings += bool(whole)
            for item in level:
                if isinstance(item, Accumulate):
                    products += [(sizes[item.name], sizes[term.operand]) for term in item.terms]
        vectors = tuple(sorted({sizes[name] for name in names if name in sizes}))
        return Work(vectors, tuple(products), tuple(read), meetings)


def candidates(
    work: Work, B: int, element: int, chip: Chip, sides: int = 1, precision: str = "ieee"
) -> list[Tiles]:
    """None at all where no grid fits on the chip as a whole. The sides share the chip."""
    if not work.meetings:
        return [_apart(work)]
    if not work.products and max(work.vectors) <= WIDEST:
        return [_by_rows(work)]
    ways = [tiles for _, tiles in priced(work, B, element, chip, sides, precision)]
    found = [*_alone(work, element, precision), *ways]
    # the best of each shape first: what differs little is little worth measuring
    shapes = {tiles.shape: tiles for tiles in reversed(found)}
    first = [tiles for tiles in found if shapes[tiles.shape] is tiles]
    return list(dict.fromkeys([*first, *found]))[:MANY]


def priced(
    work: Work, B: int, element: int, chip: Chip, sides: int, precision: str
) -> list[tuple[float, Tiles]]:
    """Every way that fits in which programs meet, with the microseconds that a step may take."""
    found = []
    for rows, wide, share in product((16, 32, 64, 128), (8, 16, 32, 64), SHARES):
        parts = -(-max(work.vectors) // wide)
        if parts * sides > chip.programs or (rows > 16 and rows >= 2 * B):
            continue
        tiles = replace(_cut(work, rows, parts, share, precision), warps_wait=chip.warps_wait)
        if tiles.batch > LEAST and all_pieces(work, tiles, element) <= LEAST:
            continue  # the same again
        if (tiles.split == 1 or rows > MANY_ROWS) and not as_one(tiles, element):
            continue
        tiles = _held(work, tiles, element, chip.shared)
        found.append((price(work, tiles, B, element, chip.programs // sides), tiles))
    return sorted(found, key=lambda pair: pair[0])


def _cut(
    work: Work, rows: int, parts: int, share: tuple[int, int, int, int], precision: str
) -> Tiles:
    warps, split, each, batch = share
    units = tuple((n, power_of_two(-(-n // parts), 8)) for n in work.vectors)
    chunk = min(each * split, power_of_two(max(work.read), 16 * split))
    return Tiles(rows, parts, units, chunk, split, warps, batch=batch, precision=precision)


def _held(work: Work, tiles: Tiles, element: int, shared: int) -> Tiles:
    """With as many weights on chip as there is room for."""
    room = shared - near_bytes(work, tiles, element)
    if room >= weight_bytes(work, tiles, element):
        return tiles
    widest = max((tiles.of(n) for n, _ in work.products), default=0)
    passing = widest * tiles.chunk * element * tiles.parts
    return replace(tiles, held=max(0, room - passing))


def price(work: Work, tiles: Tiles, B: int, element: int, programs: int) -> float:
    """Microseconds of a step of all rows, roughly."""
    groups = -(-B // tiles.rows)
    at_once = min(groups, programs // tiles.programs)
    launches = -(-groups // at_once)
    weights = weight_bytes(work, tiles, element)
    each = tiles.rows * sum(work.read) * element + max(0, weights - tiles.held)
    # what does not fit in registers together is waited for again
    more = max(0, -(-all_pieces(work, tiles, element) // tiles.batch) - work.meetings)
    taken = work.meetings * MEETING + more * LOOK
    taken += each / CACHE_EACH + at_once * tiles.programs * each / CACHE
    taken += near_rounds(work, tiles, element, weights) * BANKS / NEAR
    taken += products(work, tiles, element) / 4 * PRODUCT
    numbers = (sum_bytes(work, tiles) + piece_bytes(work, tiles, element)) / 4
    crowded = max(0.0, numbers / (32 * tiles.warps * REGISTERS) - 1.0)
    return launches * taken * (1 + crowded)


def products(work: Work, tiles: Tiles, element: int) -> float:
    """Of a tensor core, as many as of 16-bit numbers would take as long."""
    alike = {2: 1.0, 4: 6.0 if tiles.precision == "tf32x3" else 2.0, 8: 16.0}[element]
    small = sum(tiles.of(n) / 8 * inner / 16 for n, inner in work.products)
    return alike * tiles.rows / 16 * small * (0.5 if as_one(tiles, element) else 1.0)


def as_one(tiles: Tiles, element: int) -> bool:
    """Whether four warps go through a product together."""
    return tiles.split == 1 and tiles.rows >= MANY_ROWS and element == 2


def near_rounds(work: Work, tiles: Tiles, element: int, weights: int) -> float:
    """Turns of shared memory in a step: what was exchanged is written there and read, with weights.

    Rows of a piece that are shorter than all banks meet in some of them. Warps that share a group
    part its rows if they can; they read the same weights, and without that the same rows too.
    """
    columns = sum(-(-n // tiles.chunk) * tiles.chunk for n in work.read)
    exchanged = tiles.rows * columns * element * tiles.parts
    meeting = BANKS / min(BANKS, tiles.chunk // tiles.split * element)
    alike = tiles.warps // tiles.split
    again = alike / min(alike, tiles.rows // 16)
    return (alike * weights + (meeting + again) * exchanged) / BANKS


def piece_bytes(work: Work, tiles: Tiles, element: int) -> int:
    """Of exchanged vectors, what is read at once."""
    return min(all_pieces(work, tiles, element), tiles.batch)


def all_pieces(work: Work, tiles: Tiles, element: int) -> int:
    return sum(-(-n // tiles.chunk) for n in work.read) * tiles.rows * tiles.chunk * element


def sum_bytes(work: Work, tiles: Tiles) -> int:
    """Of products, every group of warps its own."""
    return tiles.split * tiles.rows * sum(tiles.of(n) for n, _ in work.products) * 4


def weight_bytes(work: Work, tiles: Tiles, element: int) -> int:
    """A program's own, as they are laid out: in whole chunks."""
    chunks = [(tiles.of(n), -(-inner // tiles.chunk)) for n, inner in work.products]
    return sum(units * count * tiles.chunk for units, count in chunks) * element * tiles.parts


def near_bytes(work: Work, tiles: Tiles, element: int) -> int:
    """Shared memory that a program takes besides its weights."""
    piece = tiles.parts * tiles.rows * tiles.chunk * element
    widest = max((tiles.of(n) for n, _ in work.products), default=0)
    four_sums = 4 * tiles.split * tiles.rows * widest * max(4, element)
    sums = min(four_sums, sum_bytes(work, tiles) * max(4, element) // 4)
    return max(piece, piece_bytes(work, tiles, element), sums)


def _apart(work: Work) -> Tiles:
    """No vector is read whole: units go their own way, many small programs."""
    parts = -(-max(work.vectors, default=1) // 32)
    units = tuple((n, power_of_two(-(-n // parts))) for n in work.vectors)
    return Tiles(4, parts, units, 16, 1, 1, meets=False)


def _by_rows(work: Work) -> Tiles:
    """Vectors are read whole, but by no product: a program has whole rows, as wide as they are."""
    units = tuple((n, power_of_two(n, 16)) for n in work.vectors)
    rows = max(1, NUMBERS // max(size for _, size in units))
    return Tiles(rows, 1, units, 16, 1, 4, local=True, meets=False)


def _alone(work: Work, element: int, precision: str) -> list[Tiles]:
    """One program holds a whole cell, and nobody waits for anybody."""
    units = tuple((n, power_of_two(n, 16)) for n in work.vectors)
    size = dict(units)
    if sum(size[n] * size[inner] for n, inner in work.products) * element > ALONE:
        return []
    return [Tiles(16, 1, units, 16, 1, 4, local=True, meets=False, precision=precision)]
