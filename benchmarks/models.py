"""How fast whole models train, against the same models with torch.nn's layers.

    python benchmarks/models.py [--rounds 7] [--json FILE]

Both take the same batches in turn; one update is forward, backward, clipping and AdamW. The table
shows tokens a second and the median ratio of the rounds: above 1 is faster than torch.nn.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from plain import PlainClassifier, PlainLanguageModel, PlainTagger

import unspool as us
from unspool.models import Classifier, LanguageModel, Tagger
from unspool.train import Training, make_config
from unspool.train.optimise import clip_norm, make_optimiser
from unspool.train.tasks import find_task

# name: task, data, settings, our model, the plain one
CASES: dict[str, tuple[str, str, dict[str, Any], Any, Any]] = {
    "classifier, LSTM 128": (
        "classify", "builtin:words", {"units": "characters"}, Classifier, PlainClassifier,
    ),
    "tagger, LSTM 2 x 200": (
        "tag", "builtin:grammar", {"hidden": 200, "layers": 2}, Tagger, PlainTagger,
    ),
    "language model, LSTM 2 x 256": (
        "lm", "builtin:python", {}, LanguageModel, PlainLanguageModel,
    ),
    "language model, LSTM 2 x 512": (
        "lm", "builtin:python", {"hidden": 512}, LanguageModel, PlainLanguageModel,
    ),
}  # fmt: skip


def updates(model: Any, batches: list[Any]) -> Callable[[], float]:
    """A function that trains on these batches once and gives tokens a second."""
    optimiser = make_optimiser(model, Training())

    def go() -> float:
        begun, tokens, state = time.perf_counter(), 0, None
        for batch in batches:
            optimiser.zero_grad()
            loss = model.loss(batch, state)
            loss.mean.backward()
            clip_norm(model.parameters(), 1.0)
            optimiser.step()
            tokens += loss.count
            state = None if loss.carried is None else us.detach(loss.carried)
        return tokens / (time.perf_counter() - begun)

    return go


def measure(name: str, rounds: int, count: int = 8) -> tuple[float, float, float]:
    """Tokens a second of ours and of torch.nn's, and the median ratio."""
    task_name, data, settings, ours, plain = CASES[name]
    config, task = make_config(task_name, {"model": settings}), find_task(task_name)
    examples = task.read(data, config).examples
    if task_name != "lm":
        examples = examples[:4000]
    models = [kind.learn(config.model, examples) for kind in (ours, plain)]
    epoch = task.batches(models[0], examples, config).epoch(0)
    batches = [epoch[k] for k in range(min(count, len(epoch)))]
    runners = [updates(model, batches) for model in models]
    for runner in runners:
        runner()
    found = [[runner() for runner in runners] for _ in range(rounds)]
    mine, theirs = (statistics.median(column) for column in zip(*found, strict=True))
    return mine, theirs, statistics.median(a / b for a, b in found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the figures there too")
    args = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads; tokens a second")
    print(f"{'':<32}{'ours':>10}{'torch.nn':>10}{'ratio':>8}")
    results = {}
    for name in CASES:
        mine, theirs, ratio = measure(name, args.rounds)
        results[name] = {"ours": mine, "torch.nn": theirs, "ratio": ratio}
        print(f"{name:<32}{mine:>10,.0f}{theirs:>10,.0f}{ratio:>8.2f}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
