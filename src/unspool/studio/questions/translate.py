"""A translation with all that was weighed on the way: n-best, alignments, the beam as a tree."""

from typing import Any

from unspool.data.pairs import Pair
from unspool.decode import Tree
from unspool.models.search import Search, Translation
from unspool.models.search import translate as search_for
from unspool.models.translator import Translator
from unspool.studio.desk import Desk
from unspool.studio.params import Params, text, whole
from unspool.text import END

LONGEST = 2_000  # characters of a source


def translate(desk: Desk, params: Params) -> dict[str, Any]:
    model = desk.model()
    if not isinstance(model, Translator):
        raise ValueError(f"{desk.folder} holds no translator: its task is {desk.config.task}")
    source = text(params, "text", limit=LONGEST)
    if not source.strip():
        raise ValueError("there is nothing to translate: type a text")
    width = whole(params, "width", 5, 1, 50)
    search = Search(
        width=width,
        nbest=whole(params, "nbest", min(3, width), 1, width),
        normalise=text(params, "normalise", "mean"),
        record=True,
    )
    tag = text(params, "tag") or None
    (found,) = search_for(model, [source], search, tag=tag)
    assert found.tree is not None
    pair = Pair(source, found.text, tag, "")
    return {
        "source": model.symbols(pair, [])[0],
        "best": [hypothesis(model, pair, found.tree, one) for one in found.best],
        "tree": tree(model, found.tree),
    }


def hypothesis(model: Translator, pair: Pair, found: Tree, one: Translation) -> dict[str, Any]:
    tokens = model.symbols(pair, one.tokens)[1]
    rows = len(tokens) if one.finished else len(tokens) - 1
    weights = None
    if model.settings.attention != "none" or model.settings.architecture != "recurrent":
        weights = model.alignment(pair, one.tokens)[:rows].tolist()
    return {
        "text": one.text,
        "tokens": tokens[:rows],
        "score": one.score,
        "log_prob": one.log_prob,
        "finished": one.finished,
        "weights": weights,
        "node": leaf(found, [*one.tokens, *([END] if one.finished else [])]),
    }


def leaf(found: Tree, tokens: list[int]) -> int:
    """The node at which a hypothesis ends: its tokens, followed from the root."""
    children = {(node.parent, node.token): node.id for node in found.nodes}
    at = 0
    for token in tokens:
        at = children[at, token]
    return at


def tree(model: Translator, found: Tree) -> list[dict[str, Any]]:
    names = model.target.vocabulary.tokens([node.token for node in found.nodes])
    return [node | {"token": name} for node, name in zip(found.to_json(), names, strict=True)]
