"""Whether a cell has kernels, and why not."""

from unspool.engine import cpu, cuda
from unspool.engine.c_spec import CannotPrint
from unspool.engine.call import Call
from unspool.engine.planning import make_plan
from unspool.engine.programs import backward_program, forward_program
from unspool.engine.tiles import power_of_two
from unspool.engine.triton_source import print_triton
from unspool.engine.triton_spec import Tiles
from unspool.equations.program import Equations
from unspool.equations.split import CannotSplit, joins, split


def no_kernels(call: Call) -> str | None:
    """Why neither backend takes a call; None if one does."""
    if cpu.takes(call) or cuda.takes(call):
        return None
    return (cuda if cuda.serves(call.xs.device) else cpu).why_not(call)


def why_not(equations: Equations, sizes: dict[str, int] | None = None) -> dict[str, str | None]:
    """For the CPU and for a GPU what keeps a cell from having kernels; None if it has them.

    Nothing is compiled. Without sizes some are taken that the equations allow.
    """
    sizes = some_sizes(equations) if sizes is None else sizes
    if not are_allowed(equations, sizes):
        problem = "which depends on the sizes: give them all, with --size"
        return dict.fromkeys(("CPU", "GPU"), problem)
    try:
        equations = in_pieces(equations, sizes)
    except CannotSplit as problem:
        return dict.fromkeys(("CPU", "GPU"), str(problem))
    found: dict[str, str | None] = {"CPU": None, "GPU": None}
    plan = make_plan(equations)
    try:
        forward_program(plan, True, False)
        backward_program(plan, False)
    except CannotPrint as problem:
        found["CPU"] = str(problem)
    try:
        for passes in (cuda.forward_passes(plan, True, False), cuda.backward_passes(plan)):
            recurrence = cuda.recurrence_of(passes, sizes)
            parts = tuple((n, power_of_two(n, 8)) for n in {*recurrence.sizes.values()})
            print_triton(recurrence, Tiles(16, 1, parts, 16, 1, 4), "fp32")
    except CannotPrint as problem:
        found["GPU"] = str(problem)
    return found


def in_pieces(equations: Equations, sizes: dict[str, int]) -> Equations:
    """The equations as kernels have them: without a `concat`, but where a product reads it."""
    if not joins(equations):
        return equations
    return split(equations, tuple(sizes.items()), frozenset()).equations


def planned_equations(equations: Equations) -> Equations:
    """The equations that a plan is made for."""
    sizes = some_sizes(equations)
    try:
        return in_pieces(equations, sizes) if are_allowed(equations, sizes) else equations
    except CannotSplit:
        return equations


def some_sizes(equations: Equations, size: int = 8) -> dict[str, int]:
    """All sizes alike, but for those that the equations settle by others."""
    sizes = dict.fromkeys(equations.named_sizes, size)
    for _ in range(2 * len(sizes)):  # one that is settled may unsettle another
        for constraint in equations.constraints:
            small, large = sorted((constraint.left, constraint.right), key=lambda s: s.value(sizes))
            missing = large.value(sizes) - small.value(sizes)
            if missing and small.terms:
                name, copies = small.terms[-1]
                sizes[name] += -(-missing // copies)
    return sizes


def are_allowed(equations: Equations, sizes: dict[str, int]) -> bool:
    return all(one.left.value(sizes) == one.right.value(sizes) for one in equations.constraints)
