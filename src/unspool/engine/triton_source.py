"""A recurrence, printed as one Triton kernel over all of its steps."""

from collections.abc import Iterator

from unspool.engine.triton_body import Body
from unspool.engine.triton_spec import Printed, Recurrence, Tiles, pitch
from unspool.engine.triton_wait import PATIENCE

HEAD = """import triton
import triton.language as tl

from unspool.engine.triton_prelude import *

"""


def print_triton(recurrence: Recurrence, tiles: Tiles, dtype: str) -> Printed:
    body = Body(recurrence, tiles, dtype)
    lines = [*_place(body), *_first_states(body), *_fixed(body), *body.weights, *_loop(body)]
    lines += _last_states(body)
    names = ", ".join(argument for argument, _ in arguments(body))
    text = [HEAD, f"@triton.jit(do_not_specialize={list(COUNTS)})\ndef run({names}):"]
    text += [f"    {line}" for line in (*_sides(body), *lines)]
    body.out.source = "\n".join(text) + "\n"
    return body.out


COUNTS = ("T", "B", "above", "groups")


def arguments(body: Body) -> list[tuple[str, str]]:
    """In the order in which a launch hands them over; with the name that the kernel gives them.

    What each side has its own of is there once for each.
    """
    out, rec = body.out, body.rec
    found = [(name, "") for name in (*COUNTS, "ends_p", "trouble")]
    sides = range(len(rec.backwards))

    def own(name: str) -> None:
        found.extend((f"{name}_{side}", name) for side in sides)

    own("shared")
    for k in range(len(out.matrices)):
        own(f"m{k}")
        found.extend(((f"mr{k}", ""), (f"mc{k}", "")))
    for k in range(len(out.arrays)):
        own(f"a{k}")
        found.append((f"a{k}_s", ""))
    for k in range(len(out.vectors)):
        own(f"v{k}")
    for k in range(len(out.row_masks)):
        own(f"b{k}")
        found.append((f"b{k}_s", ""))
    for letter, count in (
        ("c", len(out.numbers)),
        ("first", len(out.states)),
        ("last", len(out.states)),
        ("x", len(out.histories)),
        ("o", len(rec.outputs)),
        ("w", len(rec.stored)),
    ):
        for k in range(count):
            own(f"{letter}{k}")
    return found


def _sides(body: Body) -> Iterator[str]:
    """Which of the sides a program is on, and what is that side's own."""
    t = body.tiles
    yield "pid = tl.program_id(0)"
    own = list(dict.fromkeys(name for _, name in arguments(body) if name))
    if len(body.rec.backwards) == 1:
        yield from (f"{name} = {name}_0" for name in own)
    else:
        yield f"side = pid // (groups * {t.programs})"
        yield f"pid = pid % (groups * {t.programs})"
        yield from (f"{name} = tl.where(side == 0, {name}_0, {name}_1)" for name in own)


def _place(body: Body) -> Iterator[str]:
    """The rows and the units that are a program's own."""
    t = body.tiles
    yield f"part = pid % {t.programs}"
    yield f"top = (above + (pid // {t.programs}) * {t.rows}).to(tl.int64)"
    yield f"row = tl.arange(0, {t.rows})[:, None]"
    yield "here = row < (B - top)"
    if body.rec.ragged:
        yield "ends = tl.load(ends_p + top + row, mask=here, other=0)"
    for n in body.sizes:
        yield f"u{n} = part * {t.of(n)} + tl.arange(0, {t.of(n)})"
        yield f"j{n} = u{n}[None, :]"
        yield f"ok{n} = here & (j{n} < {n})"
        yield f"in{n} = here & (j{n} < {pitch(n)})"
        shape = f"({t.rows}, {t.of(n)})"
        yield f"zero{n} = tl.zeros({shape}, {body.real})"
        deep = f"({t.split}, {t.rows}, {t.of(n)})" if t.split > 1 else shape
        yield f"sum{n} = tl.zeros({deep}, {body.real})"
    each = t.chunk // t.split
    if t.split > 1:
        yield f"deep = tl.arange(0, {t.split})[:, None, None] * {each}"
        yield f"k_x = deep + tl.arange(0, {each})[None, None, :]"
        yield f"k_w = deep + tl.arange(0, {each})[None, :, None]"
        yield f"row_x = tl.arange(0, {t.rows})[None, :, None]"
    else:
        yield f"k_x = tl.arange(0, {each})[None, :]"
        yield f"k_w = tl.arange(0, {each})[:, None]"
        yield "row_x = row"
    yield "in_x = row_x < (B - top)"
    yield f"patience = {PATIENCE}"


def _first_states(body: Body) -> Iterator[str]:
    for k, state in enumerate(body.out.states):
        n = body.state_size(state)
        load = f"tl.load(first{k} + top * {n} + (row * {n} + j{n}), mask=ok{n}, other=0.0)"
        yield f"s{k} = {load}.to({body.real})"
        if state in body.out.histories:
            yield f"start = top + {_choose(body, 'T.to(tl.int64) * B', '0')}"
            yield body.keep(state, "start", f"s{k}")


def _last_states(body: Body) -> Iterator[str]:
    for k, state in enumerate(body.out.states):
        n = body.state_size(state)
        yield body.store(f"last{k}", "top", n, f"s{k}")
    yield f"tl.store(trouble, 1, mask=patience < {PATIENCE})"


def _fixed(body: Body) -> Iterator[str]:
    """What does not change from step to step, read once."""
    out, sizes = body.out, body.rec.sizes
    for k, name in enumerate(out.vectors):
        n = sizes[name]
        yield f"p{k} = tl.load(v{k} + j{n}, mask=j{n} < {n}, other=0.0).to({body.real})"
    for k, name in enumerate(out.row_masks):
        n = sizes[name]
        place = f"b{k} + top * b{k}_s + (row * b{k}_s + j{n})"
        yield f"q{k} = tl.load({place}, mask=ok{n}, other=0.0).to({body.real})"
    yield from (f"y{k} = tl.load(c{k})" for k in range(len(out.numbers)))


def _choose(body: Body, backwards: str, forwards: str) -> str:
    """A value that depends on which way a side runs."""
    ways = body.rec.backwards
    if len(set(ways)) == 1:
        return backwards if ways[0] else forwards
    return f"tl.where(side == {ways.index(True)}, {backwards}, {forwards})"


def _loop(body: Body) -> Iterator[str]:
    """Arrays over time are read a step ahead: they come from far away."""
    count = len(body.out.arrays)
    yield f"at = ({_choose(body, 'T - 1', 'T * 0')}).to(tl.int64) * B + top"
    for k in range(count):
        yield f"r{k} = {_array(body, k, 'at')}"
    # what is waited for would be read too early by a pipeline
    yield "for i in tl.range(0, T, num_stages=1):"
    step = [f"t = {_choose(body, 'T - 1 - i', 'i')}", "at = t.to(tl.int64) * B + top"]
    after = _choose(body, "tl.maximum(t - 1, 0)", "tl.minimum(t + 1, T - 1)")
    step.append(f"ahead = ({after}).to(tl.int64) * B + top")
    step.append(f"old = at + {_choose(body, 'B', '0')}")
    step.append(f"new = at + {_choose(body, '0', 'B')}")
    if body.rec.ragged:
        step.append("on = t < ends")
    step += [f"f{k} = {_array(body, k, 'ahead')}" for k in range(count)]
    step += body.lines
    step += [f"s{k} = n{k}" for k in range(len(body.out.states))]
    step += [f"r{k} = f{k}" for k in range(count)]
    yield from (f"    {line}" for line in step)


def _array(body: Body, k: int, when: str) -> str:
    n = body.rec.sizes[body.out.arrays[k]]
    place = f"a{k} + {when} * a{k}_s + (row * a{k}_s + j{n})"
    return f"tl.load({place}, mask=ok{n}, other=0.0)"
