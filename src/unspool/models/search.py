"""A translator at work: beam search over many sentences, and Bayes' rule over what it found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from unspool.data.pairs import Pair
from unspool.decode import Hypothesis, Reranked, Tree, beam, rerank
from unspool.decode.normalise import ALPHA
from unspool.models.language_model import LanguageModel
from unspool.models.speak import score
from unspool.models.stack import pad
from unspool.models.translator import Translator
from unspool.text import END, START

ROWS = 64  # sentences that are searched together


@dataclass(frozen=True)
class Search:
    """How to look for translations: see `unspool.decode.beam`. Width 1 is greedy."""

    width: int = 5
    nbest: int = 1
    normalise: str = "mean"
    alpha: float = ALPHA
    record: bool = False

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError(f"a beam has 1 place or more, not {self.width}")
        if not 1 <= self.nbest <= self.width:
            raise ValueError(
                f"a beam of {self.width} finds up to {self.width} translations, not {self.nbest}: "
                "widen the beam"
            )


@dataclass(frozen=True)
class Translation:
    """A text, its score (by which it was ranked), log p(text | source), and whether it ended."""

    text: str
    score: float
    log_prob: float
    finished: bool
    tokens: list[int] = field(repr=False)


NOTHING = Translation("", 0.0, 0.0, True, [])


@dataclass(frozen=True)
class Translated:
    """What was found for one source, the best first; the tree of the search if it was recorded."""

    source: Pair
    best: list[Translation]
    tree: Tree | None = None

    @property
    def text(self) -> str:
        return self.best[0].text


def translate(
    model: Translator,
    sources: Sequence[str | Pair],
    search: Search | None = None,
    *,
    tag: str | None = None,
    on_done: Callable[[int], None] | None = None,
) -> list[Translated]:
    """A translation of every source, in their order. `tag` is for those that bring none.

    A blank source has a blank translation. What a sentence becomes does not depend on those
    beside it. `on_done` hears how many sentences of a batch are done, for a progress bar.
    """
    if isinstance(sources, str):
        raise ValueError("sources are a list of texts: give [text], not one string")
    search = search or Search()
    pairs = [_tagged(source, tag) for source in sources]
    rows = [model.source_row(pair.source, pair.tag, pair.where) for pair in pairs]
    found = [Translated(pair, [NOTHING]) for pair in pairs]
    if on_done is not None:
        on_done(sum(not pair.source.strip() for pair in pairs))
    with model.answering():
        step = model.net.stepper()
        for places in _batches([len(row) for row in rows], pairs):
            batch = [rows[k] for k in places]
            for place, best, tree in _search(model, step, search, places, batch):
                found[place] = Translated(pairs[place], best, tree)
            if on_done is not None:
                on_done(len(places))
    return found


def _batches(lengths: Sequence[int], pairs: Sequence[Pair]) -> list[list[int]]:
    """Sentences of about the same length together, the longest first: memory that suffices for
    them suffices for all. Blank ones are not searched."""
    order = [k for k, pair in enumerate(pairs) if pair.source.strip()]
    order.sort(key=lambda k: (-lengths[k], k))
    return [order[k : k + ROWS] for k in range(0, len(order), ROWS)]


def _search(
    model: Translator, step: Any, search: Search, places: Sequence[int], rows: list[list[int]]
) -> list[tuple[int, list[Translation], Tree | None]]:
    ids, lengths = (part.to(model.device) for part in pad(rows))
    found = beam(
        step,
        torch.full((len(rows),), START, device=model.device),
        model.net.begin(model.net.encode(ids, lengths)),
        end=END,
        steps=[longest(model, len(row)) for row in rows],
        width=search.width,
        nbest=search.nbest,
        normalise=search.normalise,
        alpha=search.alpha,
        record=search.record,
    )
    trees = found.trees or [None] * len(rows)
    return [
        (place, [_translation(model, one) for one in best], tree)
        for place, best, tree in zip(places, found.hypotheses, trees, strict=True)
    ]


def longest(model: Translator, source: int) -> int:
    """At most so many symbols for a source of so many: generous, but not without end."""
    return min(3 * source + 20, 2 * model.longest + 20)


def _translation(model: Translator, one: Hypothesis) -> Translation:
    text = model.target.decode(one.tokens)
    return Translation(text, one.score, sum(one.log_probs), one.finished, list(one.tokens))


def _tagged(source: str | Pair, tag: str | None) -> Pair:
    if isinstance(source, str):
        return Pair(source, None, tag, "")
    return source if source.tag is not None else replace(source, tag=tag)


def noisy_channel(
    found: Sequence[Translated],
    language: LanguageModel,
    channel: Translator,
    *,
    direct: float = 0.0,
    tag: str | None = None,
) -> list[list[Reranked]]:
    """Each n-best list sorted by log p(y) + log p(x | y), as Bayes' rule has it.

    `language` gives p(y), a language model of lines; `channel` translates the other way and
    gives p(x | y). `direct` weighs log p(y | x) in.
    """
    if not language.settings.lines:
        raise ValueError("the language model must be one of lines (model.lines=true): it says "
                         "how likely a whole sentence is, its end counted")  # fmt: skip
    pairs = [
        Pair(one.text, each.source.source, tag, each.source.where)
        for each in found
        for one in each.best
    ]
    backwards = iter(channel.log_probs(pairs))
    ranked = []
    for each in found:
        fluency = [sum(s.log_prob for s in score(language, one.text)) for one in each.best]
        explained = [next(backwards) for _ in each.best]
        ranked.append(rerank(each.best, fluency, explained, direct_weight=direct))
    return ranked
