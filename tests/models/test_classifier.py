"""The classifier: one label, several, or a number."""

import json
import re
from typing import Any

import pytest
import torch

from unspool.data.batches import Bucketed
from unspool.data.labelled import Labelled
from unspool.models.bag import Bag, Grams
from unspool.models.classifier import Classifier, ClassifierSettings, balanced
from unspool.train import Training, fit
from unspool.train.tasks import find_task


def examples(*pairs: tuple[str, str]) -> list[Labelled]:
    return [Labelled(text, label, f"file, line {k}") for k, (text, label) in enumerate(pairs, 1)]


def learned(data: list[Labelled], **settings: Any) -> Classifier:
    plain: dict[str, Any] = {"units": "characters", "hidden": 8, "embedding": 8}
    plain |= {"dropout": 0.0, "input_dropout": 0.0, **settings}
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


def test_large_numbers_keep_their_digits() -> None:
    data = examples(*((f"{'a' * k}", str(20190400 + k)) for k in range(1, 5)))
    model = learned(data, target="number")
    assert model.predict(["aa"])[0].label.startswith("2019040")
    assert find_task("classify").measure(model, data)["r_squared"] > 0.9


def test_predictions_do_not_depend_on_the_batch() -> None:
    model = learned(WORDS).double()
    texts = ["ab" * k for k in range(9)]
    together = model.predict(texts)
    for text, answer in zip(texts, together, strict=True):
        (alone,) = model.predict([text])
        assert alone.scores == pytest.approx(answer.scores)
    assert model.predict([]) == []


def test_a_bag_of_n_grams_counts_what_it_knows() -> None:
    known = Grams.learn([[4, 5, 4, 5], [4, 6]], longest=2)
    assert known == [(4,), (4, 5), (5,)]  # (6,), (5, 4) and (4, 6) occur once
    numbers, bag = Grams(known).numbers, Bag(len(known), 2, dropout=0.5).eval()
    torch.nn.init.normal_(bag.weight)
    scores = bag([numbers([4, 5, 4]), numbers([6]), numbers([5, 5])])
    torch.testing.assert_close(scores[0], 2 * bag.weight[0] + bag.weight[2] + bag.weight[1])
    assert not scores[1].any()
    torch.testing.assert_close(scores[2], 2 * bag.weight[2])


@pytest.mark.parametrize("target", ["label", "labels", "number"])
def test_readers_are_averaged_and_learn_by_themselves(target: str) -> None:
    data = examples(("aab", "1"), ("bba", "2"), ("aaa", "3"))
    settings = ClassifierSettings(units="characters", hidden=4, readers=3, target=target)  # type: ignore[arg-type]
    model = Classifier.learn(settings, data).eval()
    batch = model.collate(data)
    each = [model.loss_of(reader(batch), batch.targets) for reader in model.readers]
    assert model.loss(batch).total.item() == pytest.approx(sum(x.item() for x in each) / 3)
    assert len({x.item() for x in each}) == 3
    (answer,) = model.predict(["aab"])
    outs = torch.stack([reader(model.batch([model.ids("aab")]))[0] for reader in model.readers])
    if target == "number":
        expected = outs.mean().item() * model.spread + model.mean
        assert answer.value == pytest.approx(expected)
        assert float(answer.label) == pytest.approx(expected, rel=1e-4)
    else:
        shares = outs.softmax(-1) if target == "label" else outs.sigmoid()
        assert list(answer.scores.values()) == pytest.approx(shares.mean(0).tolist())


def test_n_grams_are_kept_with_the_model() -> None:
    model = learned(WORDS, ngrams=3, lower=True)
    again = Classifier.build(model.settings, json.loads(json.dumps(model.assets())))
    again.load_state_dict(model.state_dict())
    texts = ["AAB", "bbb", "☃"]
    assert again.predict(texts) == model.predict(texts)
    assert model.predict(["aab"]) == model.predict(["AAB"])


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
        ([("t", "nan"), ("u", "1")], {"target": "number"}, "file, line 1: a number is expected"),
        ([("t", ""), ("u", "")], {"target": "labels"}, "no example has a label"),
    ],
)
def test_data_that_do_not_fit(data: Any, settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learned(examples(*data), **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"queries": 3}, "set model.pool=attention too"),
        ({"balance": 0.5, "target": "number"}, "are for model.target=label"),
        ({"smoothing": 0.1, "target": "labels"}, "are for model.target=label"),
        ({"smoothing": 2.0}, "model.smoothing"),
        ({"ngrams": -1}, "model.ngrams"),
        ({"pool": "first"}, "model.pool is one of last, mean, max, attention, not 'first'"),
        ({"hidden": 0}, "model.hidden is at least 1"),
        ({"dropout": 1.5}, "1.5"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        ClassifierSettings(**settings)


def test_an_unknown_label_names_its_place() -> None:
    model = Classifier.learn(ClassifierSettings(), WORDS)
    with pytest.raises(ValueError, match=r"x, line 3: the label 'c' is not one .* learned: a, b"):
        model.collate([Labelled("t", "c", "x, line 3")])
