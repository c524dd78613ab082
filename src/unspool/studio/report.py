"""The report: the studio's page with its answers inside, in one file that asks nobody.

What the page would ask is asked beforehand and stored; the script and the style stand in the
file. It opens from disk, and its content-security policy allows no request at all.
"""

import base64
import hashlib
import html
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import unspool
from unspool.cells import named
from unspool.studio.desk import Desk
from unspool.studio.held_out import NoHeldOut, held_out
from unspool.studio.page import SCRIPT, STYLE, read_page
from unspool.studio.params import CELLS
from unspool.studio.plain import finite
from unspool.studio.questions import ask
from unspool.train.durable import write_durably
from unspool.train.log import LOG_BYTES, METRICS, odd_lines
from unspool.train.plain_file import is_plain, read_plain


@dataclass(frozen=True)
class Report:
    """The views of a report that was written, and what could not be in it."""

    views: list[str]
    notes: list[str]


Question = tuple[str, dict[str, Any]]
Tell = Callable[[str], None]

TEXTS = 4  # examples that are shown where no texts were given


def write_report(
    desk: Desk, path: Path, texts: Sequence[str] = (), *, tell: Tell = lambda what: None
) -> Report:
    """Asks everything, and writes the file; `tell` hears what is being worked on."""
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent} is no folder that a report could be written to: make it")
    stored, notes = gather(desk, texts, tell)
    write_durably(path, page_with(stored).encode("utf-8", "replace"))
    return Report(stored["answers"]["run {}"]["views"], notes)


def gather(
    desk: Desk, texts: Sequence[str], tell: Tell = lambda what: None
) -> tuple[dict[str, Any], list[str]]:
    """Answers by question and params, with the params there are for each question; and notes."""
    notes: list[str] = []
    answers: dict[str, Any] = {}
    offers: dict[str, list[dict[str, Any]]] = {}
    run = ask(desk, "run", {})
    # A command line may hold bytes that are no text: the file, and the page, could not.
    texts = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    if any(not text.strip() for text in texts):
        raise ValueError("a text to show the model on is empty: write something, or drop --text")
    if texts and not {"text", "translate"} & set(run["views"]):
        raise ValueError(f"{desk.folder} cannot read a text: it has no trained weights yet")
    for question, params in questions(desk, run, texts, notes):
        tell(question)
        answers[f"{question} {canonical(params)}"] = finite(settled(desk, question, params))
        offers.setdefault(question, []).append(params)
    return {"answers": answers, "offers": offers}, notes


def settled(desk: Desk, question: str, params: dict[str, Any]) -> Any:
    """The answer when it is done: some grow while they are asked for."""
    answer = ask(desk, question, params)
    while isinstance(answer, dict) and answer.get("done") is False:
        desk.jobs.wait()
        answer = ask(desk, question, params)
    return answer


def questions(
    desk: Desk, run: dict[str, Any], texts: Sequence[str], notes: list[str]
) -> Iterator[Question]:
    """What the page of this run asks, view by view."""
    yield "run", {}
    if run["name"]:
        yield "training", {"since": 0}
        notes += damaged_log(desk)
    shown = list(texts) or run["examples"][:TEXTS]
    if "translate" in run["views"]:
        yield from _translations(run, shown)
    if "text" in run["views"]:
        units = _units(desk, notes)
        if units["units"]:
            yield "units", {}
        # What the units were found in stands first, unless there are texts that somebody wants.
        excerpt = [units["excerpt"]]
        yield from _readings(desk, run, shown + excerpt if texts else excerpt + shown, units)
    own = run["cell"] if run["cell"] in named() else run["equations"]
    cells = list(dict.fromkeys(filter(None, [own, *CELLS])))
    yield (
        "gradients",
        {"cells": cells, "steps": 128, "hidden": 32, "gain": 1, "keep": None, "seed": 0},
    )
    yield "cliff", {"limit": 0.1, "rate": 0.4}
    yield "relu", {"hidden": 64, "steps": 50, "seed": 0}
    yield "cell", {"equations": own or CELLS[0], "input": 32, "hidden": 32}


def damaged_log(desk: Desk) -> list[str]:
    """A note on the lines of the log that are not shown, if there are any."""
    path = desk.folder / METRICS
    odd = odd_lines(read_plain(path, LOG_BYTES)) if is_plain(path) else []
    if not odd:
        return []
    shown = ", ".join(map(str, odd[:5])) + (", ..." if len(odd) > 5 else "")
    return [f"{path}: {len(odd)} of its lines are damaged, and left out (line {shown})"]


def _translations(run: dict[str, Any], texts: Sequence[str]) -> Iterator[Question]:
    tag = (run["tags"] or [""])[0]
    for text in texts:
        how = {"width": 5, "nbest": 3, "normalise": "mean"}
        yield "translate", {"text": text, "tag": tag, **how}


def _units(desk: Desk, notes: list[str]) -> dict[str, Any]:
    """What was found in held-out text; where the run's data is gone the rest is shown without."""
    try:
        held_out(desk)
    except NoHeldOut as problem:
        notes.append(f"No units were searched for: {problem}")
        return {"units": [], "excerpt": ""}
    return settled(desk, "units", {})


def _readings(
    desk: Desk, run: dict[str, Any], texts: Sequence[str], units: dict[str, Any]
) -> Iterator[Question]:
    """Every text by its discovered units, or where none was found by some unit of each state."""
    kind = (run["classes"] or run["tags"] or [""])[0]
    followed = {one["property"] for one in units["units"]}
    names = [one["name"] for one in run["properties"] if one["name"] in followed]
    # The page opens on the first: the one that stands out most from what chance finds.
    clearest = sorted(units["units"], key=_beyond_chance, reverse=True)
    found = list(dict.fromkeys((one["layer"], one["line"], one["unit"]) for one in clearest))
    for text in dict.fromkeys(filter(str.strip, texts)):
        about = {"text": text, "kind": kind}
        read = ask(desk, "text", about)
        yield "text", about
        if read["ranked"]:
            yield "ranks", about
        for name in names:
            yield "property", {"text": text, "property": name}
        last = len(read["layers"]) - 1
        some = [(last, read["layers"][last]["lines"][0]["name"], unit) for unit in range(3)]
        for layer, line, unit in found or some:
            yield "unit", about | {"layer": layer, "line": line, "unit": unit}
        layer, line, _ = (found or some)[0]
        yield "trajectory", about | {"layer": layer, "line": line}


def _beyond_chance(unit: dict[str, Any]) -> float:
    """How much more a unit follows its property than chance does; an AUC says nothing at 1/2."""
    more = unit["score"] - unit["control"]
    return 2 * more if unit["kind"] == "auc" else more


def canonical(params: dict[str, Any]) -> str:
    """JSON with sorted keys: equal params have equal texts."""
    return json.dumps(params, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def page_with(stored: dict[str, Any]) -> str:
    """The page as one file. Of its scripts only the one whose hash is named may run."""
    page = read_page()
    # `<` cannot end the script that holds the data, nor begin another.
    data = json.dumps(stored, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = data.replace("<", "\\u003c")
    script = page.script.replace("</script", "<\\/script")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(page.style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head, _, rest = page.index.partition("</head>")
    head = head.replace(f'<link rel="stylesheet" href="{STYLE}" />', "")
    body = rest.replace(f'<script type="module" src="{SCRIPT}"></script>', "")
    assert SCRIPT not in body, "the index asks for its script in another way than is known here"
    assert STYLE not in head, "the index asks for its style in another way than is known here"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'
    made_by = f'<meta name="generator" content="Unspool {unspool.__version__}">'
    start, _, title = head.partition("<title>")
    body, _, end = body.partition("</body>")
    return (
        f"{start}{meta}\n{made_by}\n<title>{title}<style>{page.style}</style>\n</head>{body}"
        f'<script type="application/json" id="stored">{data}</script>\n'
        f'<script type="module">{script}</script>\n</body>{end}'
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
