"""The tagger: the notes' toy, contextual vectors, pretrained ones, entities."""

from pathlib import Path
from typing import Any

import pytest
import torch

from unspool.data.batches import Bucketed
from unspool.data.labelled import Labelled
from unspool.data.tagged import Tagged
from unspool.models.language_model import LanguageModel, LanguageModelSettings
from unspool.models.tagger import Tagger, TaggerSettings
from unspool.train import Training, fit

TOY = [
    Tagged(("The", "dog", "ate", "the", "apple"), ("DET", "NN", "V", "DET", "NN"), "Masi"),
    Tagged(("Everybody", "read", "that", "book"), ("NN", "V", "DET", "NN"), "Masi"),
]


def learned(examples: list[Tagged], context: Any = None, **settings: Any) -> Tagger:
    plain: dict[str, Any] = {"hidden": 6, "embedding": 6, "characters": 0, "min_count": 1}
    plain |= {"dropout": 0.0, "input_dropout": 0.0, "word_dropout": 0.0, **settings}
    made = TaggerSettings(**plain)
    return Tagger.learn(made, examples, context)


@pytest.mark.parametrize("crf", [False, True])
def test_masi_and_faralli_ate_is_a_verb(crf: bool) -> None:
    """Their own printed output tags `ate` as NN; a tagger that has learned says V."""
    model = learned(TOY, crf=crf)
    data = Bucketed(TOY, [5, 4], model.collate, tokens=20)
    fit(model, data, Training(epochs=60, lr=0.05))
    answers = model.predict([example.words for example in TOY])
    assert [answer.tags for answer in answers] == [example.tags for example in TOY]
    assert all(0 < score <= 1 for answer in answers for score in answer.scores)


def test_predictions_do_not_depend_on_the_batch() -> None:
    model = learned(TOY, characters=4, character_hidden=3, lower=False).double()
    sentences = [("dog", "ate"), ("unheard", "of", "☃"), (), ("The",) * 30]
    together = model.predict(sentences)
    for words, answer in zip(sentences, together, strict=True):
        (alone,) = model.predict([words])
        assert alone.tags == answer.tags
        assert alone.scores == pytest.approx(answer.scores)
    assert together[2].tags == ()


def language() -> LanguageModel:
    settings = LanguageModelSettings(lines=True, units="words", direction="both", hidden=4)
    texts = [Labelled(" ".join(example.words), None, "") for example in TOY]
    return LanguageModel.learn(settings, texts)


def test_contextual_vectors_are_read_and_not_trained() -> None:
    model = learned(TOY, language())
    before = {name: p.clone() for name, p in model.named_parameters()}
    data = Bucketed(TOY, [5, 4], model.collate, tokens=20)
    fit(model, data, Training(epochs=3, lr=0.05))
    for name, p in model.named_parameters():
        assert p.equal(before[name]) == name.startswith("context"), name
    again = Tagger.build(model.settings, model.assets())
    again.load_state_dict(model.state_dict())
    sentences = [example.words for example in TOY]
    assert again.predict(sentences) == model.predict(sentences)


def test_a_context_from_elsewhere_reads_no_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("my password")
    assets = learned(TOY, language()).assets()
    assets["context"]["settings"]["cell"] = str(tmp_path / "secret")
    with pytest.raises(ValueError, match="a built-in name or equations, not"):
        Tagger.build(learned(TOY).settings, assets)


def test_the_context_changes_the_tags() -> None:
    model = learned(TOY, language())
    scores = model(model.batch([("dog", "ate")]))[0]
    assert not torch.allclose(scores, model(model.batch([("dog", "read")]))[0])


def vectors(folder: Path) -> str:
    path = folder / "vectors.txt"
    path.write_text("dog 1 2 3\nate 4 5 6\nunused 7 8 9\n")
    return str(path)


@pytest.mark.parametrize("freeze", [False, True])
def test_pretrained_vectors_frozen_or_tuned(tmp_path: Path, freeze: bool) -> None:
    model = learned(TOY, vectors=vectors(tmp_path), freeze=freeze)
    assert model.settings.embedding == 3
    row = model.embed.weight[model.words.id("dog")]
    assert row.tolist() == [1, 2, 3]
    data = Bucketed(TOY, [5, 4], model.collate, tokens=20)
    fit(model, data, Training(epochs=2, lr=0.05))
    assert (model.embed.weight[model.words.id("dog")].tolist() == [1, 2, 3]) == freeze
    (tmp_path / "vectors.txt").unlink()  # a trained model does not need the file any more
    again = Tagger.build(model.settings, model.assets())
    again.load_state_dict(model.state_dict())


def test_vectors_of_no_use_are_refused(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("nothing 1 2\n")
    with pytest.raises(ValueError, match="none of the data's words has a vector there"):
        learned(TOY, vectors=str(tmp_path / "v.txt"))
    with pytest.raises(ValueError, match=r"give model\.vectors too"):
        TaggerSettings(freeze=True)


def test_a_crf_never_breaks_the_scheme() -> None:
    entities = [Tagged(tuple("abcd"), ("B-X", "I-X", "O", "B-Y"), "here")]
    model = learned(entities, crf=True)
    torch.nn.init.normal_(model.out.weight, std=5.0)
    for answer in model.predict([tuple("abcdabcd")[k:] for k in range(7)]):
        for before, tag in zip(("O", *answer.tags), answer.tags, strict=False):
            assert tag[0] != "I" or before[1:] == tag[1:]


def test_an_unknown_tag_names_its_place() -> None:
    with pytest.raises(ValueError, match="file, line 7: the tag 'X' is not one"):
        learned(TOY).collate([Tagged(("a",), ("X",), "file, line 7")])
