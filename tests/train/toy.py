"""Small things to train in tests."""

from pathlib import Path

from unspool.train.runs import make_config
from unspool.train.tasks import Config

LINES = ["red apple\tfruit", "green pear\tfruit", "old bus\tcar", "fast train\tcar"]


def labelled(folder: Path) -> Path:
    """Forty examples of two classes."""
    path = folder / "toy.tsv"
    rows = [f"{k} {line}" for k in range(10) for line in LINES]
    path.write_text("\n".join(rows) + "\n")
    return path


def classify(folder: Path, **train: object) -> Config:
    """A classifier with everything that draws random numbers, trained in a second."""
    return make_config(
        "classify",
        {
            "data": {"train": str(labelled(folder))},
            "model": {"cell": "gru", "hidden": 6, "embedding": 5, "recurrent_dropout": 0.2},
            "train": {"epochs": 3, "batch": 40, "log_every": 2, **train},
        },
    )


def language(folder: Path, **train: object) -> Config:
    """A language model whose state is carried."""
    path = folder / "toy.txt"
    path.write_text("".join(f"{k} green bottles on the wall\n" for k in range(60)))
    return make_config(
        "lm",
        {
            "data": {"train": str(path), "steps": 20},
            "model": {"cell": "elman", "hidden": 8, "layers": 1, "embedding": 4},
            "train": {"epochs": 3, "batch": 160, "log_every": 2, **train},
        },
    )
