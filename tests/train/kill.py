"""Stops runs at random moments and resumes them: python -m tests.train.kill --times 50

A run is killed (SIGKILL, so that nothing can tidy up) at any time, or within a write: before the
data are flushed, before the rename, before the folder is flushed, before the pointer; or it is
asked to stop (SIGTERM). It must end with the weights of a run that nobody disturbed. A checkpoint
is written after every step.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from tests.train.toy import averaged, classify, crf, language, normalised, translate
from unspool.train.config import config_text
from unspool.train.durable import UNFINISHED
from unspool.train.runs import config_plain, resume, train
from unspool.train.tasks import Config

CODE = """
import os, signal, sys, torch
torch.set_num_threads(1)
from unspool.train import Interrupted
from unspool.train.config import read_config
from unspool.train.runs import make_config, resume, train
settings, out, again, last = sys.argv[1:]
calls = 0
def until_the_last(call):
    def counted(*args):
        global calls
        calls += 1
        if calls == int(last):
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args)
    return counted
os.fsync, os.replace = until_the_last(os.fsync), until_the_last(os.replace)
plain = read_config(settings)
try:
    resume(out) if again == "resume" else train(make_config(plain["task"], plain), out)
except Interrupted:
    sys.exit(130)
"""
INTERRUPTED = 130  # the exit status of a run that was asked to stop
KINDS = (classify, language, translate, normalised, averaged, crf)


def killed(config: Config, folder: Path, draw: random.Random) -> bool:
    """Runs in a process of its own until the kill; whether it was still running then."""
    settings, out = folder / "settings.yaml", folder / "run"
    settings.write_text(config_text(config_plain(config)))
    how = "resume" if (out / "config.yaml").exists() else "train"
    within = draw.random() < 0.5
    last = draw.randint(1, 60) if within else 0
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(settings), str(out), how, str(last)]
    )
    if not within:
        log = out / "metrics.jsonl"
        seen = log.stat().st_size if log.exists() else 0
        while process.poll() is None and (log.stat().st_size if log.exists() else 0) == seen:
            time.sleep(0.002)
        time.sleep(draw.uniform(0.0, 0.25))
        process.send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM]))
    return process.wait() in (-signal.SIGKILL, INTERRUPTED)


def unfinished(out: Path) -> bool:
    folders = [folder for folder in (out, out / "checkpoints") if folder.is_dir()]
    return any(name.endswith(UNFINISHED) for folder in folders for name in os.listdir(folder))


def disturbed(make: object, times: int, folder: Path, draw: random.Random) -> tuple[int, int]:
    """One run, killed so often; how many kills met it alive, and how many within a checkpoint."""
    config = make(folder, save_steps=1, log_every=1, epochs=8)  # type: ignore[operator]
    whole = train(config, folder / "whole")
    met = within = 0
    for _ in range(times):
        met += killed(config, folder, draw)
        within += unfinished(folder / "run")
    out = folder / "run"
    again = resume(out) if (out / "config.yaml").exists() else train(config, out)
    pairs = zip(whole.model.named_parameters(), again.model.parameters(), strict=True)
    for (name, p), q in pairs:
        assert p.equal(q), f"{name} differs after {times} kills"
    return met, within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50, help="Stops of a running process.")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    draw, done, met, within = random.Random(args.seed), 0, 0, 0
    while met < args.times:
        kills = draw.randint(1, 4)
        with tempfile.TemporaryDirectory() as folder:
            make = draw.choice(KINDS)
            found = disturbed(make, kills, Path(folder), draw)
        done, met, within = done + kills, met + found[0], within + found[1]
        print(
            f"{done} stops, {met} of a running process, {within} within a write: same bits "
            f"({make.__name__})",
            flush=True,
        )


if __name__ == "__main__":
    main()
