"""`unfold`: a cell over a sequence."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from unspool.cells.cell import Bound, Cell
from unspool.engine import bf16, cpu, cuda, planned, trust
from unspool.engine.autograd import is_training, unfold_with, why_reference
from unspool.engine.both import unfold_both
from unspool.engine.c_build import CannotBuild
from unspool.engine.c_spec import CannotPrint
from unspool.engine.call import Call, prepare, without_autocast
from unspool.engine.graphs import in_graph, is_traced
from unspool.engine.kernels import no_kernels
from unspool.engine.masks import Masks
from unspool.engine.op import unfold_compiled
from unspool.engine.pieces import pieces_of
from unspool.engine.recompute import in_chunks
from unspool.engine.reference import unfold_reference
from unspool.engine.say import say_once
from unspool.engine.watch import Seen, is_watched, note

Unfolded = tuple[Tensor, Any, dict[str, Tensor]]


def unfold_planned(call: Call) -> Unfolded:
    problem = why_reference(call)
    if problem:
        raise ValueError(f"the planned backend cannot run this: {problem}; backend='auto' does")
    return unfold_with(planned, call)


def unfold_cpu(call: Call) -> Unfolded:
    problem = why_reference(call) or cpu.why_not(call)
    if problem:
        raise ValueError(f"the cpu backend cannot run this: {problem}; backend='auto' does")
    return _kernels(cpu, "cpu", call)


def unfold_bf16(call: Call) -> Unfolded:
    problem = why_reference(call) or bf16.why_not(call)
    if problem:
        raise ValueError(f"the bf16 backend cannot run this: {problem}")
    return _kernels(bf16, "bf16", call)


def unfold_cuda(call: Call) -> Unfolded:
    problem = why_reference(call) or cuda.why_not(call)
    if problem:
        raise ValueError(f"the cuda backend cannot run this: {problem}; backend='auto' does")
    return _kernels(cuda, "cuda", call)


def _kernels(backend: Any, name: str, call: Call) -> Unfolded:
    try:
        return _in_pieces(backend, call)
    except (CannotPrint, CannotBuild) as error:
        raise ValueError(f"the {name} backend cannot run this cell: {error}") from None


def _in_pieces(backend: Any, call: Call, check: bool = False) -> Unfolded:
    """Runs kernels, without a `concat`; with `check` on a GPU once they have earned their trust."""
    pieces = pieces_of(call)
    inner = call if pieces is None else pieces.call()
    if check:
        trust.earned([inner], is_training(inner))
    found = unfold_with(backend, inner)
    return found if pieces is None else pieces.unfolded(found)


def unfold_auto(call: Call) -> Unfolded:
    """The fastest backend that can. It needs no compiler, and says what keeps a cell slow."""
    problem = why_reference(call)
    if problem:
        # a Python class never had kernels, and tensors without numbers need none
        nothing = call.xs.device.type == "meta" or type(call.xs).__name__ == "FakeTensor"
        if isinstance(call.cell, Bound) and not nothing:
            say_once(problem, call.cell.equations)
        return unfold_reference(call)
    assert isinstance(call.cell, Bound)
    if not call.xs.numel():
        return unfold_with(planned, call)  # nothing to be fast at
    try:
        if cpu.takes(call):
            return _in_pieces(cpu, call)
        if cuda.takes(call):
            return _in_pieces(cuda, call, check=True)
        say_once(str(no_kernels(call)), call.cell.equations)
    except CannotPrint as error:
        say_once(str(error), call.cell.equations)
    except CannotBuild as error:
        say_once(str(error))
    return unfold_with(planned, call)


def _in_one_launch(calls: Sequence[Call], backend: str) -> list[Unfolded] | None:
    """Two calls of one kind, side by side on a GPU; None where each goes its own way."""
    if backend not in ("auto", "cuda") or not all(map(_runs_on_cuda, calls)):
        return None
    try:
        pieces = [pieces_of(call) for call in calls]
        inner = [c if p is None else p.call() for c, p in zip(calls, pieces, strict=True)]
        if not cuda.alike(inner):
            return None
        if backend == "auto":
            trust.earned(inner, any(map(is_training, inner)))
        found = unfold_both(inner)
        return [f if p is None else p.unfolded(f) for f, p in zip(found, pieces, strict=True)]
    except (CannotPrint, CannotBuild):
        return None  # one alone may run where two do not, and says what is wrong where it does not


def _runs_on_cuda(call: Call) -> bool:
    return not (why_reference(call) or cuda.why_not(call)) and bool(call.xs.numel())


BACKENDS: dict[str, Callable[[Call], Unfolded]] = {
    "auto": unfold_auto,
    "reference": unfold_reference,
    "planned": unfold_planned,
    "cpu": unfold_cpu,
    "bf16": unfold_bf16,
    "cuda": unfold_cuda,
}


def unfold(
    cell: Any,
    xs: Tensor,
    state: Sequence[Tensor] | None = None,
    *,
    lengths: Tensor | Sequence[int] | None = None,
    reverse: bool = False,
    masks: Masks | None = None,
    backend: str = "auto",
    record: Sequence[str] = (),
    recompute: int | None = None,
) -> Any:
    """Runs a cell over `xs` (T, B, I): `ys, state = unfold(cell, xs)`.

    `state` goes in (zeros if None) and comes out, a NamedTuple with one (B, n) field per state.
    With `lengths` (B,) each row ends after its own number of steps: `ys` is zero past it, the
    returned state is the row's own last one (its initial one if the length is 0), and what
    stands in the padding changes nothing. `reverse` runs from the last step of each row to its
    first. `masks` come from `draw_masks`. With `record` a third value holds the named lines by
    step, (T, B, n): a state's name means its new value. With `recompute` training keeps the state
    of every so many steps alone, and runs what lies between again when gradients are taken.

    The recurrence runs in the dtype of the cell's parameters; on a GPU, under autocast, in that of
    autocast.
    """
    if backend not in BACKENDS:
        raise ValueError(f"there is no backend {backend!r}; choose one of {', '.join(BACKENDS)}")
    if in_graph() and isinstance(cell, Cell | Bound) and backend != "reference":
        if backend == "bf16":
            raise ValueError("the bf16 backend runs outside torch.compile and other graphs")
        if recompute is not None:
            raise ValueError("inside a graph the graph's own planner decides what runs again")
        names = (record,) if isinstance(record, str) else tuple(record)
        bound = cell.bind() if isinstance(cell, Cell) else cell
        found = unfold_compiled(bound, xs, state, lengths, reverse, masks, backend, names)
        return found if record else found[:2]
    if is_traced():
        raise RuntimeError(
            "torch.jit.trace would write down every step of the reference, or of a Python cell, "
            "for this length alone: trace a cell of equations, with backend='auto'"
        )
    call = prepare(cell, xs, state, lengths=lengths, reverse=reverse, masks=masks, record=record)
    with without_autocast(call.xs.device.type):
        if recompute is None:
            ys, last, recorded = BACKENDS[backend](call)
        else:
            ys, last, recorded = in_chunks(BACKENDS[backend], call, recompute)
    if is_watched():
        seen = note(Seen(cell, call.xs, call.state, call.lengths, reverse, masks, ys, last))
        ys, last = seen.ys, seen.last
    return (ys, last, recorded) if record else (ys, last)


def unfold_directions(
    cells: Sequence[Any],
    xs: Tensor,
    states: Sequence[Any],
    *,
    masks: Sequence[Masks | None],
    lengths: Tensor | Sequence[int] | None = None,
    backend: str = "auto",
    record: Sequence[str] = (),
    recompute: int | None = None,
) -> list[Any]:
    """What `unfold` gives for each cell, the second in reverse: in one launch where it can be."""
    ways = list(zip(cells, states, masks, (False, True), strict=False))
    alone = recompute is not None or in_graph() or is_watched()
    if len(ways) == 2 and cuda.serves(xs.device) and not alone:
        calls = [
            prepare(c, xs, s, lengths=lengths, reverse=r, masks=m, record=record)
            for c, s, m, r in ways
        ]
        with without_autocast(xs.device.type):
            found = _in_one_launch(calls, backend)
        if found is not None:
            return [one if record else one[:2] for one in found]
    how: dict[str, Any] = {"lengths": lengths, "record": record, "recompute": recompute}
    return [unfold(c, xs, s, reverse=r, masks=m, backend=backend, **how) for c, s, m, r in ways]
