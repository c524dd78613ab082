"""A cell from its equations: what follows from them, or what is wrong with them."""

from inspect import cleandoc
from math import prod
from typing import Any

from unspool.cells.cell import CellType, check_sizes
from unspool.equations.errors import EquationError, EquationWarning
from unspool.equations.explain import Explanation, explain_sections
from unspool.equations.printing import ascii_line
from unspool.equations.slips import slips
from unspool.inspect.graph import Graph, unrolled
from unspool.lab.memory import FirstSymbol
from unspool.studio.cancel import check
from unspool.studio.desk import Desk
from unspool.studio.jobs import Job
from unspool.studio.params import CELLS, EQUATIONS, Params, kind_of_cell, several, text, whole
from unspool.studio.questions.gradients import flow_of

STEPS = 3  # of the unrolled graph


def cell(desk: Desk, params: Params) -> dict[str, Any]:
    given = text(params, "equations", limit=EQUATIONS)
    sizes = {
        "input": whole(params, "input", 16, 1, 64),
        "hidden": whole(params, "hidden", 16, 1, 64),
    }
    try:
        kind = kind_of_cell(given)
        check()
        derived = explained(kind, sizes)
        return derived | {"flow": flow_of(given, {"steps": 128, "hidden_size": sizes["hidden"]})}
    except ValueError as error:
        return NOTHING | {"equations": given, "error": remark(error)}


NOTHING: dict[str, Any] = {
    "warnings": [],
    "sizes": [], "lines": [], "parameters": [], "total": 0, "backward": [], "gradients": [],
    "time": [], "graph": None, "flow": None,
}  # fmt: skip


def remark(about: Exception) -> dict[str, Any]:
    """What is said against the equations, and its place in them; -1 is nowhere."""
    if not isinstance(about, EquationError | EquationWarning):
        about = EquationError(str(about))
    line, start, stop = about.span or (-1, -1, -1)
    return {
        "message": str(about), "problem": about.problem, "hint": about.hint,
        "line": line, "start": start, "stop": stop,
    }  # fmt: skip


def explained(kind: CellType, sizes: dict[str, int]) -> dict[str, Any]:
    eqs = kind.equations
    names = eqs.named_sizes
    numbers = {name: sizes.get(name, sizes["hidden"]) for name in names}
    if eqs.constraints:  # a cell that adds the input to a hidden vector
        numbers["input"] = numbers["hidden"]
    check_sizes(kind, numbers)
    parts = explain_sections(Explanation(kind.name, eqs), numbers)
    backward = next(rows for title, rows in parts.items() if title.startswith("Backward"))
    shapes = {name: [size.value(numbers) for size in eqs.shape(name)] for name in eqs.parameters}
    roles = {"x": "input"} | dict.fromkeys(eqs.states, "state")
    roles |= {eqs.output: "output"} if eqs.output not in eqs.carried.values() else {}
    return {
        "error": None,
        "warnings": [remark(slip) for slip in slips(eqs)],
        "equations": cleandoc(eqs.text),
        "sizes": [
            {"name": name, "shape": str(eqs.sizes[name]), "role": role}
            for name, role in roles.items()
        ],
        "lines": [
            {"name": line.name, "text": ascii_line(line), "size": str(eqs.sizes[line.name])}
            for line in eqs.lines
        ],
        "parameters": [
            {"name": name, "shape": " x ".join(map(str, shape)), "count": prod(shape)}
            for name, shape in shapes.items()
        ],
        "total": sum(prod(shape) for shape in shapes.values()),
        "backward": backward,
        "gradients": parts["Parameter gradients"],
        "time": parts["Over time"],
        "graph": graph_plain(unrolled(kind, STEPS)),
    }


def graph_plain(graph: Graph) -> dict[str, Any]:
    """Nodes by number; what has no time of its own stands at step 0, the sum of losses last."""
    place = {node.id: at for at, node in enumerate(graph.nodes)}
    nodes = []
    for node in graph.nodes:
        step = node.step if node.step is not None else STEPS + 1 if node.kind == "loss" else 0
        nodes.append({"id": place[node.id], "label": node.label, "kind": node.kind, "step": step})
    edges = [
        {
            "source": place[edge.source],
            "target": place[edge.target],
            "label": ", ".join(edge.through),
            "derivative": edge.derivative,
        }
        for edge in graph.edges
    ]
    return {"nodes": nodes, "edges": edges}


def race(desk: Desk, params: Params) -> dict[str, Any]:
    """Cells that learn to name the first symbol, an update each in turn; ask again until done."""
    given = text(params, "equations", limit=EQUATIONS)
    against = several(params, "against", CELLS, 8)
    steps = whole(params, "steps", 20, 2, 200)
    updates = whole(params, "updates", 300, 1, 2000)
    seed = whole(params, "seed", 0, 0, 10**6)
    racers = list(dict.fromkeys(filter(None, (given, *against))))
    key = ("race", *racers, steps, updates, seed)
    start = [_racer(which) for which in racers]

    def work(job: Job) -> list[dict[str, Any]]:
        return run_race(job, racers, {"steps": steps, "seed": seed}, updates)

    job = desk.jobs.see(key, work, start)
    if job.error:
        raise ValueError(job.error)
    return {"done": job.done, "racers": job.shown, "updates": updates}


def run_race(
    job: Job, racers: list[str], task: dict[str, Any], updates: int
) -> list[dict[str, Any]]:
    shown = [_racer(which) for which in racers]
    learners: dict[int, FirstSymbol] = {}
    for at, which in enumerate(racers):
        try:
            learners[at] = FirstSymbol(kind_of_cell(which), **task)
        except ValueError as error:
            shown[at]["error"] = str(error)
    for _ in range(updates):
        for at, learner in learners.items():
            check()
            learner.update()
            shown[at] = shown[at] | {"losses": list(learner.losses)}
        job.shown = list(shown)
    for at, learner in learners.items():
        check()
        shown[at] = shown[at] | {"accuracy": learner.test().accuracy}
    return shown


def _racer(which: str) -> dict[str, Any]:
    name = "your own" if "=" in which else which
    return {"name": name, "losses": [], "accuracy": None, "error": ""}
