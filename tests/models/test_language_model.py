"""The language model: its streams, its two directions, its generation and its scores."""

from typing import Any

import pytest
import torch

from unspool.data.labelled import Labelled
from unspool.data.streams import Piece, Streams
from unspool.decode import beam
from unspool.models.language_model import LanguageModel, LanguageModelSettings
from unspool.models.speak import Wish, generate, next_symbol, score
from unspool.text import END, START
from unspool.train.tasks import find_task

TEXT = "the quick brown fox jumps over the lazy dog\n" * 3


def model_of(*texts: str, labels: Any = None, **settings: Any) -> LanguageModel:
    texts = texts or (TEXT,)
    plain: dict[str, Any] = {"hidden": 7, "layers": 2, "embedding": 5, "afresh": 0.0}
    plain |= {"dropout": 0.0, "input_dropout": 0.0, **settings}
    pairs = zip(texts, labels or [None] * len(texts), strict=True)
    examples = [Labelled(text, label, "here") for text, label in pairs]
    return LanguageModel.learn(LanguageModelSettings(**plain), examples).double().eval()


def test_pieces_with_the_state_carried_are_the_whole() -> None:
    model = model_of()
    ids = torch.tensor(model.codec.encode(TEXT))
    whole = model.loss(Piece(ids[:-1, None], ids[1:, None], len(ids) - 1))
    total, state = 0.0, None
    for piece in Streams(ids, rows=1, steps=11, shift=False).epoch(0):
        loss = model.loss(piece, state)
        total, state = total + loss.total.item(), loss.carried
    assert total == pytest.approx(whole.total.item(), rel=1e-12)


def test_a_row_that_begins_anew_knows_nothing_of_before() -> None:
    model = model_of(afresh=0.5).train()
    ids = torch.randint(4, 20, (6, 40))
    _, state = model.read(torch.randint(4, 20, (3, 40)))
    torch.manual_seed(1)
    seen, kept = model.begin_anew(ids, state)
    anew = seen[0] == START
    assert 5 < anew.sum() < 35
    assert seen[:, ~anew].equal(ids[:, ~anew])
    assert seen[1:].equal(ids[1:])
    for before, after in zip(state, kept, strict=True):
        assert not after[0].h[anew].any()
        assert after[0].c[~anew].equal(before[0].c[~anew])


def test_each_direction_sees_its_own_side_only() -> None:
    model = model_of("abcd", "dcba", lines=True, direction="both")
    rows = [model.collate([Labelled(text, None, "")]) for text in ("abcd", "bbcd", "abca")]
    base, first, last = (model.both_ways(batch) for batch in rows)
    # Forwards: the scores after START a b c do not change with what is last.
    assert base[0][0][:4].equal(last[0][0][:4])
    assert not base[0][0][1:].equal(first[0][0][1:])
    # Backwards: the scores after END d c b do not change with what is first.
    assert base[1][0][:4].equal(first[1][0][:4])
    assert not base[1][0][1:].equal(last[1][0][1:])
    # Every symbol and the two ends are predicted.
    assert base[0][1][:, 0].tolist() == [*model.codec.encode("abcd"), END]
    assert base[1][1][:, 0].tolist() == [*model.codec.encode("dcba"), START]


def test_the_directions_share_embedding_and_softmax_and_nothing_else() -> None:
    model = model_of("ab", lines=True, direction="both", tied=True)
    names = {name.split(".")[0] for name, _ in model.named_parameters()}
    assert names == {"embed", "forwards", "backwards", "narrow", "out"}
    assert model.out.weight is model.embed.weight


@pytest.mark.parametrize("units", ["characters", "words", "subwords"])
@pytest.mark.parametrize("direction", ["forward", "both"])
def test_contextual_vectors_stand_where_the_words_do(units: str, direction: str) -> None:
    """Each word's vector is what its own sentence gives, read up to its end and its start."""
    texts = ["the cat isn't in", "a dog", "the end"]
    sizes: dict[str, Any] = {"max_symbols": 300} if units == "subwords" else {}
    model = model_of(*texts, lines=True, units=units, direction=direction, **sizes)
    sentences = [text.split() for text in texts]
    vectors = model.vectors(sentences)
    assert vectors.shape == (4, 3, model.vector_size)
    for b, words in enumerate(sentences):
        alone = model.vectors([words])
        torch.testing.assert_close(vectors[: len(words), b], alone[:, 0])
        assert not vectors[len(words) :, b].any()
        for t in range(len(words)):
            forwards = model.vectors([words[: t + 1]])[t, 0, :7]
            torch.testing.assert_close(vectors[t, b, :7], forwards)
            if direction == "both" and units != "subwords":  # where the cuts do not move
                backwards = model.vectors([words[t:]])[0, 0, 7:]
                torch.testing.assert_close(vectors[t, b, 7:], backwards)


def test_steps_are_the_whole() -> None:
    model = model_of()
    ids = torch.tensor([START, *model.codec.encode("the fox")])
    scores, _ = model.read(ids[:, None])
    scores[..., [0, 1, 2, 3]] = -torch.inf
    step, state = next_symbol(model), (None, None)
    for t, token in enumerate(ids):
        log_probs, state = step(token[None], state)
        torch.testing.assert_close(log_probs, scores[t].log_softmax(-1))


def test_greedy_generation_is_the_likeliest_symbol_each_time() -> None:
    model = model_of()
    (found,) = generate(model, Wish("the ", length=12, temperature=0.0))
    ids = [START, *model.codec.encode("the ")]
    for _ in range(12):
        scores = model.read(torch.tensor(ids)[:, None])[0][-1, 0]
        scores[:4] = -torch.inf
        ids.append(int(scores.argmax()))
    assert found == model.codec.decode(ids)


def test_the_seed_decides_and_a_text_does_not_depend_on_its_neighbours() -> None:
    model = model_of()
    three = generate(model, Wish(count=3, length=20, seed=5))
    assert three == generate(model, Wish(count=3, length=20, seed=5))
    assert three[1:] == generate(model, Wish(count=2, length=20, seed=6))
    assert len(set(three)) == 3


def test_lines_end_and_classes_are_asked_for() -> None:
    model = model_of("ab", "ba", labels=("x", "y"), lines=True, classes=True)
    assert all("\n" not in text for text in generate(model, Wish(kind="x", count=5)))
    with pytest.raises(ValueError, match="say which class: one of x, y"):
        generate(model, Wish())
    with pytest.raises(ValueError, match="'z' is not a class that the model has learned: x, y"):
        generate(model, Wish(kind="z"))
    with pytest.raises(ValueError, match="knows no classes"):
        generate(model_of(), Wish(kind="x"))


@pytest.mark.parametrize("lines", [False, True])
def test_scores_of_a_text_sum_to_its_loss(lines: bool) -> None:
    model = model_of(lines=lines)
    text = "the fox ☃ jumps"
    found = score(model, text)
    example = [Labelled(text, None, "")]
    nats = find_task("lm").measure(model, example)["nats"]
    assert -sum(one.log_prob for one in found) / len(found) == pytest.approx(nats, rel=1e-9)
    assert [text[one.start : one.end] for one in found][: len(text)] == list(text)
    ids = torch.tensor([START, *model.codec.encode(text)])
    order = model.read(ids[:, None])[0][:, 0].argsort(descending=True)
    for t, one in enumerate(found[: len(text)]):
        assert order[t, one.rank - 1] == ids[t + 1]


def test_long_texts_are_scored_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of()
    whole = score(model, TEXT)
    monkeypatch.setattr("unspool.models.speak.PIECE", 7)
    pieces = score(model, TEXT)
    assert [one.token for one in pieces] == list(TEXT)
    for a, b in zip(whole, pieces, strict=True):
        assert a.log_prob == pytest.approx(b.log_prob, rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bidirectional": True}, "has seen the very symbol that it must predict"),
        ({"direction": "both"}, "needs model.lines=true"),
        ({"classes": True}, "needs model.lines=true"),
        ({"tied": True, "embedding": 0}, "one-hot"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LanguageModelSettings(**settings)


def test_a_beam_writes_lines_of_every_class() -> None:
    """Two classes side by side are each of them alone."""
    model = model_of("ab", "ba", labels=("x", "y"), lines=True, classes=True).double().eval()
    how: dict[str, Any] = {"end": END, "steps": 4, "width": 3, "nbest": 3}
    kinds = torch.tensor([model.class_id("x"), model.class_id("y")])
    first = torch.full((2,), START)
    together = beam(next_symbol(model), first, (None, kinds), **how)
    for row in range(2):
        state = (None, kinds[row : row + 1])
        (alone,) = beam(next_symbol(model), first[:1], state, **how).hypotheses
        assert [one.tokens for one in alone] == [one.tokens for one in together.hypotheses[row]]
