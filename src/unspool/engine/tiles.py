"""How a recurrence may be cut into tiles for a GPU: a few ways, the likeliest first.

A rough model of a step decides which ways are worth trying: programs wait for one another, read
the vectors that they have exchanged through the second-level cache, and read their weights again
where those do not fit on chip. Which way is the fastest is then measured.
"""

from dataclasses import dataclass
from itertools import product

from unspool.engine.plan import Accumulate, Reduce
from unspool.engine.triton_spec import Recurrence, Tiles

MEETING = 1.3  # microseconds from one program's writing to the others' having read
CACHE = 5.5e6  # bytes that all programs together read in a microsecond, and one alone
CACHE_EACH = 1.1e5
HELD = 128 * 1024  # bytes of weights that a program can hold in registers
ALONE = 64 * 1024  # bytes of weights up to which one program may hold a whole cell
REGISTERS = 200  # a thread's, for weights and sums
MANY = 4  # ways that are worth measuring


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
            whole: dict[str, int] = {}
            for item in level:
                if isinstance(item, Accumulate):
                    products += [(sizes[item.name], sizes[term.operand]) for term in item.terms]
                    whole |= {term.operand: sizes[term.operand] for term in item.terms}
                elif isinstance(item, Reduce):
                    whole[item.of] = sizes[item.of]
            read += whole.values()
            meetings += bool(whole)
        vectors = tuple(sorted({sizes[name] for name in names if name in sizes}))
        return Work(vectors, tuple(products), tuple(read), meetings)


def candidates(
    work: Work, B: int, element: int, programs: int, sides: int = 1, precision: str = "ieee"
) -> list[Tiles]:
    """`programs` can run at once, one on each multiprocessor, and are shared by the sides."""
    if not work.meetings:
        return [_apart(work)]
    found = [*_alone(work, element, precision)]
    ways = product((16, 32, 64), (8, 16, 32, 64), ((4, 4), (8, 8), (8, 4)))
    priced = []
    for rows, wide, (warps, split) in ways:
        parts = -(-max(work.vectors) // wide)
        if parts * sides > programs or (rows > 16 and rows >= 2 * B):
            continue
        tiles = _together(work, rows, parts, warps, split, element, precision)
        priced.append((price(work, tiles, B, element, programs // sides), tiles))
    priced.sort(key=lambda pair: pair[0])
    found += [tiles for _, tiles in priced]
    # the best of each shape first: what differs little is little worth measuring
    shapes = {(tiles.rows, tiles.programs): tiles for tiles in reversed(found)}
    first = [tiles for tiles in found if shapes[tiles.rows, tiles.programs] is tiles]
    return list(dict.fromkeys([*first[: MANY - 1], *found]))[:MANY]


def price(work: Work, tiles: Tiles, B: int, element: int, programs: int) -> float:
    """Microseconds of a step of all rows, roughly."""
    groups = -(-B // tiles.rows)
    at_once = min(groups, programs // tiles.programs)
    launches = -(-groups // at_once)
    speed = min(CACHE_EACH, CACHE / (at_once * tiles.programs))
    moved = tiles.rows * sum(work.read) * element
    weights = held_bytes(work, tiles, element)
    moved += 0 if tiles.hold else weights
    sums = tiles.rows * sum(tiles.of(n) for n, _ in work.products) / 32
    needed = sums + (weights / (128 * tiles.warps) if tiles.hold else 0)
    crowded = max(0.0, needed / REGISTERS - 1.0)
    return launches * (work.meetings * MEETING + moved / speed) * (1 + crowded)


def held_bytes(work: Work, tiles: Tiles, element: int) -> int:
    return sum(tiles.of(n) * inner for n, inner in work.products) * element


def _apart(work: Work) -> Tiles:
    """No vector is read whole: units go their own way, many small programs."""
    parts = -(-max(work.vectors, default=1) // 32)
    units = tuple((n, power_of_two(-(-n // parts))) for n in work.vectors)
    return Tiles(4, parts, units, 16, 1, 1, meets=False)


def _alone(work: Work, element: int, precision: str) -> list[Tiles]:
    """One program holds a whole cell, and nobody waits for anybody."""
    units = tuple((n, power_of_two(n, 16)) for n in work.vectors)
    size = dict(units)
    if sum(size[n] * size[inner] for n, inner in work.products) * element > ALONE:
        return []
    return [Tiles(16, 1, units, 16, 1, 4, local=True, meets=False, precision=precision)]


def _together(
    work: Work, rows: int, parts: int, warps: int, split: int, element: int, precision: str
) -> Tiles:
    units = tuple((n, power_of_two(-(-n // parts), 8)) for n in work.vectors)
    deepest = max(work.read)
    chunk = min(256, power_of_two(deepest, 16 * split))
    tiles = Tiles(rows, parts, units, chunk, split, warps, precision=precision)
    if held_bytes(work, tiles, element) <= HELD:
        return tiles
    return Tiles(rows, parts, units, chunk, split, warps, hold=False, precision=precision)
