"""The decoder: from a start state, and a memory to attend to, to scores of the next symbol.

Context after the recurrence (Luong et al. 2015):

    s_t = cell(e_t, s_(t-1))
    c_t = sum_j w_tj m_j,  w_t = softmax_j score(s_t, m_j)
    f_t = tanh(W_c [c_t; s_t]),  p_t = softmax(V f_t + b)

With input feeding the cell reads [e_t; f_(t-1)]. Context inside it (Bahdanau et al. 2015):

    c_t = sum_j w_tj m_j,  w_t = softmax_j score(s_(t-1), m_j)
    s_t = cell([e_t; c_t], s_(t-1))

and the same features and softmax. Without attention f_t comes from s_t alone.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from unspool.attention import Attention, Memory
from unspool.decode import State, Step
from unspool.layers.drop import Drop
from unspool.layers.embedding import Embedding
from unspool.models.bridge import sizes_of
from unspool.models.stack import full, half_backend, run
from unspool.text import NEVER

Live = tuple[Any, Tensor | None]  # the layers' state, and what is fed to the next step


class Decoder(nn.Module):
    """`settings` are a translator's; `memory_size` is 0 where there is nothing to attend to."""

    def __init__(
        self, settings: Any, symbols: int, memory_size: int = 0, embed: Embedding | None = None
    ):
        super().__init__()
        self.settings, self.symbols = settings, symbols
        self.inside = bool(memory_size) and settings.place == "inside"
        self.embed = embed or Embedding(symbols, settings.embedding)
        self.features = settings.features
        own = replace(settings.decoder(), embedding=self.embed.size)
        fed = self.features if settings.feed and memory_size else 0
        size = settings.attention_size or own.hidden
        projected = settings.project or settings.heads > 1
        context = (size if projected else memory_size) if memory_size else 0
        self.layers = own.build(self.embed.size + (context if self.inside else fed), False)
        self.attention = None
        if memory_size:
            first = next(iter(sizes_of(self.layers.layers[-1])[0].values()))
            query = first if self.inside else self.layers.output_size
            with _mended(memory_size):
                self.attention = Attention(
                    settings.attention,
                    query,
                    memory_size,
                    size=size,
                    heads=settings.heads,
                    project=settings.project,
                )
        self.fed = self.features if fed else 0
        self.combine = nn.Linear(context + self.layers.output_size, self.features)
        self.input_dropout = Drop(settings.input_dropout)
        self.dropout = Drop(settings.dropout)
        self.bias = nn.Parameter(torch.zeros(symbols))
        self.out = None
        self.gain = 1.0
        if settings.tied == "none":
            self.out = nn.Parameter(torch.empty(symbols, self.features))
            nn.init.uniform_(self.out, -(self.features**-0.5), self.features**-0.5)
        else:
            # A table that gives both inputs of variance 1 and scores of variance 1.
            self.gain = self.embed.size**0.5
            if embed is None:
                self.embed.spread(1 / self.gain)

    @property
    def table(self) -> Tensor:
        """The softmax's matrix, (V, F): its own, or the embedding's (language tags left out)."""
        return self.embed.weight[: self.symbols] if self.out is None else self.out

    def scores(self, features: Tensor) -> Tensor:
        """Of every symbol, before the softmax."""
        return full(nn.functional.linear(features, self.table, self.bias))

    def start(self, state: Any, like: Tensor) -> Live:
        """From the layers' start state; nothing has been fed yet."""
        return state, like.new_zeros(len(like), self.fed) if self.fed else None

    def forward(
        self, inputs: Tensor, state: Any, memory: Memory | None = None, forcing: float = 1.0
    ) -> tuple[Tensor, Tensor | None]:
        """Features (T, B, F) for inputs (T, B): START y_1 .. y_n; and the weights (B, T, S).

        Below a `forcing` of 1 each input is the right symbol with that probability, else the
        one that the decoder itself found likeliest.
        """
        if self.inside or self.fed or forcing < 1:
            return self.by_steps(inputs, state, memory, forcing)
        ys, _ = run(self.layers, self.input_dropout(self.embed(inputs) * self.gain), state)
        ys = self.dropout(ys)
        if memory is None or self.attention is None:
            return self.dropout(self.combine(ys).tanh()), None
        context, weights = self.attention(ys.transpose(0, 1), memory)
        both = torch.cat((context.transpose(0, 1), ys), -1)
        return self.dropout(self.combine(both).tanh()), weights

    def by_steps(
        self, inputs: Tensor, state: Any, memory: Memory | None, forcing: float
    ) -> tuple[Tensor, Tensor | None]:
        """Step by step: the next input depends on what came of the last."""
        xs = self.input_dropout(self.embed(inputs) * self.gain)
        walk = self.layers.walker(half_backend(self.layers, xs))
        live = self.start(state, xs[0])
        features: list[Tensor] = []
        weights: list[Tensor] = []
        for t, x in enumerate(xs):
            if t and forcing < 1:
                scores = self.scores(features[-1].detach())
                scores[:, NEVER] = -torch.inf
                own = scores.argmax(-1)
                forced = torch.rand(len(own), device=own.device) < forcing
                token = torch.where(forced, inputs[t], own)
                x = self.input_dropout(self.embed(token) * self.gain)
            found, weight, live = self.one(x, live, memory, walk)
            features.append(found)
            weights += [] if weight is None else [weight]
        return torch.stack(features), torch.cat(weights, 1) if weights else None

    def one(
        self,
        x: Tensor,
        live: Live,
        memory: Memory | None,
        walk: Callable[..., tuple[Tensor, Any]],
    ) -> tuple[Tensor, Tensor | None, Live]:
        """One step of embedded symbols (B * K, E), K beams of each of the memory's sentences."""
        state, fed = live
        context = weights = None
        if self.inside and memory is not None:
            context, weights = self.attend(state[-1][0][0], memory)
            x = torch.cat((x, context), -1)
        elif fed is not None:
            x = torch.cat((x, fed), -1)
        y, state = walk(x, state)
        y = self.dropout(y)
        if memory is not None and not self.inside:
            context, weights = self.attend(y, memory)
        found = self.combine(y if context is None else torch.cat((context, y), -1)).tanh()
        found = self.dropout(found)
        return found, weights, (state, found if self.fed else None)

    def attend(self, queries: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Queries (B * K, D) of K beams read the memory of their sentence."""
        assert self.attention is not None
        B = len(memory.mask)
        context, weights = self.attention(queries.view(B, -1, queries.shape[-1]), memory)
        return context.flatten(0, 1), weights

    def stepper(self) -> Step:
        """The step of decoding: `live` is `start`'s, `fixed` the memory. For evaluation."""
        step = self.layers.stepper()

        @torch.no_grad()
        def take(tokens: Tensor, state: State) -> tuple[Tensor, State]:
            live, memory = state
            found, _, live = self.one(self.embed(tokens) * self.gain, live, memory, step)
            log_probs = self.scores(found).log_softmax(-1)
            log_probs[:, NEVER] = -torch.inf
            return log_probs, (live, memory)

        return take


@contextmanager
def _mended(memory_size: int) -> Iterator[None]:
    """A complaint about sizes, in the words of the settings."""
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"{error}\nHere: model.project=true, or a model.decoder_hidden of {memory_size}, which "
            "is what the encoder gives (half of it with model.bidirectional=false); with several "
            "heads a model.attention_size that they can share"
        ) from None
