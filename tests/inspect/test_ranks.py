"""Ranks: against a softmax over the whole prefix, one symbol after the other."""

import math
from typing import Any

import pytest
import torch

from unspool.data.labelled import Labelled
from unspool.inspect.ranks import LIMITS, Ranks, candidates, token_ranks
from unspool.models import Classifier
from unspool.models.classifier import ClassifierSettings
from unspool.models.language_model import LanguageModel, LanguageModelSettings
from unspool.models.speak import Score
from unspool.text import END, SPECIALS, START

TEXT = "the quick brown fox isn't\n\nover the lazy dog ☃\n"
UNITS: list[dict[str, Any]] = [
    {}, {"lines": True}, {"units": "words"}, {"units": "words", "lines": True},
    {"units": "subwords", "max_symbols": 270},
]  # fmt: skip


def model_of(labels: tuple[str, ...] = (), **settings: Any) -> LanguageModel:
    plain = {"hidden": 7, "layers": 2, "embedding": 5, **settings}
    texts = ["the quick brown fox jumps", "over the lazy dog isn't"]
    examples = [
        Labelled(text, label, "here")
        for text, label in zip(texts, labels or (None, None), strict=True)
    ]
    return LanguageModel.learn(LanguageModelSettings(**plain), examples).double().eval()


def prefixes(model: LanguageModel, text: str) -> list[tuple[list[int], int, int, int]]:
    """Slowly: for each symbol all ids before it, its own, and its place in the text."""
    found = []
    offset = 0
    for part in text.split("\n") if model.settings.lines else [text]:
        ids = [START, *model.codec.encode(part)]
        places = [(offset + a, offset + b) for a, b in model.codec.spans(part)]
        if model.settings.lines and part:
            ids.append(END)
            places.append((offset + len(part), offset + len(part)))
        for k, (start, end) in enumerate(places):
            found.append((ids[: k + 1], ids[k + 1], start, end))
        offset += len(part) + 1
    return found


def slow(model: LanguageModel, ids: list[int], kind: str | None = None) -> list[float]:
    """The probability of each symbol after these."""
    classes = None if kind is None else torch.tensor([model.class_id(kind)])
    with torch.no_grad():
        ys, _ = model.forwards(model.inputs(torch.tensor(ids)[:, None], classes))
        scores = model.scores(ys)[-1, 0]
    return (scores.exp() / scores.exp().sum()).tolist()


@pytest.mark.parametrize("settings", UNITS)
def test_every_symbol_is_what_the_whole_prefix_says(settings: dict[str, Any]) -> None:
    model = model_of(**settings)
    found = token_ranks(model, TEXT)
    expected = prefixes(model, TEXT)
    assert len(found.symbols) == len(expected)
    for k, (ids, own, start, end) in enumerate(expected):
        chances = slow(model, ids)
        assert found.probability[k] == pytest.approx(chances[own], rel=1e-9)
        assert found.log_prob[k] == pytest.approx(math.log(chances[own]), rel=1e-9)
        assert found.rank[k] == 1 + sum(chance > chances[own] for chance in chances)
        entropy = -sum(chance * math.log2(chance) for chance in chances)
        assert found.entropy[k] == pytest.approx(entropy, rel=1e-9)
        one = found.symbols[k]
        assert (one.start, one.end) == (start, end)
        assert one.token == (TEXT[start:end] or "<end>")
    assert found.bits == pytest.approx(-sum(map(math.log2, found.probability)) / len(expected))
    texts = [one for one in expected if one[2] < one[3]]
    assert len(found.in_text().symbols) == len(texts)


@pytest.mark.parametrize("settings", UNITS)
def test_candidates_are_the_likeliest_of_the_softmax(settings: dict[str, Any]) -> None:
    model = model_of(**settings)
    within = [one for one in prefixes(model, TEXT) if one[2] < one[3]]
    last = [ids for ids, *_ in prefixes(model, TEXT)][-1]
    after = last if model.settings.lines else [*last, prefixes(model, TEXT)[-1][1]]
    for position, ids in enumerate([*(ids for ids, *_ in within), after]):
        chances = slow(model, ids)
        best = sorted(range(len(chances)), key=lambda token: -chances[token])[:4]
        found = candidates(model, TEXT, position, k=4)
        assert [one.probability for one in found] == pytest.approx([chances[k] for k in best])
        spelled = [SPECIALS[k] if k < 4 else model.codec.decode([k]) for k in best]
        assert [one.token for one in found] == spelled
    everything = candidates(model, TEXT, 0, k=10_000)
    assert len(everything) == len(model.codec.vocabulary)
    assert sum(one.probability for one in everything) == pytest.approx(1)


def test_the_rank_is_the_place_among_the_candidates() -> None:
    model = model_of(units="words")
    text = "the lazy fox"
    for position, one in enumerate(token_ranks(model, text).symbols):
        assert candidates(model, text, position, k=99)[one.rank - 1].token == one.token


def test_a_long_text_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of()
    whole, likely = token_ranks(model, TEXT), candidates(model, TEXT, 30)
    monkeypatch.setattr("unspool.models.speak.PIECE", 7)
    assert token_ranks(model, TEXT).entropy == pytest.approx(whole.entropy)
    assert token_ranks(model, TEXT).rank == whole.rank
    pieces = candidates(model, TEXT, 30)
    assert [one.probability for one in pieces] == pytest.approx([p for _, p in likely])


def test_classes_are_told() -> None:
    model = model_of(("x", "y"), lines=True, classes=True)
    for kind in ("x", "y"):
        found = token_ranks(model, "the", kind)
        chances = slow(model, [START], kind)
        assert found.probability[0] == pytest.approx(chances[model.codec.encode("t")[0]])
        assert candidates(model, "the", 0, 1, kind)[0].probability == pytest.approx(max(chances))
    with pytest.raises(ValueError, match="say which class the text is of: x, y"):
        token_ranks(model, "the")


def test_counts_share_the_symbols_out() -> None:
    ranks = [1, 1, 2, 10, 11, 100, 101, 999, 1000, 1001, 50_000]
    found = Ranks([Score("x", k, k + 1, -1.0, rank, 0.0) for k, rank in enumerate(ranks)])
    assert [one.within for one in found.counts] == [*LIMITS, None]
    assert [one.count for one in found.counts] == [2, 2, 2, 3, 2]
    assert [one.share for one in found.counts] == pytest.approx([c / 11 for c in (2, 2, 2, 3, 2)])


def test_an_empty_text_has_nothing_but_a_beginning() -> None:
    for lines in (False, True):
        model = model_of(lines=lines)
        found = token_ranks(model, "")
        assert found.symbols == []
        assert found.bits == 0
        assert [one.count for one in found.counts] == [0] * 5
        assert candidates(model, "", 0, 1)[0].probability == pytest.approx(
            max(slow(model, [START]))
        )


def test_what_cannot_be_asked_is_said() -> None:
    model = model_of()
    with pytest.raises(ValueError, match="position 4 is not in the text: its symbols are 0 to 2"):
        candidates(model, "the", 4)
    with pytest.raises(ValueError, match="position -1 is not in the text"):
        candidates(model, "the", -1)
    with pytest.raises(ValueError, match="1 or more; got 0"):
        candidates(model, "the", 0, k=0)
    examples = [Labelled("a b", "x", ""), Labelled("c", "y", "")]
    other = Classifier.learn(ClassifierSettings(hidden=2), examples)
    with pytest.raises(ValueError, match="a Classifier does not predict the next symbol"):
        token_ranks(other, "the")
