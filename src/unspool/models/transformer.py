"""A Transformer that translates, to compare recurrent translators with (Vaswani et al. 2017).

    x_t = sqrt(size) E[w_t] + p_t,   p_t[2i] = sin(t / 10000^(2i / size)), p_t[2i + 1] = cos(same)
    x  <- x + attention(norm(x)),    x <- x + W_2 relu(W_1 norm(x))       in each layer
    p(y_t | y_1 .. y_(t-1), source) = softmax(W norm(x_t) + b)

Layers are torch's own, with the norm before each part. Positions are waves, not a table, so any
length can be read.
"""

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention

from unspool.decode import State, Step
from unspool.engine.masks import check_probability
from unspool.layers.drop import Drop
from unspool.layers.embedding import Embedding
from unspool.models.stack import full
from unspool.text import NEVER

Kept = tuple[Tensor, Tensor]  # keys and values of one layer, (rows, heads, steps, D) each


class Encoded(NamedTuple):
    """What was read, by sentence: vectors (B, S, H), and True where a symbol stands (B, S)."""

    memory: Tensor
    mask: Tensor


class Source(NamedTuple):
    """What a step reads, by sentence: keys and values for each layer, and the mask (B, S)."""

    layers: tuple[Kept, ...]
    mask: Tensor


class Transformer(nn.Module):
    """Layers that read a source, and layers that say a target one symbol after another.

    `tied="output"`: the softmax reads the target's table. `tied="all"`: that table is the source's
    too; the source may then have more symbols, which come after the target's.
    """

    def __init__(
        self,
        *,
        source_symbols: int,
        target_symbols: int,
        size: int,
        layers: int,
        heads: int,
        dropout: float,
        tied: Literal["none", "output", "all"],
    ):
        super().__init__()
        _check(size, layers, heads)
        _check_tied(tied, source_symbols, target_symbols)
        check_probability("dropout", dropout)
        self.size, self.target_symbols = size, target_symbols
        self.source = _table(source_symbols, size)
        self.target = None if tied == "all" else _table(target_symbols, size)
        self.out = nn.Linear(size, target_symbols) if tied == "none" else None
        self.bias = None if tied == "none" else nn.Parameter(torch.zeros(target_symbols))
        self.dropout = Drop(dropout)
        sizes = {"d_model": size, "nhead": heads, "dim_feedforward": 4 * size, "dropout": dropout}
        shared: dict[str, Any] = {**sizes, "batch_first": True, "norm_first": True}
        # Made one by one: nn.TransformerEncoder copies one layer, so that all would start alike.
        self.reading = nn.ModuleList(nn.TransformerEncoderLayer(**shared) for _ in range(layers))
        self.saying = nn.ModuleList(nn.TransformerDecoderLayer(**shared) for _ in range(layers))
        self.read_norm, self.said_norm = nn.LayerNorm(size), nn.LayerNorm(size)

    def encode(self, ids: Tensor, lengths: Tensor) -> Encoded:
        """Of a source (S, B), each row of its length (B,), 1 or more."""
        if lengths.shape != ids.shape[1:]:
            raise ValueError(
                f"ids have shape {tuple(ids.shape)} and lengths {tuple(lengths.shape)}; "
                "expected (S, B) and (B,)"
            )
        mask = torch.arange(len(ids), device=ids.device) < lengths.to(ids.device)[:, None]
        xs = self.dropout(self._placed(self.source, ids.t()))
        for layer in self.reading:
            xs = layer(xs, src_key_padding_mask=~mask)
        return Encoded(self.read_norm(xs), mask)

    def features(self, encoded: Encoded, inputs: Tensor, forcing: float = 1.0) -> Tensor:
        """What the softmax reads at each of START y_1 .. y_n (T, B), (T, B, size)."""
        if forcing < 1:
            raise ValueError("a Transformer reads all steps at once: it is always forced")
        return self.said_norm(self._through(self.saying, encoded, inputs)).transpose(0, 1)

    def scores(self, features: Tensor) -> Tensor:
        """Of every symbol, before the softmax."""
        if self.out is not None:
            return full(self.out(features))
        table = (self.target or self.source).weight[: self.target_symbols]
        return full(linear(features, table, self.bias))

    def alignment(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """What the last layer weighed each source symbol with, the mean of its heads, (B, T, S)."""
        last: Any = self.saying[-1]
        ys = self._through(self.saying[:-1], encoded, inputs)
        own = last.norm1(ys)
        ys = ys + last.self_attn(own, own, own, attn_mask=_causal(ys), need_weights=False)[0]
        memory, mask = encoded
        return last.multihead_attn(last.norm2(ys), memory, memory, key_padding_mask=~mask)[1]

    def begin(self, encoded: Encoded) -> State:
        """Before START: nothing said, and the source's keys and values, made once."""
        memory, layers = encoded.memory, list[Any](self.saying)
        source: Any = tuple(_project(layer.multihead_attn, memory, 1, 3) for layer in layers)
        said = tuple((keys[:, :, :0], values[:, :, :0]) for keys, values in source)
        return said, Source(source, encoded.mask)

    def stepper(self) -> Step:
        """`step(tokens, state)`: each symbol is computed once, because its keys and values stay.

        Torch's layers always compute every symbol anew, so a step runs their parts one by one.
        Dropout is left out. A state's live part has a row for each hypothesis; its fixed part
        has one for each sentence, whose hypotheses read it together.
        """
        return self._step

    def _step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        said, (source, mask) = state
        ys = self._placed(self.target or self.source, tokens[:, None], said[0][0].shape[2])
        grown = []
        for layer, own, other in zip(self.saying, said, source, strict=True):
            ys, kept = _say(layer, ys, own, other, mask)
            grown.append(kept)
        log_probs = self.scores(self.said_norm(ys[:, 0])).log_softmax(-1)
        log_probs[:, NEVER] = -torch.inf
        return log_probs, (tuple(grown), state[1])

    def _through(self, layers: nn.ModuleList, encoded: Encoded, inputs: Tensor) -> Tensor:
        """What these layers make of the inputs (T, B), each step seeing those before it."""
        memory, mask = encoded
        if inputs.ndim != 2 or inputs.shape[1] != len(memory):
            raise ValueError(
                f"inputs have shape {tuple(inputs.shape)}; expected (T, {len(memory)}), "
                "a column for each sentence that was encoded"
            )
        ys = self.dropout(self._placed(self.target or self.source, inputs.t()))
        causal = {"tgt_mask": _causal(ys), "tgt_is_causal": True}
        for layer in layers:
            ys = layer(ys, memory, memory_key_padding_mask=~mask, **causal)
        return ys

    def _placed(self, table: Embedding, ids: Tensor, first: int = 0) -> Tensor:
        """The vectors of symbols (B, T) in their places, of which the first is `first`."""
        xs = table(ids) * self.size**0.5
        steps = torch.arange(first, first + ids.shape[1], device=ids.device)
        # Half precision has no room for the angles of late steps.
        return xs + waves(steps, self.size, torch.promote_types(xs.dtype, torch.float32)).to(xs)


def waves(steps: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """p_t for these steps, (T, size): sines and cosines of falling frequency, in turn."""
    even = torch.arange(0, size, 2, device=steps.device, dtype=dtype)
    angles = steps[:, None] * 10000 ** (-even / size)
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)[:, :size]


def _say(layer: Any, ys: Tensor, said: Kept, source: Kept, mask: Tensor) -> tuple[Tensor, Kept]:
    """One layer, one step: ys (rows, 1, H) in and out, and the keys and values with its own."""
    query, key, value = _project(layer.self_attn, layer.norm1(ys), 0, 3)
    kept = torch.cat((said[0], key), 2), torch.cat((said[1], value), 2)
    ys = ys + _read(layer.self_attn, query, kept, None)
    # A sentence's hypotheses are queries side by side: the source is not copied for each.
    beside = layer.norm2(ys).unflatten(0, (len(mask), -1)).squeeze(2)
    (query,) = _project(layer.multihead_attn, beside, 0, 1)
    ys = ys + _read(layer.multihead_attn, query, source, mask[:, None, None]).view_as(ys)
    return ys + layer.linear2(layer.activation(layer.linear1(layer.norm3(ys)))), kept


def _project(
    attention: nn.MultiheadAttention, xs: Tensor, first: int, last: int
) -> tuple[Tensor, ...]:
    """Those from `first` to before `last` of query, key and value, (rows, heads, steps, D) each."""
    part = slice(first * attention.embed_dim, last * attention.embed_dim)
    made = linear(xs, attention.in_proj_weight[part], attention.in_proj_bias[part])
    heads = made.unflatten(-1, (last - first, attention.num_heads, -1)).permute(2, 0, 3, 1, 4)
    return heads.unbind()


def _read(
    attention: nn.MultiheadAttention, queries: Tensor, kept: Kept, mask: Tensor | None
) -> Tensor:
    context = scaled_dot_product_attention(queries, *kept, attn_mask=mask)
    return attention.out_proj(context.transpose(1, 2).flatten(2))


def _causal(ys: Tensor) -> Tensor:
    """True where a step of ys (B, T, H) may not look: at later ones."""
    T = ys.shape[1]
    return torch.ones(T, T, dtype=torch.bool, device=ys.device).triu(1)


def _table(symbols: int, size: int) -> Embedding:
    """Entries of variance 1 / size: times sqrt(size) good inputs, as they are good weights."""
    table = Embedding(symbols, size)
    table.weight.data.mul_(size**-0.5)
    return table


def _check(size: int, layers: int, heads: int) -> None:
    if min(size, layers, heads) < 1 or size % heads:
        raise ValueError(
            f"size, layers and heads are at least 1, and size a multiple of heads; not {size}, "
            f"{layers} and {heads}"
        )


def _check_tied(tied: str, source_symbols: int, target_symbols: int) -> None:
    if tied not in ("none", "output", "all"):
        raise ValueError(f"tied is 'none', 'output' or 'all', not {tied!r}")
    if tied == "all" and target_symbols > source_symbols:
        raise ValueError(
            f"with tied='all' the target's symbols are the first ones of the source; there are "
            f"{target_symbols} and {source_symbols}: learn one vocabulary, or use tied='output'"
        )
