"""How training goes, or went: what metrics.jsonl has, from where the page has read it."""

import time
from typing import Any

from unspool.studio.desk import Desk
from unspool.studio.params import Params, whole
from unspool.train.log import LOG_BYTES, METRICS, parse_metrics
from unspool.train.plain_file import is_plain, read_plain
from unspool.train.run_folder import CONFIG
from unspool.train.settings import Training

MOST = 20_000  # points of a curve; of a longer log every so many
COLUMNS = ("step", "loss", "gradient_norm", "lr")


def training(desk: Desk, params: Params) -> dict[str, Any]:
    since = whole(params, "since", 0, 0, 2**53)
    config, path = desk.config, desk.folder / METRICS
    data = read_plain(path, LOG_BYTES) if is_plain(path) else b""
    # A resumed run drops what came after its checkpoint: then everything is read anew.
    restarted = since > len(data) or data[since - 1 : since] not in (b"", b"\n")
    since = 0 if restarted else since
    whole_lines = data[since : data.rfind(b"\n") + 1]
    lines = parse_metrics(whole_lines)
    steps = [line for line in lines if "loss" in line]
    steps = steps[:: len(steps) // MOST + 1]
    epochs = [line for line in lines if "mean_loss" in line]
    return {
        "next": since + len(whole_lines),
        "restarted": restarted,
        "steps": {name: [line.get(name) for line in steps] for name in COLUMNS},
        "epochs": epochs,
        "wanted": config.train.epochs,
        "finished": _finished(data, config.train),
        "quiet": time.time() - (path if data else desk.folder / CONFIG).stat().st_mtime,
        "every": config.train.log_every,
        "clip": config.train.clip,
    }


def _finished(data: bytes, settings: Training) -> bool:
    """The last line is the end of the last epoch, or of the one that patience ended with."""
    lines = parse_metrics(data)
    epochs = [line for line in lines if "mean_loss" in line]
    if not epochs or lines[-1] is not epochs[-1]:
        return False
    waited = epochs[-settings.patience :] if settings.patience else []
    stalled = len(waited) == settings.patience > 0 and not any(one["best"] for one in waited)
    return stalled or epochs[-1]["epoch"] >= settings.epochs
