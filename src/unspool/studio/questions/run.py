"""What run this is, and what can be looked at in it."""

import re
from inspect import cleandoc
from typing import Any

from unspool.cells import named
from unspool.cells.cell import Cell
from unspool.data.builtin import PREFIX
from unspool.inspect.properties import PROPERTIES
from unspool.inspect.watch import Layer
from unspool.studio.desk import Desk
from unspool.studio.params import Params
from unspool.train.config import to_plain
from unspool.train.runs import FILES

EXAMPLES = 6  # texts to begin with
SHORT = 400  # characters of one
PATHS = (*FILES, "vectors", "context")  # settings that name files or folders


def run(desk: Desk, params: Params) -> dict[str, Any]:
    cells = [
        {"name": name, "equations": cleandoc(kind.equations.text), "source": kind.source}
        for name, kind in named().items()
    ]
    properties = [{"name": one.name, "title": one.title} for one in PROPERTIES.values()]
    always = {"cells": cells, "properties": properties}
    if desk.run is None:
        return EMPTY | always
    config = desk.config
    settings = {k: v for k, v in to_plain(config).items() if isinstance(v, dict)}
    model = desk.model() if desk.trained else None
    attends = getattr(config.model, "architecture", "recurrent") != "recurrent"
    cell = "" if attends else config.model.cell
    views = ["training", *_views(config.task, model), "gradients", "cell"]
    return {
        "name": desk.folder.resolve().name,
        "task": config.task,
        "cell": cell if cell in named() else "your own" if cell else "transformer",
        "equations": cleandoc(named()[cell].equations.text if cell in named() else cell),
        "trained": model is not None,
        "parameters": 0 if model is None else sum(p.numel() for p in model.parameters()),
        "settings": names_alone(settings),
        "tags": getattr(model, "tags", []) if config.task == "translate" else [],
        "classes": getattr(model, "classes", [])[1:],
        "examples": [] if model is None else desk.keep("examples", lambda: examples(desk)),
        "views": views,
    } | always


EMPTY: dict[str, Any] = {
    "name": "", "task": "", "cell": "", "equations": "", "trained": False, "parameters": 0,
    "settings": {}, "tags": [], "classes": [], "examples": [],
    "views": ["gradients", "cell"],
}  # fmt: skip


def names_alone(settings: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The settings with the names of files alone, without folders: a report is given to others."""
    return {
        section: {
            name: _file_name(value) if value and name in PATHS else value
            for name, value in values.items()
        }
        for section, values in settings.items()
    }


def _file_name(path: str) -> str:
    return path if path.startswith(PREFIX) else re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def _views(task: str, model: Any) -> list[str]:
    if model is None:
        return []
    text = ["text"] if any(isinstance(module, Cell) for module in model.modules()) else []
    return ["translate", *text] if task == "translate" else text


def layer_plain(layer: Layer) -> dict[str, Any]:
    lines = [{"name": name, "size": size} for name, size in layer.lines.items()]
    return {"title": layer.title, "lines": lines}


def examples(desk: Desk) -> list[str]:
    """Held-out texts to begin with; none where the run has none to show."""
    from unspool.studio.held_out import held_out

    try:
        texts = held_out(desk)
    except (ValueError, OSError):
        return []
    if len(texts) == 1:  # one long text: from the start of a line
        start = texts[0].find("\n") + 1
        return [texts[0][start : start + SHORT]]
    step = max(1, len(texts) // EXAMPLES)
    return [text[:SHORT] for text in texts[::step][:EXAMPLES]]
