"""What a task is: all that differs between training a classifier, a tagger, a language model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from unspool.data.batches import Bucketed
from unspool.data.files import MAX_LINE
from unspool.models.model import Model
from unspool.train.fit import Data
from unspool.train.settings import Training


@dataclass(frozen=True)
class DataSettings:
    """Settings of the data that every task has."""

    train: str = ""
    dev: str = ""
    max_line: Annotated[int, "Characters of the longest line that is read; 0: any."] = MAX_LINE
    max_length: Annotated[int, "Symbols of the longest example; 0: any that fits in memory."] = 0
    too_long: Annotated[
        Literal["refuse", "cut", "drop"], "What becomes of examples beyond max-length."
    ] = "refuse"

    def __post_init__(self) -> None:
        for name in ("max_line", "max_length"):
            if getattr(self, name) < 0:
                raise ValueError(f"data.{name} is 0 (any) or more, not {getattr(self, name)}")
        if self.too_long != "refuse" and not self.max_length:
            raise ValueError(f"--too-long {self.too_long} needs --max-length: longer than what?")


@dataclass(frozen=True)
class Config:
    """Everything that a run is made from, as `config.yaml` has it."""

    task: str
    data: Any
    model: Any
    train: Training


@dataclass(frozen=True)
class Given:
    """Examples that no file can be written back to."""

    examples: list[Any]
    format: str


class Task(ABC):
    """One task: its settings (`data` and `model` are dataclasses), its kind of model, its steps."""

    name: ClassVar[str]
    data: ClassVar[type]
    model: ClassVar[type]
    kind: ClassVar[type[Model]]

    @abstractmethod
    def training(self) -> Training:
        """The defaults that suit the task."""

    @abstractmethod
    def read(self, path: str, config: Config, answers: bool = True, beside: str = "") -> Any:
        """The examples of a file, as an object with `.examples`; without answers if asked.

        `beside` is a second file with the answers, where a task has such.
        """

    @abstractmethod
    def held_out(self, examples: Any, config: Config) -> tuple[list[Any], list[Any]]:
        """Examples to train on and examples to measure by, where no dev file is given."""

    @abstractmethod
    def learn(self, config: Config, examples: Any) -> Model:
        """A model for these examples, not yet trained."""

    def adapt(self, model: Any, examples: Any) -> None:
        """What a trained model must learn of new examples before it trains on them."""
        return

    def check(self, train: Any, dev: Any) -> None:
        """Refuses dev data that do not go with the training data."""
        return

    def batches(self, model: Any, examples: Any, config: Config) -> Data:
        """By a budget of tokens; a stream has others."""
        lengths = [model.length(example) for example in examples]
        train = config.train
        return Bucketed(examples, lengths, model.collate, tokens=train.batch, seed=train.seed)

    @abstractmethod
    def length(self, model: Any, example: Any) -> int:
        """The symbols of an example, by which it may be too long."""

    mends: ClassVar[Sequence[str]] = ("--too-long cut", "--too-long drop")  # of long examples

    def cut(self, model: Any, example: Any, symbols: int) -> Any:
        """The example with its first `symbols` symbols alone."""
        return replace(example, text=model.codec.beginning(example.text, symbols))

    def batch(self, model: Any, examples: Sequence[Any]) -> Any:
        """The batch of these examples."""
        return model.collate(examples)

    @abstractmethod
    def measure(self, model: Any, examples: Any, data: Any = None) -> dict[str, float]:
        """Scores; the first decides which weights are the best. `data` are settings, if any."""

    def baseline(self, model: Any, examples: Any) -> dict[str, float]:
        """Scores of something simple on the same examples, to stand beside the model's."""
        return {}

    def details(self, model: Any, examples: Any) -> str:
        """What `evaluate` prints below the scores."""
        return ""

    def evaluate(
        self, model: Any, examples: Any, data: Any, **how: Any
    ) -> tuple[dict[str, float], str]:
        """What `evaluate` prints: scores, and what stands below them."""
        if how:
            raise ValueError(f"--{min(how)} means nothing for the task {self.name}")
        scores = self.measure(model, examples, data) | self.baseline(model, examples)
        return scores, self.details(model, examples)

    @abstractmethod
    def predict(self, model: Any, examples: Any) -> tuple[list[Any], list[Any]]:
        """An answer for each example, and its scores."""
