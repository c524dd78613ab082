"""How good the models are on real data, beside published figures.

    python benchmarks/quality.py --data DIR [--only names,ewt,wnut17,shakespeare] [--seeds 5]
                                 [--json FILE]

DIR has the folders names, ewt, wnut17 and shakespeare (sources: docs/results.md). Everything is
chosen on dev data; the test part of the names is measured once, at the end of each run.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from plain import PlainClassifier, PlainTagger

from unspool.data.split import split, unique
from unspool.train import fit, make_config
from unspool.train.log import Lines, Update
from unspool.train.tasks import Config, find_task

NAMES: dict[str, Any] = {
    "model": {
        "units": "characters", "lower": True, "cell": "gru_after", "hidden": 192, "embedding": 64,
        "pool": "attention", "queries": 4, "ngrams": 5, "readers": 3,
        "dropout": 0.5, "symbol_dropout": 0.1, "balance": 0.25,
    },
    "train": {
        "epochs": 10, "batch": 700, "lr": 4e-3, "weight_decay": 0.01,
        "average": "ema", "average_decay": 0.997,
    },
}  # fmt: skip
EWT: dict[str, Any] = {
    "model": {
        "hidden": 256, "embedding": 128, "characters": 64, "character_hidden": 128, "min_count": 1,
        "dropout": 0.3, "input_dropout": 0.3, "word_dropout": 0.25,
    },
    "train": {
        "epochs": 18, "batch": 1000, "lr": 3e-3, "weight_decay": 0.01,
        "average": "ema", "average_decay": 0.998,
    },
}  # fmt: skip
WNUT: dict[str, Any] = {
    "model": {
        "hidden": 128, "embedding": 100, "characters": 32, "character_hidden": 64,
        "dropout": 0.4, "input_dropout": 0.3, "word_dropout": 0.0,
    },
    "train": {
        "epochs": 12, "batch": 350, "lr": 4e-3, "weight_decay": 0.01,
        "average": "ema", "average_decay": 0.995,
    },
}  # fmt: skip
SHAKESPEARE: dict[str, Any] = {
    "data": {"steps": 64},
    "model": {
        "hidden": 448, "layers": 3, "skip": "residual", "embedding": 128,
        "dropout": 0.3, "input_dropout": 0.2,
    },
    "train": {
        "epochs": 12, "batch": 2048, "lr": 4e-3, "weight_decay": 0.01,
        "average": "ema", "average_decay": 0.998, "precision": "bfloat16",
    },
}  # fmt: skip
# What a plain training has: no averaging, a rate that stays.
PLAIN = {"average": "none", "schedule": "constant", "lr": 2e-3}


class Count(Lines):
    """Counts tokens, for tokens a second."""

    seen = 0

    def update(self, seen: Update) -> None:
        self.seen += seen.tokens
        super().update(seen)


def trained(
    config: Config, parts: list[list[Any]], model: Any = None
) -> tuple[Any, dict[str, float]]:
    """A model trained on the first part by the second, and its scores, time and speed."""
    task, (train, dev, *rest) = find_task(config.task), parts
    torch.manual_seed(config.train.seed)
    model = task.learn(config, train) if model is None else model
    count, begun = Count(sys.stderr), time.monotonic()
    batches = task.batches(model, train, config)
    fitted = fit(model, batches, config.train, dev=lambda: task.measure(model, dev), report=count)
    taken = time.monotonic() - begun
    found = {**fitted.scores, "minutes": taken / 60, "per_second": count.seen / taken}
    for part in rest:
        found |= {f"test_{k}": v for k, v in task.measure(model, part).items()}
    return model, found


def names(data: Path, seeds: int) -> Iterator[tuple[str, dict[str, float]]]:
    config = make_config("classify", NAMES)
    examples = find_task("classify").read(str(data / "names"), config).examples
    parts = split(unique(examples), (0.8, 0.1, 0.1), seed=0, by=lambda e: e.label)
    runs = []
    for seed in range(seeds):
        config = replace(config, train=replace(config.train, seed=seed))
        runs.append(trained(config, parts)[1])
        yield f"names, seed {seed}", runs[-1]
    yield f"names, mean of {seeds}", {k: statistics.mean(r[k] for r in runs) for k in runs[0]}
    simple: dict[str, Any] = {"pool": "last", "queries": 1, "ngrams": 0, "readers": 1}
    simple |= {"cell": "lstm", "hidden": 128, "dropout": 0.3, "symbol_dropout": 0.0, "balance": 0.0}
    plain = replace(config, model=replace(config.model, **simple))
    plain = replace(plain, train=replace(plain.train, **PLAIN))
    torch.manual_seed(0)
    yield "names, torch.nn", trained(plain, parts, PlainClassifier.learn(plain.model, parts[0]))[1]


def ewt(data: Path, seeds: int) -> Iterator[tuple[str, dict[str, float]]]:
    config = make_config("tag", EWT)
    task = find_task("tag")
    files = [str(data / "ewt" / f"en_ewt-ud-{part}.conllu.gz") for part in ("train", "dev")]
    yield "ewt", trained(config, [task.read(file, config).examples for file in files])[1]


def wnut17(data: Path, seeds: int) -> Iterator[tuple[str, dict[str, float]]]:
    task = find_task("tag")
    for crf in (False, True):
        config = make_config("tag", WNUT, {"model": {"crf": crf}})
        files = [str(data / "wnut17" / f"{part}.conll.gz") for part in ("train", "dev")]
        parts = [task.read(file, config).examples for file in files]
        name = f"wnut17{', crf' if crf else ''}"
        yield name, trained(config, parts)[1]
        plain = replace(config, train=replace(config.train, **PLAIN))
        torch.manual_seed(0)
        model = PlainTagger.learn(plain.model, parts[0])
        yield f"{name}, torch.nn", trained(plain, parts, model)[1]


def shakespeare(data: Path, seeds: int) -> Iterator[tuple[str, dict[str, float]]]:
    config = make_config("lm", SHAKESPEARE)
    task: Any = find_task("lm")
    examples = task.read(str(data / "shakespeare" / "input.txt.gz"), config).examples
    parts = task.held_out(examples, config)
    model, found = trained(config, parts)
    yield "shakespeare", found | task.baseline(model, parts[1])


JOBS: dict[str, Callable[[Path, int], Iterator[tuple[str, dict[str, float]]]]] = {
    "names": names,
    "ewt": ewt,
    "wnut17": wnut17,
    "shakespeare": shakespeare,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default=",".join(JOBS), help="which, comma between")
    parser.add_argument("--seeds", type=int, default=5, help="runs on the names")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    args = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}")
    results = {}
    for job in args.only.split(","):
        for name, found in JOBS[job](args.data, args.seeds):
            results[name] = found
            shown = "  ".join(f"{key} {value:.4g}" for key, value in found.items())
            print(f"{name:<24} {shown}", flush=True)
            if args.json:
                args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
