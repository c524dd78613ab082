"""The recurrent layers inside a model, from settings of plain values."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

import torch
from torch import Tensor

from unspool.cells.cell import Cell
from unspool.cells.find import find_cell, lasting_name
from unspool.engine import c_build
from unspool.engine.masks import chance, check_probability
from unspool.layers import Dropout, Recurrent
from unspool.layers.embedding import Embedding
from unspool.text import UNK, Vocabulary, read_vectors

LAYERS = 1000  # at most: far beyond what trains, and few enough to be built at once


@dataclass(frozen=True)
class Stack:
    """Settings that every model has: its cell, its layers, its dropout."""

    cell: Annotated[str, "A cell's name, a file with equations, or the equations."] = "lstm"
    hidden: Annotated[int, "Units in each layer and direction."] = 128
    layers: Annotated[int, "Layers on top of each other."] = 1
    skip: Annotated[
        Literal["none", "residual", "dense"], "Connections around layers, for deep stacks."
    ] = "none"
    sizes: Annotated[
        dict[str, int], "Sizes that the equations declare: --set model.sizes.proj=64."
    ] = field(default_factory=dict)
    embedding: Annotated[int, "Features of a symbol's vector; 0 is one-hot."] = 64
    vectors: Annotated[str, "Pretrained vectors (word2vec or GloVe text); theirs is the size."] = ""
    freeze: Annotated[bool, "Keep the pretrained vectors as they are."] = False
    dropout: Annotated[float, "Of what the layers give."] = 0.3
    input_dropout: Annotated[float, "Of what goes into the first layer."] = 0.1
    recurrent_dropout: Annotated[float, "Of the state in recurrent products."] = 0.0
    weight_dropout: Annotated[float, "Of the recurrent matrices' entries."] = 0.0
    zoneout: Annotated[float, "Units that keep their old state."] = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "cell", lasting_name(self.cell))
        for name in ("hidden", "layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"model.{name} is at least 1, not {getattr(self, name)}")
        if self.layers > LAYERS:
            raise ValueError(f"model.layers is at most {LAYERS:,}, not {self.layers:,}")
        if self.embedding < 0:
            raise ValueError(f"model.embedding is 0 (one-hot) or more, not {self.embedding}")
        if self.freeze and not self.vectors:
            raise ValueError("model.freeze is for pretrained vectors: give model.vectors too")
        for name in ("dropout", "input_dropout"):
            check_probability(f"model.{name}", getattr(self, name))
        self.kinds()

    def kinds(self) -> Dropout:
        return Dropout(
            between=self.dropout if self.layers > 1 else 0.0,
            recurrent=self.recurrent_dropout,
            weights=self.weight_dropout,
            zoneout=self.zoneout,
        )

    def embed(self, vocabulary: Vocabulary) -> Embedding:
        return Embedding(len(vocabulary), self.embedding, frozen=self.freeze)

    def build(self, input_size: int, bidirectional: bool) -> Recurrent:
        with sizes_named(input_size):
            return Recurrent(
                find_cell(self.cell),
                input_size,
                self.hidden,
                self.layers,
                bidirectional=bidirectional,
                skip=None if self.skip == "none" else self.skip,
                dropout=self.kinds(),
                **dict[str, Any](self.sizes),
            )


@contextmanager
def sizes_named(input_size: int) -> Iterator[None]:
    """A cell's complaint about its sizes, in the words of the settings."""
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"{error}\nHere the input has {input_size} features, the hidden size is a setting, and "
            "so are the others that the cell declares: --set model.sizes.proj=64"
        ) from None


S = TypeVar("S", bound=Stack)


def with_vectors(settings: S, vocabulary: Vocabulary) -> tuple[S, Tensor | None]:
    """The settings with the size that the file of vectors has, and its table."""
    if not settings.vectors:
        return settings, None
    table, found = read_vectors(settings.vectors, vocabulary)
    if not found:
        raise ValueError(f"{settings.vectors}: none of the data's words has a vector there")
    return replace(settings, embedding=table.shape[1]), table


def run(
    layers: Recurrent,
    xs: Tensor,
    state: Any = None,
    *,
    lengths: Tensor | Sequence[int] | None = None,
) -> tuple[Tensor, Any]:
    """`layers(xs)`, with the kernels for bfloat16 where autocast asks for it and they are there."""
    return layers(xs, state, lengths=lengths, backend=half_backend(layers, xs))


def half_backend(layers: Recurrent, xs: Tensor) -> str:
    """The kernels to ask for: "auto", or those for bfloat16."""
    half = xs.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    first: Any = layers.layers[0]
    half = half and isinstance(first.cells[0], Cell) and c_build.multiplies_halves()
    return "bf16" if half else "auto"


def full(values: Tensor) -> Tensor:
    """At least float32: a softmax over bfloat16 would lose most of its digits."""
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values


def ends(ys: Tensor, lengths: Tensor, bidirectional: bool) -> Tensor:
    """Where reading ends: each row's last output, and the first of the other direction, (B, O)."""
    last = ys.gather(0, (lengths - 1).clamp(min=0).view(1, -1, 1).expand(1, -1, ys.shape[2]))[0]
    if not bidirectional:
        return last
    half = ys.shape[2] // 2
    return torch.cat((last[:, :half], ys[0, :, half:]), -1)


def forget(ids: Tensor, p: float, symbols: int | None = None) -> Tensor:
    """Each symbol becomes an unknown one with probability p; not padding, START and END, and
    nothing from `symbols` on, where language tags stand."""
    drop = chance(tuple(ids.shape), p, ids) & (ids > UNK)
    drop = drop if symbols is None else drop & (ids < symbols)
    return ids.masked_fill(drop, UNK)


def pad(rows: Sequence[Sequence[int]], value: int = 0) -> tuple[Tensor, Tensor]:
    """Rows of ids as (T, B), and their lengths (B,)."""
    lengths = torch.tensor([len(row) for row in rows])
    width = int(lengths.max()) if len(rows) else 0
    ids = torch.full((len(rows), width), value)
    for row, target in zip(rows, ids, strict=True):
        target[: len(row)] = torch.tensor(row)
    return ids.t().contiguous(), lengths
