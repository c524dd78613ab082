"""Training on a padded batch is training on its rows one by one, whatever the model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

import unspool as us
from unspool.data.labelled import Labelled
from unspool.data.pairs import Pair
from unspool.data.tagged import Tagged
from unspool.models.classifier import Classifier, ClassifierSettings
from unspool.models.language_model import LanguageModel, LanguageModelSettings
from unspool.models.tagger import Tagger, TaggerSettings
from unspool.models.translator import Translator, TranslatorSettings

TEXTS = ["a", "the cat sat on the mat", "", "no cat sat"]
SIZES: dict[str, Any] = {"hidden": 6, "embedding": 6, "dropout": 0.0, "input_dropout": 0.0}


def labelled(*labels: str) -> list[Labelled]:
    return [Labelled(text, label, "here") for text, label in zip(TEXTS, labels, strict=True)]


def tagged() -> list[Tagged]:
    rows = ["D", "D N V P D N", "D N V"]
    texts = ["the", "the cat sat on the mat", "no cat sat"]
    pairs = zip(texts, rows, strict=True)
    return [Tagged(tuple(t.split()), tuple(r.split()), "here") for t, r in pairs]


def spans() -> list[Tagged]:
    rows = ["O B-A I-A", "B-B", "O O O O B-A"]
    return [Tagged(tuple("abcde"[: len(r.split())]), tuple(r.split()), "here") for r in rows]


def classifier(labels: Sequence[str] = ("x", "y", "z", "x"), **settings: Any) -> Any:
    made = ClassifierSettings(units="characters", **(SIZES | settings))
    examples = labelled(*labels)
    return Classifier.learn(made, examples), examples


def tagger(examples: list[Tagged], **settings: Any) -> Any:
    made = TaggerSettings(characters=4, character_hidden=3, word_dropout=0.0, min_count=1)
    return Tagger.learn(replace(made, **(SIZES | settings)), examples), examples


def language(**settings: Any) -> Any:
    made = LanguageModelSettings(lines=True, class_size=3, **(SIZES | settings))
    examples = labelled("x", "y", "z", "x")
    return LanguageModel.learn(made, examples), examples


def transformer() -> Any:
    return paired(
        TranslatorSettings(
            architecture="transformer", units="characters", heads=2, embedding=6, dropout=0.0
        )
    )


def translator(**settings: Any) -> Any:
    return paired(TranslatorSettings(units="characters", **(SIZES | settings)))


def paired(made: TranslatorSettings) -> Any:
    pairs = [Pair(text, text[::2], tag, "here") for text, tag in zip(TEXTS, "abab", strict=True)]
    model = Translator.learn(made, pairs)
    return model, [model.rows(pair) for pair in pairs]


TRANSLATORS = {
    "translator": translator,
    "translator, additive inside": lambda: translator(attention="additive", place="inside"),
    "translator, fed": lambda: translator(feed=True, layers=2, tied="all", joint=True),
    "translator, heads": lambda: translator(heads=2, attention="scaled_dot", reverse=True),
    "translator, none": lambda: translator(attention="none", decoder_cell="gru"),
    "transformer": transformer,
}
CASES = {
    **{f"pool {p}": lambda p=p: classifier(pool=p) for p in ("last", "max", "mean")},
    "pool attention": lambda: classifier(pool="attention", queries=2),
    "balanced": lambda: classifier(balance=0.5, smoothing=0.1, bidirectional=False, layers=2),
    "n-grams": lambda: classifier(ngrams=3),
    "several labels": lambda: classifier(("x|y", "y", "", "x"), target="labels"),
    "a number": lambda: classifier(("1", "-2.5", "1e1", "0"), target="number"),
    "tagger": lambda: tagger(tagged()),
    "tagger, no characters": lambda: tagger(tagged(), characters=0, layers=2, skip="residual"),
    "tagger, crf": lambda: tagger(tagged(), crf=True),
    "entities, crf": lambda: tagger(spans(), crf=True),
    "lines": language,
    "lines, classes": lambda: language(classes=True, tied=True),
    "lines, both ways": lambda: language(direction="both", tied=True, embedding=5),
    "lines, words": lambda: language(units="words", embedding=0),
}


def gradients(model: Any) -> list[torch.Tensor]:
    found = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    return found


@pytest.mark.parametrize("name", [*CASES, *TRANSLATORS])
def test_a_padded_batch_is_its_rows(name: str) -> None:
    model, examples = (CASES | TRANSLATORS)[name]()
    model.double()
    whole = model.loss(model.collate(examples))
    whole.total.backward()
    expected = gradients(model)
    total, count = 0.0, 0
    for example in examples:
        loss = model.loss(model.collate([example]))
        loss.total.backward()
        total, count = total + loss.total.item(), count + loss.count
    assert count == whole.count
    assert whole.total.item() == pytest.approx(total, rel=1e-12)
    for found, sum_of_rows in zip(expected, gradients(model), strict=True):
        torch.testing.assert_close(found, sum_of_rows, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_what_stands_in_the_padding_changes_nothing(name: str) -> None:
    model, examples = CASES[name]()
    batch = model.collate(examples)
    field = "words" if hasattr(batch, "words") else "ids"
    ids = getattr(batch, field)
    steps = torch.arange(len(ids))[:, None]
    other = torch.where(steps < batch.lengths, ids, 4)
    assert not other.equal(ids)
    changed = replace(batch, **{field: other})
    assert model.loss(batch).total.equal(model.loss(changed).total)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_what_stands_in_the_padding_of_pairs_changes_nothing(name: str) -> None:
    model, rows = TRANSLATORS[name]()
    batch = model.collate(rows)
    other = replace(
        batch,
        source=torch.where(torch.arange(len(batch.source))[:, None] < batch.read, batch.source, 4),
        target=torch.where(torch.arange(len(batch.target))[:, None] <= batch.said, batch.target, 4),
    )
    assert not other.source.equal(batch.source)
    assert not other.target.equal(batch.target)
    assert model.loss(batch).total.equal(model.loss(other).total)


@pytest.mark.parametrize("cell", us.cells.named())
def test_every_cell_in_every_model(cell: str) -> None:
    sizes = {"lstm_projected": {"proj": 3}, "old_state_output": {"output": 3}}.get(cell, {})
    kept: dict[str, Any] = {"cell": cell, "sizes": sizes, "characters": 6, "character_hidden": 6}
    only = {k: kept[k] for k in ("cell", "sizes")}
    mut = cell in ("mut1", "mut2")  # these add x to h: input and hidden sizes must agree
    words = tagger(tagged(), **(kept | ({"hidden": 18} if mut else {})))
    for model, examples in (classifier(**only), language(**only), words):
        model.loss(model.collate(examples)).mean.backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
