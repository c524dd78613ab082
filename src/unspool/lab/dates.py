"""The date translator: dates as thirty languages write them, to ISO 8601, in about a minute."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unspool.data.dates import dates
from unspool.data.pairs import Pair
from unspool.models.search import Search, translate
from unspool.models.translator import Translator
from unspool.train.log import Reporter
from unspool.train.runs import run

SETTINGS: dict[str, Any] = {
    "units": "characters", "cell": "gru", "hidden": 128, "embedding": 64,
    "dropout": 0.1, "smoothing": 0.0, "measure": "exact",
    "epochs": 3, "lr": 3e-3, "warmup": 100, "log_every": 10,
}  # fmt: skip
TYPED = (
    "16 November 2026", "Montag, 3. Juli 1950", "mercredi 12 août 2015", "29 de febrero de 2048",
    "1969年7月20日", "٢٤ أكتوبر ١٩٤٥", "11 listopada 1918", "Saturday, February 29, 2076",
)  # fmt: skip


@dataclass(frozen=True)
class DateRun:
    """The trained model, and the share of unseen dates that it gets wholly right."""

    model: Translator
    exact: float
    tested: int


def learn_dates(out: Path, *, report: Reporter | None = None, **settings: Any) -> DateRun:
    """Trains the translator, tests it on dates that no training example had."""
    fitted = run("translate", "builtin:dates", out=out, report=report, **(SETTINGS | settings))
    model: Translator = fitted.model
    unseen = dates(1000, seed=1, part="test")
    said = translate(model, unseen, Search(width=1))
    right = sum(found.text == pair.target for found, pair in zip(said, unseen, strict=True))
    return DateRun(model, right / len(unseen), len(unseen))


def answered(model: Translator, text: str) -> Pair:
    """A date with what the model makes of it."""
    (found,) = translate(model, [text])
    return Pair(text, found.text, None, "")
