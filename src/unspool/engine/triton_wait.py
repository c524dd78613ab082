"""How a warp waits for words that other programs write: each of its threads for what it lacks.

A word that is not yet written holds the mark, all ones. A thread has some words in rows of 16 bytes
and reads those rows again that lack one, all of them at once, until all threads of its warp have
everything. Triton's own loops go round for all warps together and read everything again: hence a
few lines of PTX. Its interpreter knows none; there, and before Hopper, a program waits as a whole.
"""

from collections.abc import Iterator, Sequence

# How often somebody looks in vain before giving up: some seconds, at about half a microsecond each.
# Nobody waits that long unless something is broken, and an error is better than a GPU that hangs.
PATIENCE = 1 << 23
EVERY = 1024  # looks, after which it asks whether somebody else has given up
ROW = 16  # bytes that are read at once


def assembly(size: int, words: int, starts: Sequence[int]) -> str:
    """For pieces that begin at `starts`, in bytes from one place; a thread has `words` of each.

    First come the registers of all pieces, as they are and as they become; then the place of each
    word in a piece, counted in words of `size` bytes; the place where all begins; where trouble is
    told.
    """
    registers = len(starts) * words * size // 4
    each = ROW // size  # words in a row
    places = 2 * registers
    base, trouble = places + words, places + 2 * words
    lines = [
        ".reg .pred %p_lacks, %p_some, %p_is;",
        ".reg .b32 %r_most, %r_more, %r_looks;",
        ".reg .b64 %rd_place;",
        "mov.u32 %r_looks, 0;",
        "$$LOOK${:uid}:",
        *_lacks(size, range(registers)),
        "vote.sync.any.pred %p_some, %p_lacks, -1;",
        "@!%p_some bra $$DONE${:uid};",
    ]
    for row in range(words // each):
        first = places + row * each
        lines += [
            f"sub.s32 %r_more, ${first + each - 1}, ${first};",
            f"setp.ne.s32 %p_is, %r_more, {each - 1};",  # no row: not to be read at once
            "@%p_is bra $$VAIN${:uid};",
            f"and.b32 %r_more, ${first}, {each - 1};",
            "setp.ne.s32 %p_is, %r_more, 0;",
            "@%p_is bra $$VAIN${:uid};",
            f"mad.wide.s32 %rd_place, ${first}, {size}, ${base};",
        ]
        for piece, start in enumerate(starts):
            own = (piece * words // each + row) * 4
            lines += _lacks(size, range(own, own + 4))
            into = ", ".join(f"${own + k}" for k in range(4))
            lines.append(f"@%p_lacks ld.volatile.global.v4.b32 {{{into}}}, [%rd_place+{start}];")
    lines += [
        "add.u32 %r_looks, %r_looks, 1;",
        f"and.b32 %r_more, %r_looks, {EVERY - 1};",
        "setp.ne.u32 %p_is, %r_more, 0;",
        "@%p_is bra $$LOOK${:uid};",
        f"ld.volatile.global.b32 %r_more, [${trouble}];",
        "setp.eq.u32 %p_is, %r_more, 1;",
        "vote.sync.any.pred %p_is, %p_is, -1;",
        "@%p_is bra $$DONE${:uid};",
        f"setp.lt.u32 %p_is, %r_looks, {PATIENCE};",
        "@%p_is bra $$LOOK${:uid};",
        "$$VAIN${:uid}:",
        "mov.u32 %r_more, 1;",
        f"st.volatile.global.b32 [${trouble}], %r_more;",
        "$$DONE${:uid}:",
    ]
    return "\n".join(["{", *lines, "}"])


def _lacks(size: int, registers: Sequence[int]) -> Iterator[str]:
    """Whether one of some registers holds a mark, which is the greatest word there is."""
    kind = "u16x2" if size == 2 else "u32"
    names = [f"${k}" for k in registers]
    yield f"max.{kind} %r_most, {names[0]}, {names[1]};"
    yield from (f"max.{kind} %r_most, %r_most, {name};" for name in names[2:])
    if size == 2:
        yield "and.b32 %r_more, %r_most, 0xffff;"
        yield "setp.eq.u32 %p_is, %r_more, 0xffff;"
        yield "setp.ge.u32 %p_lacks, %r_most, 0xffff0000;"
        yield "or.pred %p_lacks, %p_lacks, %p_is;"
    else:
        yield "setp.eq.u32 %p_lacks, %r_most, 0xffffffff;"


def constraints(size: int, words: int, pieces: int) -> str:
    registers = pieces * words * size // 4
    given = [*("=r" for _ in range(registers)), *(str(k) for k in range(registers))]
    return ",".join([*given, *("r" for _ in range(words)), *("l" for _ in range(2 * words))])
