"""The translator: learning, searching, and an answer for every line."""

import random
from dataclasses import replace
from typing import Any

import pytest
import torch

from unspool.data.labelled import Labelled
from unspool.data.pairs import Pair
from unspool.models.language_model import LanguageModel, LanguageModelSettings
from unspool.models.search import Search, noisy_channel, translate
from unspool.models.stack import forget
from unspool.models.translator import Translator, TranslatorSettings
from unspool.text import END, UNK
from unspool.train import Training, fit, make_config
from unspool.train.tasks import find_task
from unspool.train.tasks.translate import TranslateData

SMALL = TranslatorSettings(
    hidden=32,
    embedding=16,
    dropout=0.0,
    input_dropout=0.0,
    units="characters",
    cell="gru",
    smoothing=0.0,
)


def mirrored(count: int = 300, seed: int = 0) -> list[Pair]:
    """Short strings and the same from their end."""
    draw = random.Random(seed)
    texts = ["".join(draw.choices("abcd", k=draw.randint(1, 5))) for _ in range(count)]
    return [Pair(text, text[::-1], None, f"line {k}") for k, text in enumerate(texts, 1)]


def trained(
    settings: TranslatorSettings, pairs: list[Pair], epochs: int = 25, lr: float = 0.01
) -> Translator:
    torch.manual_seed(0)
    model = Translator.learn(settings, pairs)
    train = Training(epochs=epochs, batch=200, lr=lr)
    config: Any = type("Config", (), {"train": train})
    fit(model, find_task("translate").batches(model, pairs, config), train)
    return model


@pytest.fixture(scope="module")
def mirror() -> Translator:
    return trained(SMALL, mirrored())


def test_it_learns_to_mirror(mirror: Translator) -> None:
    fresh = mirrored(100, seed=5)
    said = [found.text for found in translate(mirror, [pair.source for pair in fresh])]
    right = sum(text == pair.target for text, pair in zip(said, fresh, strict=True))
    assert right >= 95


def test_attention_finds_the_mirror_image(mirror: Translator) -> None:
    pair = Pair("abcd", "dcba", None, "")
    weights = mirror.alignment(pair)
    source, target = mirror.symbols(pair)
    assert source == ["a", "b", "c", "d", "<end>"]
    assert target == ["d", "c", "b", "a", "<end>"]
    assert weights.shape == (5, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(5))


def test_an_answer_for_every_line(mirror: Translator) -> None:
    lines = ["ab", "", "xyz?", " ", "dcba" * 300, "ab", "\u200d\ufffd"]
    found = translate(mirror, lines)
    assert [one.source.source for one in found] == lines
    assert [one.text for one in found if not one.source.source.strip()] == ["", ""]
    assert found[0].best == found[5].best
    shuffled = translate(mirror, lines[::-1])
    assert [one.text for one in shuffled[::-1]] == [one.text for one in found]
    assert translate(mirror, []) == []


def test_the_score_is_that_of_the_text(mirror: Translator) -> None:
    (found,) = translate(mirror, ["abca"], Search(width=4, nbest=4))
    scores = [one.score for one in found.best]
    assert scores == sorted(scores, reverse=True)
    assert len(found.best) == 4
    pairs = [Pair("abca", one.text, None, "") for one in found.best if one.finished]
    said = [one.log_prob for one in found.best if one.finished]
    assert mirror.log_probs(pairs) == pytest.approx(said, abs=1e-4)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_batch_of_sentences_is_each_of_them(dtype: torch.dtype) -> None:
    """To the token; in float32, where two scores lie within 1e-5, either may come first."""
    torch.manual_seed(1)
    pairs = mirrored(64, seed=2)
    model = Translator.learn(SMALL, pairs).to(dtype)
    together = translate(model, [pair.source for pair in pairs], Search(4, 4))
    for pair, found in zip(pairs, together, strict=True):
        (alone,) = translate(model, [pair.source], Search(4, 4))
        for one, other in zip(alone.best, found.best, strict=True):
            close = abs(one.score - other.score) < 1e-5 and dtype == torch.float32
            assert one.tokens == other.tokens or close


def test_tags_ask_for_a_language() -> None:
    """One model, two languages: the same string, or the same backwards."""
    pairs = [
        Pair(pair.source, text, tag, pair.where)
        for pair in mirrored(200)
        for tag, text in (("same", pair.source), ("back", pair.target))
    ]
    model = trained(replace(SMALL, joint=True, tied="all"), pairs)
    assert model.tags == ["back", "same"]
    for tag, text in (("same", "abca"), ("back", "acba")):
        assert translate(model, ["abca"], tag=tag)[0].text == text
    assert model.symbols(Pair("a", "a", "same", ""))[0] == ["<same>", "a", "<end>"]
    with pytest.raises(ValueError, match="no tag is given; the model knows back, same"):
        translate(model, ["abca"])
    with pytest.raises(ValueError, match="'sam' is not a tag that it knows"):
        translate(model, ["abca"], tag="sam")


def test_all_pairs_have_tags_or_none() -> None:
    pairs = [Pair("a", "b", "x", "line 1"), Pair("a", "b", None, "line 2")]
    with pytest.raises(ValueError, match="line 2: no tag, and other pairs have one"):
        Translator.learn(SMALL, pairs)


def test_a_model_without_tags_refuses_one(mirror: Translator) -> None:
    with pytest.raises(ValueError, match="has learned no tags, and 'en' was given"):
        translate(mirror, ["abca"], tag="en")


def test_the_source_can_be_read_from_its_end() -> None:
    pairs = mirrored(20)
    model = Translator.learn(replace(SMALL, reverse=True), pairs)
    plain = Translator.learn(SMALL, pairs)
    (*row, end), (*other, same) = (m.source_row("abc", None) for m in (model, plain))
    assert (row, end) == (other[::-1], same)


def test_smoothing_is_for_training_only() -> None:
    pairs = mirrored(5)
    torch.manual_seed(0)
    model = Translator.learn(replace(SMALL, smoothing=0.3), pairs)
    batch = model.collate([model.rows(pair) for pair in pairs])
    scores, right = model.predicted(batch)
    log_probs = scores.log_softmax(-1)
    own = -log_probs.gather(1, right[:, None]).sum()
    spread = -log_probs.mean(-1).sum()
    torch.testing.assert_close(model.loss(batch).total, 0.7 * own + 0.3 * spread)
    torch.testing.assert_close(model.eval().loss(batch).total, own)


def test_the_same_symbols_and_separate_ones() -> None:
    pairs = [Pair("ab", "x y", None, ""), Pair("b", "y z z", None, "")]
    model = Translator.learn(replace(SMALL, target_units="words"), pairs)
    assert model.source.units == "characters"
    assert model.target.units == "words"
    joint = Translator.learn(replace(SMALL, joint=True), pairs)
    assert joint.source is joint.target
    for made in (model, joint):
        again = Translator.build(made.settings, made.assets())
        assert again.source == made.source
        assert again.target == made.target
        again.load_state_dict(made.state_dict())


@pytest.mark.parametrize("kind", ["linear", "exponential", "sigmoid"])
def test_forcing_follows_the_training(kind: str) -> None:
    model = trained(replace(SMALL, forcing=kind, forcing_end=0.2), mirrored(40), epochs=3)
    assert 0.2 < model.forcing < 0.5


def test_a_transformer_is_a_translator_too() -> None:
    settings = TranslatorSettings(
        architecture="transformer", units="characters", heads=2, embedding=32, layers=2,
        dropout=0.0, smoothing=0.0, tied="all", joint=True,
    )  # fmt: skip
    model = trained(settings, mirrored(), epochs=30, lr=0.003)
    found = translate(model, ["abca", "dd"], Search(2))
    assert [one.text for one in found] == ["acba", "dd"]
    assert model.alignment(Pair("ab", "ba", None, "")).shape == (3, 3)


def test_bayes_prefers_what_is_fluent(mirror: Translator) -> None:
    """An n-best list is sorted by log p(y) + log p(x | y)."""
    language = LanguageModel.learn(
        LanguageModelSettings(lines=True, hidden=8, embedding=4, layers=1),
        [Labelled("abcd", None, "")],
    )
    found = translate(mirror, ["ab", "cda"], Search(4, 4))
    for ranked, one in zip(noisy_channel(found, language, mirror), found, strict=True):
        totals = [r.score for r in ranked]
        assert totals == sorted(totals, reverse=True)
        assert {r.hypothesis.text for r in ranked} == {b.text for b in one.best}
        best = ranked[0]
        pair = Pair(best.hypothesis.text, one.source.source, None, "")
        (backwards,) = mirror.log_probs([pair])
        assert best.score == pytest.approx(best.language + backwards, abs=1e-4)
    stream = LanguageModel.learn(LanguageModelSettings(), [Labelled("abcd", None, "")])
    with pytest.raises(ValueError, match="one of lines"):
        noisy_channel(found, stream, mirror)


def test_several_right_answers_are_one_question(mirror: Translator) -> None:
    pairs = [Pair("ab", "ba", None, ""), Pair("ab", "wrong", None, ""), Pair("c", "x", None, "")]
    data = TranslateData(measure="error")
    scores = find_task("translate").measure(mirror, pairs, data)
    assert list(scores) == ["error", "perplexity"]
    assert scores["error"] == 0.5


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"attention": "none", "feed": True}, "about attention"),
        ({"attention": "location"}, "longest source"),
        ({"place": "inside", "feed": True}, "drop model.feed"),
        ({"tied": "all"}, "model.joint=true"),
        ({"tied": "output", "embedding": 0}, "one-hot"),
        ({"joint": True, "target_units": "words"}, "cannot be"),
        ({"architecture": "transformer"}, "no recurrence: drop model.cell"),
        ({"attention_size": 8}, "no size inside"),
        ({"attention": "none", "project": True}, "about attention"),
        ({"forcing_end": 0.2}, "set model.forcing too"),
        ({"tied": "all", "joint": True, "vectors": "x"}, "learned, not given"),
        ({"heads": 0}, "at least 1"),
        ({"decoder_layers": -1}, "0 or more"),
        ({"decoder_cell": "gur"}, "did you mean gru"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        replace(SMALL, **settings)


@pytest.mark.parametrize(
    ("settings", "hint"), [({"heads": 3}, "multiple of"), ({"forcing": "linear"}, "model.forcing")]
)
def test_transformers_that_cannot_be(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        TranslatorSettings(architecture="transformer", **settings)


def test_a_beam_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="widen the beam"):
        Search(width=2, nbest=3)
    with pytest.raises(ValueError, match="1 place or more"):
        Search(width=0)


def test_an_alignment_is_of_what_was_said() -> None:
    """The pieces that a search puts together need not be those that the text is cut into."""
    pairs = [Pair("abab", "abab abab", None, "")] * 3
    model = Translator.learn(replace(SMALL, units="subwords", max_symbols=258), pairs)
    whole = model.rows(pairs[0]).target
    letters = [model.target.vocabulary.ids([one])[0] for one in "abab"]
    assert len(letters) != len(model.target.encode("abab"))
    assert model.target.decode(letters) == "abab"
    for tokens in (whole, letters):
        assert model.alignment(pairs[0], tokens).shape[0] == len(tokens) + 1
        assert len(model.symbols(pairs[0], tokens)[1]) == len(tokens) + 1
    assert model.alignment(pairs[0], whole).equal(model.alignment(pairs[0]))


def test_unknown_symbols_are_made_of_symbols_alone() -> None:
    """Not of tags, START or END."""
    pairs = [Pair("abcd" * 50, "dcba" * 50, tag, "") for tag in "xy"]
    torch.manual_seed(0)
    model = Translator.learn(replace(SMALL, symbol_dropout=0.5), pairs)
    batch = model.collate([model.rows(pair) for pair in pairs])
    source = forget(batch.source, 0.5, len(model.source.vocabulary))
    target = forget(batch.target, 0.5)
    for ids, before, last in ((source, batch.source, -1), (target, batch.target, -1)):
        assert ids[0].equal(before[0])
        assert ids[last].equal(before[last])
        share = (ids[1:last] == UNK).double().mean().item()
        assert share == pytest.approx(0.5, abs=0.1)
        assert ids[ids != UNK].equal(before[ids != UNK])


def test_attention_by_location_reads_the_beginning_and_the_end() -> None:
    settings = replace(SMALL, attention="location", attention_size=6)
    model = Translator.learn(settings, mirrored(20))
    *ids, end = model.source_row("abcdabcd", None)
    assert end == END
    assert ids == model.source.encode("abcda")
    pair = Pair("abcdabcd", "a", None, "")
    assert model.symbols(pair)[0] == [*"abcda", "<end>"]
    assert model.alignment(pair).shape == (2, 6)
    with pytest.raises(ValueError, match=r"needs model\.attention_size=6, not 5"):
        Translator.learn(replace(settings, attention_size=5), mirrored(20))


def test_each_cell_takes_the_sizes_that_it_declares() -> None:
    both = {"cell": "lstm_projected", "sizes": {"proj": 4}, "decoder_cell": "gru"}
    model = Translator.learn(replace(SMALL, **both), mirrored(5))
    assert model.net.encoder.output_size == 8
    assert model.net.decoder.layers.output_size == 32
    with pytest.raises(ValueError, match="no cell here declares the size projj"):
        replace(SMALL, **(both | {"sizes": {"projj": 4}}))


def test_what_is_held_out_is_in_no_language_of_the_training() -> None:
    pairs = [Pair(f"s{k}", f"{tag}{k}", tag, "") for k in range(50) for tag in "xy"]
    train, dev = find_task("translate").held_out(pairs, make_config("translate"))
    assert len(dev) == 10
    assert not {pair.source for pair in dev} & {pair.source for pair in train}
