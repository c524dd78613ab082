"""`unfold`: a cell over a sequence."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from unspool.cells.cell import Bound, Cell
from unspool.engine import bf16, cpu, cuda, planned, trust
from unspool.engine.autograd import is_training, only_reference, unfold_with
from unspool.engine.both import unfold_both
from unspool.engine.c_build import CannotBuild
from unspool.engine.c_spec import CannotPrint
from unspool.engine.call import Call, prepare, without_autocast
from unspool.engine.graphs import in_graph, is_traced
from unspool.engine.masks import Masks
from unspool.engine.op import unfold_compiled
from unspool.engine.recompute import in_chunks
from unspool.engine.reference import unfold_reference
from unspool.engine.say import say_once
from unspool.engine.watch import Seen, is_watched, note

Unfolded = tuple[Tensor, Any, dict[str, Tensor]]


def unfold_planned(call: Call) -> Unfolded:
    if only_reference(call):
        raise ValueError(
            "the planned backend runs equations, outside torch.func and forward mode; "
            "backend='auto' falls back to the reference for the rest"
        )
    return unfold_with(planned, call)


def unfold_cpu(call: Call) -> Unfolded:
    if only_reference(call) or not cpu.takes(call):
        raise ValueError(
            "the cpu backend runs equations in float32 or float64 on the CPU, outside torch.func "
            "and forward mode; backend='auto' falls back to the reference for the rest"
        )
    return _kernels(cpu, "cpu", call)


def unfold_bf16(call: Call) -> Unfolded:
    problem = bf16.why_not(call)
    if only_reference(call) or problem:
        problem = problem or "it runs equations, outside torch.func and forward mode"
        raise ValueError(f"the bf16 backend cannot run this: {problem}")
    return _kernels(bf16, "bf16", call)


def unfold_cuda(call: Call) -> Unfolded:
    if only_reference(call) or not cuda.takes(call):
        raise ValueError(
            "the cuda backend runs equations in bfloat16, float16, float32 or float64 on a CUDA "
            "device, outside torch.func and forward mode; backend='auto' falls back to the "
            "reference for the rest"
        )
    return _kernels(cuda, "cuda", call)


def _kernels(backend: Any, name: str, call: Call) -> Unfolded:
    try:
        return unfold_with(backend, call)
    except (CannotPrint, CannotBuild) as error:
        raise ValueError(f"the {name} backend cannot run this cell: {error}") from None


def unfold_auto(call: Call) -> Unfolded:
    """The fastest backend that can; it never fails for want of a compiler."""
    if only_reference(call):
        return unfold_reference(call)
    try:
        if cpu.takes(call):
            return unfold_with(cpu, call)
        if cuda.takes(call) and call.xs.numel():
            trust.earned([call], is_training(call))
            return unfold_with(cuda, call)
    except CannotPrint:
        pass  # the planned loop knows everything the language has
    except CannotBuild as error:
        say_once(str(error))
    return unfold_planned(call)


def _in_one_launch(calls: Sequence[Call], backend: str) -> list[Unfolded] | None:
    """Two calls of one kind, side by side on a GPU; None where each goes its own way."""
    if backend not in ("auto", "cuda") or not all(map(_runs_on_cuda, calls)):
        return None
    try:
        if not cuda.alike(calls):
            return None
        if backend == "auto":
            trust.earned(calls, any(map(is_training, calls)))
        return unfold_both(calls)
    except (CannotPrint, CannotBuild):
        return None  # one alone may run where two do not, and says what is wrong where it does not


def _runs_on_cuda(call: Call) -> bool:
    return not only_reference(call) and cuda.takes(call) and bool(call.xs.numel())


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
            raise ValueError("the bf16 backend runs outside torch.compile")
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
