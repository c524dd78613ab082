"""A language model at work: text that it writes, and what it thinks of text that it reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unspool.decode import Decoded, State, Step, sample
from unspool.models.language_model import LanguageModel
from unspool.models.stack import run
from unspool.text import END, NEVER, START

PIECE = 1000  # steps that are read at once


@dataclass(frozen=True)
class Score:
    """One symbol of a text: where it stands, log p (natural), and its rank (1 is the likeliest).

    The entropy is that of the prediction, in nats: how unsure the model was there.
    """

    token: str
    start: int
    end: int
    log_prob: float
    rank: int
    entropy: float


def next_symbol(model: LanguageModel) -> Step:
    """The step of decoding: `live` is the layers' state, `fixed` the classes of the sentences.

    What is no part of a text (padding, START, unknown symbols) is never said; END only by a
    model of lines.
    """
    step = model.forwards.stepper()
    never = NEVER if model.settings.lines else [*NEVER, END]

    def take(tokens: Tensor, state: State) -> tuple[Tensor, State]:
        live, fixed = state
        # One class a sentence, which may have several hypotheses.
        classes = None if fixed is None else fixed.repeat_interleave(len(tokens) // len(fixed))
        ys, live = step(model.inputs(tokens[None], classes)[0], live)
        scores = model.scores(ys)
        scores[:, never] = -torch.inf
        return scores.log_softmax(-1), (live, fixed)

    return take


@dataclass(frozen=True)
class Wish:
    """How to generate: see `unspool.decode.sample`."""

    prompt: str = ""
    count: int = 1
    length: int = 200
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    kind: str | None = None


@torch.no_grad()
def generate(model: LanguageModel, wish: Wish) -> list[str]:
    """Texts that begin with the prompt. Temperature 0 takes the likeliest symbol every time."""
    if wish.count < 1 or wish.length < 0:
        raise ValueError("count is 1 or more, and length 0 or more")
    if (wish.kind is None) == bool(model.classes):
        known = ", ".join(model.classes[1:])
        what = f"say which class: one of {known}" if known else "this model knows no classes"
        raise ValueError(what)
    model.eval()
    fixed = None
    if wish.kind is not None:
        fixed = torch.tensor([model.class_id(wish.kind)] * wish.count, device=model.device)
    ids = torch.tensor([START, *model.codec.encode(wish.prompt)], device=model.device)
    ids = ids[:, None].expand(-1, wish.count)
    _, live = run(model.forwards, model.inputs(ids[:-1], fixed)) if len(ids) > 1 else (None, None)
    said: Decoded = sample(
        next_symbol(model),
        ids[-1],
        (live, fixed),
        end=END if model.settings.lines else None,
        steps=wish.length,
        temperature=wish.temperature,
        top_k=wish.top_k,
        top_p=wish.top_p,
        seeds=[wish.seed + row for row in range(wish.count)],
    )
    start = ids[1:, 0].tolist()
    head = len(model.codec.decode(start))  # may differ from the prompt: spaces, unknown symbols
    return [wish.prompt + model.codec.decode([*start, *t])[head:] for t in said.tokens]


def parts(model: LanguageModel, text: str) -> Iterator[tuple[int, str]]:
    """What is read by itself, and where it begins: the text, or each line that is not empty."""
    start = 0
    for part in text.split("\n") if model.settings.lines else [text]:
        if part:
            yield start, part
        start += len(part) + 1


def score(model: LanguageModel, text: str, kind: str | None = None) -> list[Score]:
    """Every symbol of the text, given those before it; a model of lines scores END too."""
    ids = [START, *model.codec.encode(text), *([END] if model.settings.lines else [])]
    spans = [*model.codec.spans(text), (len(text), len(text))]
    targets = torch.tensor(ids[1:], device=model.device)
    found: list[Score] = []
    for log_probs in predictions(model, ids[:-1], kind):
        own = log_probs.gather(1, targets[len(found) : len(found) + len(log_probs), None])
        ranks = (log_probs > own).sum(1) + 1
        entropies = -(log_probs.exp() * log_probs).sum(1)
        rows = zip(own[:, 0].tolist(), ranks.tolist(), entropies.tolist(), strict=True)
        for log_prob, rank, entropy in rows:
            start, end = spans[len(found)]
            token = text[start:end] if start < end else "<end>"
            found.append(Score(token, start, end, log_prob, rank, entropy))
    return found


@torch.no_grad()
def predictions(
    model: LanguageModel, ids: Sequence[int], kind: str | None = None
) -> Iterator[Tensor]:
    """log p of every symbol after each of these, START among them; piece by piece, (t, V)."""
    model.eval()
    tokens = torch.tensor(ids, device=model.device)
    classes = None if kind is None else torch.tensor([model.class_id(kind)], device=model.device)
    if model.classes and classes is None:
        raise ValueError(f"say which class the text is of: {', '.join(model.classes[1:])}")
    state: Any = None
    for begin in range(0, len(ids), PIECE):
        piece = tokens[begin : begin + PIECE]
        ys, state = run(model.forwards, model.inputs(piece[:, None], classes), state)
        yield model.scores(ys)[:, 0].double().log_softmax(-1)
