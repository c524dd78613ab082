"""Units that follow a property of the text, searched for in held-out text."""

from typing import Any

import numpy as np

from unspool.inspect.properties import PROPERTIES, labels_of
from unspool.inspect.reading import spans_of
from unspool.inspect.units import Found, search
from unspool.models import Translator
from unspool.studio.cancel import check
from unspool.studio.corpus import Corpus, corpus
from unspool.studio.desk import Desk
from unspool.studio.jobs import Job
from unspool.studio.params import Params, text

SHOWN = 1_200  # characters of the excerpt
OWN = "your labels"


def units(desk: Desk, params: Params) -> dict[str, Any]:
    """Begins the search, or says how far it is; ask again until it is done."""
    start = {"progress": 0.0, "units": [], "skipped": [], "excerpt": "", "symbols": 0}
    kind = text(params, "kind") or usual_kind(desk)
    job = desk.jobs.see(("units", kind, desk.version), lambda job: look(desk, kind, job), start)
    if job.error:
        raise ValueError(job.error)
    return {"done": job.done} | job.shown


def look(desk: Desk, kind: str, job: Job) -> dict[str, Any]:
    held = corpus(desk, kind)
    labels = held.labels() | own_labels(desk, held)
    so_far = {"units": [], "skipped": [], "excerpt": "", "symbols": held.size}

    def progress(done: float) -> None:
        check()
        job.shown = {"progress": done} | so_far

    result = search(held.recorded(), labels, progress=progress)
    titles = [layer.title for layer in held.readings[0].layers]
    return {
        "progress": 1.0,
        "units": [unit_plain(found, titles) for found in result.found],
        "skipped": result.skipped,
        "excerpt": excerpt(held),
        "symbols": held.size,
    }


def usual_kind(desk: Desk) -> str:
    """What a model is told that must be told something: the first class, or the first tag."""
    model = desk.model()
    known = getattr(model, "classes", [])[1:]
    return next(iter(known or (model.tags if isinstance(model, Translator) else [])), "")


def own_labels(desk: Desk, held: Corpus) -> dict[str, np.ndarray]:
    """The user's, one for each character of the text that was given, or for each symbol."""
    if desk.labels is None or desk.text is None:
        return {}
    symbols = spans_of(desk.model(), desk.text)
    if len(desk.labels) == len(desk.text):
        values = np.array(desk.labels)[[start for start, _ in symbols]]
    elif len(desk.labels) == len(symbols):
        values = np.array(desk.labels)
    else:
        raise ValueError(
            f"there are {len(desk.labels):,} labels for a text of {len(desk.text):,} characters "
            f"and {len(symbols):,} symbols: give one for each character, or for each symbol"
        )
    return {OWN: values[: held.size]}  # of a long text the beginning is searched


def unit_plain(found: Found, titles: list[str]) -> dict[str, Any]:
    known = PROPERTIES.get(found.property)
    return {
        "property": found.property,
        "title": known.title if known else found.property,
        "kind": "auc" if found.kind == "yes/no" else "rank",
        "layer": found.layer,
        "where": titles[found.layer] if len(titles) > 1 else "",
        "line": found.line,
        "unit": found.unit,
        "score": found.score,
        "control": found.control,
        "sign": found.sign,
    }


def excerpt(held: Corpus) -> str:
    """Where most happens: whole lines of the half that did not choose the units."""
    whole = held.readings[-1].read.text
    if len(held.readings) > 1:
        return whole[:SHOWN]
    starts = [at + 1 for at in range(len(whole) // 2, len(whole) - SHOWN) if whole[at] == "\n"]
    if not starts:
        return whole[-SHOWN:]
    each = [_changes(values, starts) for values in labels_of(whole).values()]
    # Every property counts the same, however often it changes.
    best = starts[int(np.argmax(sum(one / max(one.max(), 1.0) for one in each)))]
    end = whole.rfind("\n", best, best + SHOWN)
    return whole[best : end if end > best else best + SHOWN]


def _changes(values: np.ndarray, starts: list[int]) -> np.ndarray:
    """How often a label changes in the excerpt that begins at each of these places."""
    total = np.concatenate([[0.0], np.cumsum(np.diff(values, prepend=values[:1]) != 0)])
    return total[np.array(starts) + SHOWN] - total[np.array(starts)]


def property_labels(desk: Desk, params: Params) -> dict[str, Any]:
    """A property's label of each symbol of a text."""
    given, name = text(params, "text"), text(params, "property")
    if name not in PROPERTIES:
        raise ValueError(f"there is no property {name!r}; there are {', '.join(PROPERTIES)}")
    read = desk.reading(given, text(params, "kind") or usual_kind(desk)).read
    found = labels_of(read.text, read.spans)[name]
    return {"values": found.tolist(), "title": PROPERTIES[name].title}
