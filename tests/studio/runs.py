"""Small runs of every task, trained for a moment."""

from pathlib import Path
from typing import Any

import unspool as us

SOURCE = """\
def first(names):  # the first of them
    for name in names:
        if name == "the \\\\"one\\\\"":
            return [name, ("x", 'y')]
    return None  # none at all
"""
HOSTILE = "<img src=x onerror=alert(1)>"

SMALL: dict[str, Any] = {"hidden": 6, "embedding": 4, "epochs": 1, "log_every": 1}


def language(folder: Path, **settings: Any) -> Path:
    (folder / "source.txt").write_text(SOURCE * 30)
    (folder / "held.txt").write_text(SOURCE * 6)
    given: dict[str, Any] = {
        "cell": "lstm",
        "layers": 1,
        "dev": str(folder / "held.txt"),
        "batch": 500,
    }
    us.train.run("lm", folder / "source.txt", out=folder / "lm", **(SMALL | given | settings))
    return folder / "lm"


def translator(folder: Path, **settings: Any) -> Path:
    words = ["eins", "zwei", "drei", "vier", HOSTILE]
    lines = [f"{a} {b}\t{b} {a}" for a in words for b in words]
    (folder / "pairs.tsv").write_text("source\ttarget\n" + "\n".join(lines) + "\n")
    given = {
        "cell": "gru",
        "units": "words",
        "dev": str(folder / "pairs.tsv"),
        "epochs": 3,
        "batch": 60,
    }
    out = folder / "translator"
    us.train.run("translate", folder / "pairs.tsv", out=out, **(SMALL | given | settings))
    return out


def classifier(folder: Path, **settings: Any) -> Path:
    lines = [f"{word * n}\t{word}" for word in ("ab", "ba") for n in range(1, 12)]
    (folder / "words.tsv").write_text("text\tlabel\n" + "\n".join(lines) + "\n")
    given: dict[str, Any] = {"cell": "gru", "units": "characters"}
    out = folder / "classifier"
    us.train.run("classify", folder / "words.tsv", out=out, **(SMALL | given | settings))
    return out


def tagger(folder: Path, **settings: Any) -> Path:
    sentences = ["the\tD\ndog\tN\nbarks\tV\n", "a\tD\ncat\tN\nsleeps\tV\n"]
    (folder / "tags.tsv").write_text("\n".join(sentences * 8))
    given: dict[str, Any] = {"cell": "elman", "dev": str(folder / "tags.tsv")}
    out = folder / "tagger"
    us.train.run("tag", folder / "tags.tsv", out=out, **(SMALL | given | settings))
    return out


def classes(folder: Path, **settings: Any) -> Path:
    """A language model that is told what each line is."""
    lines = [f"{word * n}\t{word}" for word in ("ab", "ba") for n in range(1, 12)]
    (folder / "lines.tsv").write_text("text\tlabel\n" + "\n".join(lines) + "\n")
    given: dict[str, Any] = {"cell": "gru", "layers": 1, "lines": True, "classes": True}
    out = folder / "classes"
    us.train.run("lm", folder / "lines.tsv", out=out, **(SMALL | given | settings))
    return out


def tagged(folder: Path, **settings: Any) -> Path:
    """A translator with language tags."""
    lines = [f"{a}{b}\t{b}{a}\t{tag}" for a in "abc" for b in "abc" for tag in ("x", "y")]
    (folder / "tagged.tsv").write_text("source\ttarget\ttag\n" + "\n".join(lines) + "\n")
    given: dict[str, Any] = {"cell": "gru", "units": "characters", "attention": "none"}
    given["dev"] = str(folder / "tagged.tsv")
    out = folder / "tagged"
    us.train.run("translate", folder / "tagged.tsv", out=out, **(SMALL | given | settings))
    return out
