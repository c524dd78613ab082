"""A text as each kind of model reads it: symbols meet the steps at which they were read."""

from importlib import import_module
from typing import Any

import pytest
import torch

from unspool.data.labelled import Labelled
from unspool.data.pairs import Pair
from unspool.data.tagged import Tagged
from unspool.inspect.properties import labels_of
from unspool.inspect.reading import GRADIENTS, pieces, read
from unspool.models import Classifier, LanguageModel, Tagger, Translator
from unspool.models.classifier import ClassifierSettings
from unspool.models.language_model import LanguageModelSettings
from unspool.models.tagger import TaggerSettings
from unspool.models.translator_settings import TranslatorSettings
from unspool.text import START

TEXT = 'if x:\n\tprint("a b")  # c\n\n'


def language(**settings: Any) -> LanguageModel:
    wanted = LanguageModelSettings(cell="gru", hidden=6, layers=2, embedding=4, **settings)
    kind = "k" if wanted.classes else None
    model = LanguageModel.learn(wanted, [Labelled(TEXT + "xyz if a b", kind, "")])
    return model.double()


@pytest.mark.parametrize("units", ["characters", "words", "subwords"])
def test_a_language_model_after_each_prefix(units: Any) -> None:
    model = language(units=units)
    found = read(model, TEXT)
    assert "".join(found.symbols) == TEXT
    assert [layer.title for layer in found.layers] == ["layer 1", "layer 2"]
    ids = model.codec.encode(TEXT)
    assert len(ids) == len(found.symbols)
    values = found.values(1, "h")
    model.eval()
    for k in range(len(ids)):
        prefix = torch.tensor([START, *ids[: k + 1]])[:, None]
        _, state = model.forwards(model.inputs(prefix, None))
        assert torch.allclose(values[k], state[1][0].h[0], atol=1e-10)


def test_lines_and_both_directions() -> None:
    model = language(lines=True, direction="both", classes=True)
    text = "abx\n\nif"
    found = read(model, text, kind="k")
    assert found.symbols == ["a", "b", "x\n\n", "i", "f"]
    titles = ["layer 1", "layer 2", "backwards, layer 1", "backwards, layer 2"]
    assert [layer.title for layer in found.layers] == titles
    model.eval()
    for part, where in (("abx", slice(0, 3)), ("if", slice(3, 5))):
        alone = read(model, part, kind="k")
        for layer in range(4):
            one, other = alone.values(layer, "n"), found.values(layer, "n")[where]
            assert torch.allclose(one, other, atol=1e-10)
    # Backwards, the first symbol is the last that is read: what stands after it matters there.
    changed = read(model, "abf", kind="k")
    same = read(model, "abx", kind="k")
    assert torch.equal(changed.values(0, "h")[0], same.values(0, "h")[0])
    assert not torch.equal(changed.values(2, "h")[0], same.values(2, "h")[0])
    other = read(model, "fbx", kind="k")
    assert torch.allclose(other.values(2, "h")[1:], same.values(2, "h")[1:])


def test_a_classifier_and_its_answer() -> None:
    settings = ClassifierSettings(cell="lstm", hidden=5, embedding=4, units="characters", readers=2)
    examples = [Labelled("abc", "one", ""), Labelled("cab b", "two", "")]
    model = Classifier.learn(settings, examples).double()
    found = read(model, "cab b", gradients=True)
    assert found.symbols == list("cab b")
    assert found.read.answer == model.predict(["cab b"])[0].label
    assert found.layers[0].title.startswith("reader 1, layer 1")
    assert found.gradient(0, "h").shape == (5, 5)
    assert found.gradient(0, "h").abs().sum() > 0


@pytest.mark.parametrize("target", ["number", "labels"])
def test_other_targets(target: Any) -> None:
    settings = ClassifierSettings(cell="gru", hidden=4, embedding=4, target=target)
    labels = ("1", "2") if target == "number" else ("a", "a|b")
    examples = [Labelled("x y", labels[0], ""), Labelled("y", labels[1], "")]
    found = read(Classifier.learn(settings, examples), "x y y", gradients=True)
    assert "".join(found.symbols) == "x y y"
    assert found.gradient(0, "h").isfinite().all()


@pytest.mark.parametrize("crf", [True, False])
def test_a_tagger_and_its_tags(crf: bool) -> None:
    settings = TaggerSettings(cell="gru", hidden=5, embedding=4, crf=crf, bidirectional=True)
    examples = [Tagged(("the", "dog", "barks"), ("D", "N", "V"), "")]
    model = Tagger.learn(settings, examples).double()
    text = "the dog\nbarks  the dog"
    found = read(model, text, gradients=True)
    assert found.symbols == ["the ", "dog\n", "barks  ", "the ", "dog"]
    tags = [answer.tags for answer in model.predict([["the", "dog"], ["barks", "the", "dog"]])]
    assert found.read.marks == [tag for row in tags for tag in row]
    assert [layer.title for layer in found.layers] == ["layer 1", "layer 1, backwards"]
    alone = read(model, "barks the dog")
    assert torch.allclose(alone.values(1, "h"), found.values(1, "h")[2:], atol=1e-10)
    assert (found.gradient(0, "h").abs().sum(1) > 0).all()


@pytest.mark.parametrize("reverse", [True, False])
@pytest.mark.parametrize("tagged", [True, False])
def test_a_translator_reads_its_source(reverse: bool, tagged: bool) -> None:
    settings = TranslatorSettings(
        cell="gru", hidden=5, embedding=4, units="characters", reverse=reverse
    )
    tag = "x" if tagged else None
    model = Translator.learn(settings, [Pair("abc", "ba", tag, ""), Pair("ca", "ab", tag, "")])
    model = model.double()
    found = read(model, "abca", kind=tag or "", gradients=True)
    assert found.symbols == list("abca")
    assert [layer.title for layer in found.layers] == [
        "encoder, layer 1",
        "encoder, layer 1, backwards",
    ]
    assert (found.gradient(0, "h").abs().sum(1) > 0).all()
    # The direction that begins with the first symbol does not know the others there.
    first = 1 if reverse else 0
    other = read(model, "abcc", kind=tag or "")
    assert torch.equal(found.values(first, "h")[0], other.values(first, "h")[0])
    assert not torch.equal(found.values(1 - first, "h")[0], other.values(1 - first, "h")[0])


def test_the_model_is_left_as_it_was() -> None:
    model = language().train()
    read(model, TEXT, gradients=True)
    assert model.training
    assert all(p.grad is None for p in model.parameters())


def test_gradients_of_a_text_against_autograd() -> None:
    """dL/dx of the lowest layer through dL/dh of the cells, for a model of one Elman layer."""
    settings = LanguageModelSettings(cell="elman", hidden=6, layers=1, embedding=4)
    model = LanguageModel.learn(settings, [Labelled(TEXT, None, "")]).double()
    found = read(model, TEXT, gradients=True)
    # START is read before the first symbol, and has its share too.
    h, d_h = found._watched.line(0, "h"), found._watched.gradient(0, "h")
    assert torch.equal(found.gradient(0, "h"), d_h[1:, 0])
    model.eval()
    ids = torch.tensor([START, *model.codec.encode(TEXT)])[:, None]
    scores, _ = model.read(ids[:-1])
    torch.nn.functional.cross_entropy(scores[:, 0], ids[1:, 0], reduction="sum").backward()
    bias = model.forwards.get_parameter("layers.0.cells.0.b").grad
    assert bias is not None
    assert torch.allclose((d_h * (1 - h**2)).sum((0, 1)), bias, atol=1e-10)


@pytest.mark.parametrize("task", ["lines", "tags"])
def test_how_rows_are_batched_changes_nothing(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "if x\na\n" + "b a if " * 9 + "\nx b"
    model: Any = language(lines=True, direction="both")
    if task == "tags":
        examples = [Tagged(("if", "x", "a", "b"), ("A", "B", "C", "D"), "")]
        settings = TaggerSettings(cell="gru", hidden=5, embedding=4, bidirectional=True)
        model = Tagger.learn(settings, examples).double()
    whole = read(model, text, gradients=True)
    monkeypatch.setattr(import_module("unspool.inspect.reading"), "BUDGET", 8)
    pieces = read(model, text, gradients=True)
    assert len({*pieces.read.calls}) > 1
    for layer in range(len(whole.layers)):
        assert torch.allclose(whole.values(layer, "n"), pieces.values(layer, "n"), atol=1e-12)
        assert torch.allclose(whole.gradient(layer, "n"), pieces.gradient(layer, "n"), atol=1e-12)


def test_symbols_stand_where_the_codec_says() -> None:
    """Blanks before the first word are shown with it, and are no part of it."""
    found = read(language(units="words"), '  "a b"')
    assert found.read.spans[0][0] == 2
    assert "".join(found.symbols) == '  "a b"'
    settings = ClassifierSettings(cell="gru", hidden=4, embedding=4, units="characters", lower=True)
    examples = [Labelled("ab", "one", ""), Labelled("ba", "two", "")]
    model = Classifier.learn(settings, examples)
    odd = read(model, 'İİ "a"')  # lower case is longer here
    assert labels_of(odd.read.text, odd.read.spans)["in_quotes"].sum() == 2


def test_attention_by_location_reads_what_fits() -> None:
    for reverse in (True, False):
        settings = TranslatorSettings(
            cell="gru", hidden=5, embedding=4, units="characters", attention="location",
            attention_size=4, reverse=reverse,
        )  # fmt: skip
        model = Translator.learn(settings, [Pair("abc", "ba", None, "")]).double()
        assert "".join(read(model, "abcab").symbols).endswith("ab" if reverse else "cab")
        assert len(read(model, "abcab").read.spans) == 3


def test_mistakes_are_told() -> None:
    model = language()
    with pytest.raises(ValueError, match="give a part of it"):
        read(model, "a" * (GRADIENTS + 1), gradients=True)
    with pytest.raises(ValueError, match="2 layers to look at"):
        read(model, "a").values(2, "h")
    with pytest.raises(ValueError, match="reads no text"):
        read(torch.nn.Linear(2, 2), "a")
    with pytest.raises(ValueError, match="the text is empty"):
        read(language(lines=True), "\n")


def test_pieces_join_to_the_text() -> None:
    assert pieces("  ab c ", [(2, 4), (5, 6)]) == ["  ab ", "c "]
    assert pieces("", []) == []
