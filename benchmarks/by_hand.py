"""Sequence to sequence written by hand with torch.nn: the peer of our translator.

The model is ours: a bidirectional encoder, a learned bridge, a decoder with attention,

    s_t = LSTM(e_t, s_(t-1)),  w_t = softmax_j s_t . W m_j,  c_t = sum_j w_tj m_j
    f_t = tanh(W_c [c_t; s_t]),  p_t = softmax(V f_t + b)

in three ways of writing it:

    HandSeq2Seq(sizes)                well: all steps of the target at once, then the attention
    HandSeq2Seq(sizes, loop=True)     as tutorials do: step by step, with the softmax in the loop
    HandSeq2Seq(sizes, inside=True)   the additive attention before the cell, [e_t; c_t] into it:
                                      w_t = softmax_j v . tanh(W_q s_(t-1) + W_k m_j); a loop too
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unspool.text import END, NEVER, PAD, START

State = tuple[Tensor, Tensor]  # h and c, each (layers, B, D)


@dataclass(frozen=True)
class Sizes:
    """What the model is made of; `hidden` is a direction's, and `tied` is one table for all."""

    symbols: int
    embedding: int = 256
    hidden: int = 256
    decoder_hidden: int = 256
    layers: int = 1
    tied: bool = False
    dropout: float = 0.3
    input_dropout: float = 0.1
    smoothing: float = 0.1

    @property
    def features(self) -> int:
        """What the softmax reads."""
        return self.embedding if self.tied else self.decoder_hidden

    @property
    def between(self) -> float:
        """nn.LSTM warns of dropout between layers where there is one layer."""
        return self.dropout if self.layers > 1 else 0.0


class Memory(NamedTuple):
    """What the decoder looks at: keys (B, S, D), values (B, S, 2H), padding (B, 1, S)."""

    keys: Tensor
    values: Tensor
    padding: Tensor


class HandSeq2Seq(nn.Module):
    """`loss` to train it, `beam` to translate with it; sequences are (time, batch) everywhere."""

    def __init__(self, sizes: Sizes, *, loop: bool = False, inside: bool = False):
        super().__init__()
        self.sizes, self.loop, self.inside = sizes, loop or inside, inside
        E, H, D, L = sizes.embedding, sizes.hidden, sizes.decoder_hidden, sizes.layers
        self.source_table = nn.Embedding(sizes.symbols, E, padding_idx=PAD)
        self.target_table = nn.Embedding(sizes.symbols, E, padding_idx=PAD)
        self.encoder = nn.LSTM(E, H, L, bidirectional=True, dropout=sizes.between)
        self.bridge = nn.ModuleList(nn.Linear(4 * H, 2 * D) for _ in range(L))
        if inside:
            inputs = [E + 2 * H] + [D] * (L - 1)
            self.cells = nn.ModuleList(nn.LSTMCell(size, D) for size in inputs)
            self.query = nn.Linear(D, D, bias=False)
            self.score = nn.Linear(D, 1, bias=False)
        else:
            self.decoder = nn.LSTM(E, D, L, dropout=sizes.between)
        self.key = nn.Linear(2 * H, D, bias=False)
        self.combine = nn.Linear(2 * H + D, sizes.features)
        self.out = nn.Linear(sizes.features, sizes.symbols)
        self.gain = 1.0
        if sizes.tied:
            self.gain = E**0.5  # inputs of variance 1 from a table that the softmax reads too
            nn.init.normal_(self.source_table.weight, std=1 / self.gain)
            self.target_table.weight = self.out.weight = self.source_table.weight
        self.dropout = nn.Dropout(sizes.dropout)
        self.input_dropout = nn.Dropout(sizes.input_dropout)

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[State, Memory]:
        """What is read of (S, B): the decoder's start, and its memory."""
        xs = self.input_dropout(self.source_table(source) * self.gain)
        rows = pack_padded_sequence(xs, lengths.cpu(), enforce_sorted=False)
        ys, (h, c) = self.encoder(rows)
        ys, _ = pad_packed_sequence(ys, total_length=len(source))
        values = self.dropout(ys).transpose(0, 1).contiguous()
        steps = torch.arange(len(source), device=source.device)
        padding = (steps >= lengths.to(source.device)[:, None])[:, None]
        return self.start(h, c), Memory(self.key(values), values, padding)

    def start(self, h: Tensor, c: Tensor) -> State:
        """s_0 = tanh(W [h; c] + b), of both directions, layer by layer."""
        ends = torch.cat((h, c), -1).unflatten(0, (-1, 2))  # (layers, 2, B, 2H)
        found = [
            to(end.transpose(0, 1).flatten(1)) for to, end in zip(self.bridge, ends, strict=True)
        ]
        first, second = torch.stack(found).tanh().chunk(2, -1)
        return first.contiguous(), second.contiguous()

    def attend(self, queries: Tensor, memory: Memory) -> Tensor:
        """Contexts (B, Q, 2H) of queries (B, Q, D), as batched products."""
        if self.inside:
            both = self.query(queries)[:, :, None] + memory.keys[:, None]
            scores = self.score(both.tanh()).squeeze(-1)
        else:
            scores = torch.bmm(queries, memory.keys.transpose(1, 2))
        weights = scores.masked_fill(memory.padding, -torch.inf).softmax(-1)
        return torch.bmm(weights, memory.values)

    def features(self, contexts: Tensor, ys: Tensor) -> Tensor:
        return self.dropout(self.combine(torch.cat((contexts, ys), -1)).tanh())

    def step(self, x: Tensor, state: State, memory: Memory) -> tuple[Tensor, State]:
        """Features (R, F) of one step from embedded symbols (R, E)."""
        if self.inside:
            context = self.attend(state[0][-1][:, None], memory)[:, 0]
            y, state = self.through_cells(torch.cat((x, context), -1), state)
            y = self.dropout(y)
        else:
            ys, state = self.decoder(x[None], state)
            y = self.dropout(ys[0])
            context = self.attend(y[:, None], memory)[:, 0]
        return self.features(context, y), state

    def through_cells(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        hs, cs = [], []
        for k, cell in enumerate(self.cells):
            h, c = cell(self.dropout(x) if k else x, (state[0][k], state[1][k]))
            hs.append(h)
            cs.append(c)
            x = h
        return x, (torch.stack(hs), torch.stack(cs))

    def loss(
        self, source: Tensor, lengths: Tensor, target_in: Tensor, target_out: Tensor
    ) -> Tensor:
        """Smoothed cross entropy of a symbol: START y_1 .. y_n in, y_1 .. y_n END out, (T, B)."""
        state, memory = self.encode(source, lengths)
        xs = self.input_dropout(self.target_table(target_in) * self.gain)
        smoothing = self.sizes.smoothing if self.training else 0.0
        if self.loop:
            scores = []
            for x in xs:
                features, state = self.step(x, state, memory)
                scores.append(self.out(features))
            found, right = torch.stack(scores).flatten(0, 1), target_out.flatten()
            return cross_entropy(found, right, ignore_index=PAD, label_smoothing=smoothing)
        ys = self.dropout(self.decoder(xs, state)[0])
        contexts = self.attend(ys.transpose(0, 1), memory).transpose(0, 1)
        there = target_out != PAD  # the softmax is the largest product: none of it on padding
        found = self.out(self.features(contexts, ys)[there])
        return cross_entropy(found, target_out[there], label_smoothing=smoothing)

    @torch.no_grad()
    def beam(self, source: Tensor, lengths: Tensor, width: int, limit: int) -> list[list[int]]:
        """The best translation of each sentence by its mean log probability, END counted.

        All beams of all sentences are one batch of B * K rows. A finished hypothesis keeps its
        slot, and all is over when no slot is alive or after `limit` steps; a sentence with
        nothing finished by then gets its best hypothesis as it is.
        """
        B, device = source.shape[1], source.device
        state, memory = self.encode(source, lengths)
        state = _spread(state, width)
        memory = Memory(*(part.repeat_interleave(width, 0) for part in memory))
        slots = Slots(B, width, limit, device)
        tokens = torch.full((B * width,), START, device=device)
        for _ in range(limit):
            x = self.target_table(tokens) * self.gain
            features, state = self.step(x, state, memory)
            log_probs = self.out(features).log_softmax(-1)
            log_probs[:, NEVER] = -torch.inf
            rows, tokens = slots.go_on(log_probs)
            if not slots.alive():
                break
            state = (state[0][:, rows], state[1][:, rows])
        return slots.answers()


class Slots:
    """The K hypotheses of each of B sentences, and the best that has finished."""

    def __init__(self, B: int, width: int, limit: int, device: torch.device):
        self.totals = torch.full((B, width), -torch.inf, device=device)  # -inf is a dead slot
        self.totals[:, 0] = 0.0
        self.said = torch.zeros(B, width, 0, dtype=torch.long, device=device)
        self.best = torch.full((B,), -torch.inf, device=device)
        self.answer = torch.full((B, limit), END, device=device)
        self.room = torch.full((B, 1), width, device=device)
        self.ranks = torch.arange(width, device=device)
        self.sentences = torch.arange(B, device=device)

    def go_on(self, log_probs: Tensor) -> tuple[Tensor, Tensor]:
        """With log probabilities (B * K, V): the row that each slot goes on from, its symbol."""
        B, K = self.totals.shape
        V = log_probs.shape[-1]
        totals, places = (self.totals.view(-1, 1) + log_probs).view(B, K * V).topk(K)
        parents, symbols = places // V, places % V
        said = self.said.gather(1, parents[..., None].expand_as(self.said))
        self.said = torch.cat((said, symbols[..., None]), -1)
        taken = (self.ranks < self.room) & (totals > -torch.inf)
        ended = taken & (symbols == END)
        self.finish(totals.masked_fill(~ended, -torch.inf))
        self.room -= ended.sum(1, keepdim=True)
        self.totals = totals.masked_fill(~taken | ended, -torch.inf)
        return (self.sentences[:, None] * K + parents).flatten(), symbols.flatten()

    def finish(self, totals: Tensor) -> None:
        """Keep the best of those that have just ended, where it is better than what there is."""
        length = self.said.shape[-1]
        found, slot = (totals / length).max(1)
        better = (found > self.best)[:, None]
        mine = self.said[self.sentences, slot]
        self.answer[:, :length] = torch.where(better, mine, self.answer[:, :length])
        self.best = torch.maximum(found, self.best)

    def alive(self) -> bool:
        return bool((self.totals > -torch.inf).any())

    def answers(self) -> list[list[int]]:
        unfinished = self.totals.masked_fill((self.best > -torch.inf)[:, None], -torch.inf)
        self.finish(unfinished)
        rows = self.answer.tolist()
        return [row[: row.index(END)] if END in row else row for row in rows]


def _spread(state: State, width: int) -> State:
    return state[0].repeat_interleave(width, 1), state[1].repeat_interleave(width, 1)
