"""A plan for a terminal."""

import re
from collections.abc import Iterable

from unspool.engine.items import Item
from unspool.engine.plan import Plan
from unspool.equations.sizes import Size


def plan_text(plan: Plan) -> str:
    """Both directions of time, stage by stage, and what is kept between them."""
    rows = []
    for title, loop in (("Forward", plan.forward), ("Backward", plan.backward)):
        rows += [f"{title}, before the loop: all steps at once", *_rows(loop.before)]
        for number, level in enumerate(loop.levels):
            what = "in the loop" if not number else "then, once all of that is written"
            rows += [f"{title}, {what}", *_rows(level)]
        rows += [f"{title}, after the loop: all steps at once", *_rows(loop.after)]
    matrices = [f"{m}: one product of all steps" for m in plan.derived.matrices]
    vectors = [f"{v}: one sum over all steps" for v in plan.derived.vectors]
    rows += ["Parameter gradients, after the loop", *(f"    {row}" for row in matrices + vectors)]
    eqs = plan.equations
    lines = [name for name in plan.saved if name not in eqs.carried.values()]
    kept = [*lines, *eqs.states]
    numbers = sum((plan.sizes[name] for name in kept), Size())
    rows += ["Kept for the backward pass, each step of each row"]
    rows += [f"    {', '.join(kept)}: {numbers} numbers, beside the input"]
    return "\n".join(rows)


def _rows(items: Iterable[Item]) -> list[str]:
    """Gradients in the words of `explain`: dys is given, dh[t+1] comes from the next step."""
    rows = [re.sub(r"∂([^\s+]+)\+", r"∂\1[t+1]", f"    {item}") for item in items]
    return [row.replace("∂:", "d").replace("∂", "d") for row in rows] or ["    nothing"]
