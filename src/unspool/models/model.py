"""What every model is: a module that knows its text, its loss and how to be saved."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

S = TypeVar("S")


@dataclass(frozen=True)
class Loss:
    """The loss of a batch, added up, and over how many tokens or examples.

    `carried` is the state that the next batch goes on from, where there is one.
    """

    total: Tensor
    count: int
    carried: Any = None

    @property
    def mean(self) -> Tensor:
        return self.total / max(self.count, 1)


class Batch(Protocol):
    """Rows that are trained on together."""

    @property
    def size(self) -> tuple[int, int]:
        """Steps and rows, padding counted."""
        ...

    def to(self, device: Any) -> "Batch": ...


class Model(nn.Module, ABC):
    """A module with what it needs to read text and to be rebuilt.

    `settings` is a dataclass of plain values; `assets()` is what was learned from the data before
    training (vocabularies, labels), as JSON. The two give the same module again, and a
    `state_dict` its weights.
    """

    settings: Any

    @abstractmethod
    def loss(self, batch: Any, carried: Any = None) -> Loss:
        """Of a batch, going on from what the batch before it carried."""

    @abstractmethod
    def assets(self) -> dict[str, Any]:
        """What was learned from the data before training, as JSON, by name."""

    @classmethod
    @abstractmethod
    def build(cls, settings: Any, assets: dict[str, Any]) -> Self:
        """The same module again, with weights as at the start."""

    def extras(self) -> dict[str, Any]:
        """Other things to keep, by name: nests of plain values and tensors."""
        return {}

    def take_extras(self, extras: dict[str, Any]) -> None:
        pass

    def proceed(self, done: float) -> None:
        """Training has come so far, from 0 to 1; `fit` says so before each step."""
        return

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Without dropout and without gradients; afterwards as before."""
        training = self.training
        self.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            self.train(training)

    @property
    def device(self) -> Any:
        return next(self.parameters()).device


def settings_from(kind: type[S], plain: Any) -> S:
    """Settings that stand inside an asset; each value is of the type of its default."""
    defaults = vars(kind())
    for name, value in dict(plain).items():
        if name not in defaults:
            raise ValueError(f"there is no setting {name[:80]!r}")
        wanted = type(defaults[name])
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise ValueError(f"{name} is of the type {wanted.__name__}, and here it is not")
    return kind(**plain)


def texts_in(assets: dict[str, Any], name: str) -> list[str]:
    """The different texts of an asset; assets may come from somebody else, and be anything."""
    value = assets[name]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{name} is a list of texts, and here it is something else")
    if any(0xD800 <= ord(letter) < 0xE000 for text in value for letter in text):
        raise ValueError(f"{name} has half of a surrogate pair, which is no character")
    if len(set(value)) < len(value):
        raise ValueError(f"{name} has a text twice")
    return value


def number_in(value: Any, name: str) -> float:
    """A finite number of an asset."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise ValueError(f"{name} is a number, and here it is something else")
    return value
