"""The classifier: one label, several, or a number."""

from typing import Any

import pytest

from unspool.data.batches import Bucketed
from unspool.data.labelled import Labelled
from unspool.models.classifier import Classifier, ClassifierSettings, balanced
from unspool.train import Training, fit
from unspool.train.tasks import find_task


def examples(*pairs: tuple[str, str]) -> list[Labelled]:
    return [Labelled(text, label, f"file, line {k}") for k, (text, label) in enumerate(pairs, 1)]


def learned(data: list[Labelled], **settings: Any) -> Classifier:
    plain = {"units": "characters", "hidden": 8, "embedding": 8, "dropout": 0.0} | settings
    model = Classifier.learn(ClassifierSettings(**plain), data)
    batches = Bucketed(data, [model.length(e) for e in data], model.collate, tokens=60)
    fit(model, batches, Training(epochs=60, lr=0.03))
    return model


WORDS = examples(("aab", "a"), ("bba", "b"), ("aaa", "a"), ("bbb", "b"), ("baab", "b"))


@pytest.mark.parametrize("pool", ["last", "mean", "max", "attention"])
@pytest.mark.parametrize("cell", ["gru", "s' = tanh(W @ x + U @ s)"])
def test_labels_are_learned(pool: str, cell: str) -> None:
    model = learned(WORDS, pool=pool, cell=cell)
    answers = model.predict([e.text for e in WORDS])
    assert [answer.label for answer in answers] == [e.label for e in WORDS]
    for answer in answers:
        assert sum(answer.scores.values()) == pytest.approx(1.0, abs=1e-5)
        assert max(answer.scores, key=answer.scores.__getitem__) == answer.label
    assert find_task("classify").measure(model, WORDS) == {"accuracy": 1.0, "macro_f1": 1.0}


def test_several_labels_are_learned() -> None:
    data = examples(("ax", "a|x"), ("a", "a"), ("x", "x"), ("o", ""), ("xoa", "x|a"))
    model = learned(data, target="labels")
    assert [p.label for p in model.predict([e.text for e in data])] == ["a|x", "a", "x", "", "a|x"]
    assert find_task("classify").measure(model, data) == {"micro_f1": 1.0, "exact": 1.0}


def test_numbers_are_learned_on_their_own_scale() -> None:
    data = examples(("a", "1000"), ("aa", "2000"), ("aaa", "3000"), ("aaaa", "4000"))
    model = learned(data, target="number")
    for answer, example in zip(model.predict([e.text for e in data]), data, strict=True):
        assert float(answer.label) == pytest.approx(float(example.label or 0), abs=150)
    scores = find_task("classify").measure(model, data)
    assert scores["error"] < 150
    assert scores["r_squared"] > 0.98


def test_predictions_do_not_depend_on_the_batch() -> None:
    model = learned(WORDS).double()
    texts = ["ab" * k for k in range(9)]
    together = model.predict(texts)
    for text, answer in zip(texts, together, strict=True):
        (alone,) = model.predict([text])
        assert alone.scores == pytest.approx(answer.scores)
    assert model.predict([]) == []


def test_weights_of_classes() -> None:
    data = examples(*[("t", "a")] * 8, *[("t", "b")] * 2)
    assert balanced(["a", "b"], data, 0.0).tolist() == [1.0, 1.0]
    a, b = balanced(["a", "b"], data, 1.0).tolist()
    assert 8 * a == pytest.approx(2 * b)
    assert 8 * a + 2 * b == pytest.approx(10)


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        ([("t", "a")], {}, "there is only one: a"),
        ([("t", "a"), ("u", "b")], {"target": "number"}, "file, line 1: a number is expected"),
    ],
)
def test_data_that_do_not_fit(data: Any, settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learned(examples(*data), **settings)


def test_an_unknown_label_names_its_place() -> None:
    model = Classifier.learn(ClassifierSettings(), WORDS)
    with pytest.raises(ValueError, match=r"x, line 3: the label 'c' is not one .* learned: a, b"):
        model.collate([Labelled("t", "c", "x, line 3")])
