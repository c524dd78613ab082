"""Long examples: a limit on their length, and the memory that the longest one takes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from unspool.machine import memory
from unspool.train.log import Reporter
from unspool.train.tasks import Config, Task

TRIED = (32, 64, 128)  # symbols of the short examples that are measured
# Memory as a multiple of what the backward pass reads: of an update (1.2 to 1.5 were measured on
# long rows), and of answers, which keep less but may take many steps.
UPDATE, READING = 1.6, 1.0


def limited(
    task: Task, model: Any, examples: Sequence[Any], config: Config, report: Reporter, what: str
) -> list[Any]:
    """The examples, of which none has more than `data.max_length` symbols (0: any number).

    Longer ones are refused, cut or left out, as `data.too_long` says; `what` they are for is said.
    """
    most, how = config.data.max_length, config.data.too_long
    if not most:
        return list(examples)
    kept = []
    changed = 0
    for example in examples:
        length = task.length(model, example)
        if length <= most:
            kept.append(example)
            continue
        if how == "refuse":
            raise ValueError(
                f"{example.where}: the example has {length:,} symbols, more than --max-length "
                f"({most:,}): remove it, or add {' or '.join(task.mends)}"
            )
        changed += 1
        if how == "cut":
            kept.append(task.cut(model, example, most))
    if changed:
        done = "cut" if how == "cut" else "left out"
        count = f"{changed:,} example{'s' * (changed > 1)} to {what}"
        report.say(f"{count}: longer than {most:,} symbols, {done}")
    if not kept:
        raise ValueError(f"no example has at most {most:,} symbols: raise --max-length")
    return kept


def check_memory(
    task: Task,
    model: Any,
    examples: Sequence[Any],
    dev: Sequence[Any],
    config: Config,
    report: Reporter,
) -> None:
    """Refuses examples that take more memory than there is, and says what the longest one takes
    that is trained on, if it is longer than a batch."""
    there = memory_of(model.device)
    for what, some, factor in (("train", examples, UPDATE), ("measure", dev, READING)):
        lengths = [task.length(model, example) for example in some]
        longest = max(lengths)
        if longest <= max(config.train.batch, *TRIED):
            continue
        example = some[lengths.index(longest)]
        needed = factor * extrapolated(measured(task, model, example), longest)
        about = (
            f"{example.where}: the longest example to {what} on has {longest:,} symbols (a batch "
            f"has {config.train.batch:,}) and takes about {size(needed)} of memory"
        )
        if needed > there:
            raise ValueError(
                f"{about}, and this machine has {size(there)}: set a limit, such as --max-length "
                f"10000, with {' or '.join(task.mends)}"
            )
        if some is examples:
            report.say(about)


def measured(task: Task, model: Any, example: Any) -> list[int]:
    """Bytes that the backward pass reads, for the first `TRIED` symbols of an example."""
    training = model.training
    model.train()
    try:
        devices = [model.device] if model.device.type == "cuda" else []
        # training begins with the random numbers that it would have had
        with torch.random.fork_rng(devices=devices):
            shorts = [task.cut(model, example, symbols) for symbols in TRIED]
            return [saved_bytes(model, task.batch(model, [short])) for short in shorts]
    finally:
        model.train(training)


def saved_bytes(model: Any, batch: Any) -> int:
    """Bytes of the tensors that a loss keeps for its backward pass."""
    seen: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        loss = model.loss(batch.to(model.device))
    del loss
    return sum(seen.values())


def extrapolated(found: Sequence[int], symbols: int) -> float:
    """Bytes for an example of so many symbols: attention grows with their square."""
    curve = np.polynomial.Polynomial.fit(TRIED, found, 2).convert()
    constant, linear, square = (*curve.coef, 0.0, 0.0, 0.0)[:3]
    if square * symbols < 0.01 * linear:  # rounding, which a large number would blow up
        _, linear, square = found[0], (found[-1] - found[0]) / (TRIED[-1] - TRIED[0]), 0.0
    return float(max(constant, 0.0) + linear * symbols + square * symbols**2)


def memory_of(device: torch.device) -> float:
    """Bytes of memory where a model trains."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    return memory()


def size(count: float) -> str:
    """A number of bytes in words."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"
