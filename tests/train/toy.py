"""Small things to train in tests."""

from dataclasses import replace
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


def translate(folder: Path, **train: object) -> Config:
    """A translator with attention and dropout."""
    words = ["eins", "zwei", "drei", "vier"]
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{a} {b}\t{b} {a}\n" for a in words for b in words))
    return make_config(
        "translate",
        {
            "data": {"train": str(path), "dev": str(path)},
            "model": {"cell": "gru", "units": "words", "hidden": 6, "embedding": 4},
            "train": {"epochs": 3, "batch": 40, "log_every": 2, **train},
        },
    )


def normalised(folder: Path, **train: object) -> Config:
    """A classifier with dropout of every kind and a cell that normalises its sums."""
    dropout = {"dropout": 0.2, "recurrent_dropout": 0.2, "zoneout": 0.1}
    return make_config(
        "classify",
        {
            "data": {"train": str(labelled(folder))},
            "model": {"cell": "layer_norm_lstm", "hidden": 6, "embedding": 5, **dropout},
            "train": {"epochs": 3, "batch": 40, "log_every": 2, **train},
        },
    )


def averaged(folder: Path, **train: object) -> Config:
    """A language model under averaged SGD."""
    config = language(folder, optimiser="asgd", lr=1.0, average_epochs=1, **train)
    return replace(config, model=replace(config.model, cell="gru"))


def crf(folder: Path, **train: object) -> Config:
    """A tagger with a CRF."""
    path = folder / "tags.txt"
    path.write_text("the D\ndog N\nbarks V\n\na D\ncat N\nsleeps V\n\n" * 8)
    return make_config(
        "tag",
        {
            "data": {"train": str(path), "dev": str(path)},
            "model": {"cell": "lstm", "hidden": 6, "embedding": 4, "crf": True},
            "train": {"epochs": 3, "batch": 20, "log_every": 2, **train},
        },
    )
