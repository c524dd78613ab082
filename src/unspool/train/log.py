"""What training says while it runs: to the user, to metrics.jsonl, to TensorBoard."""

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from unspool.text.printable import message
from unspool.train.durable import write_durably
from unspool.train.plain_file import is_plain, open_plain, read_plain, real_folder
from unspool.train.state import is_count, is_number

METRICS = "metrics.jsonl"
LOG_BYTES = 32 << 20  # bytes of a log that are read to be shown
LONGEST_LINE = 4096  # bytes


@dataclass(frozen=True)
class Update:
    """One step: `done` is the share of all epochs that lies behind."""

    step: int
    epoch: int
    loss: float
    tokens: int
    lr: float
    gradient_norm: float
    done: float


class Reporter:
    """Says nothing; the others say more."""

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(self, *problem: object) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def update(self, seen: Update) -> None:
        pass

    def epoch(self, number: int, loss: float, scores: dict[str, float], best: bool) -> None:
        pass


class Lines(Reporter):
    """A line for each epoch, and one every half minute within it. To standard error."""

    def __init__(self, file: IO[str] | None = None, seconds: float = 30.0):
        self.file, self.seconds = file or sys.stderr, seconds
        self.begun = self.spoken = time.monotonic()
        self.tokens, self.first = 0, 0.0

    def say(self, text: str) -> None:
        print(message(text), file=self.file, flush=True)

    def update(self, seen: Update) -> None:
        self.tokens += seen.tokens
        self.first = self.first or seen.done
        now = time.monotonic()
        if now - self.spoken >= self.seconds:
            self.spoken = now
            taken = now - self.begun
            left = taken * (1 - seen.done) / max(seen.done - self.first, 1e-9)
            self.say(
                f"epoch {seen.epoch} step {seen.step}: loss {seen.loss:.4f}, "
                f"{self.tokens / taken:,.0f} tokens/s, {clock(left)} left"
            )

    def epoch(self, number: int, loss: float, scores: dict[str, float], best: bool) -> None:
        self.spoken = time.monotonic()
        self.say(epoch_text(number, loss, scores, best))


class Bar(Reporter):
    """A bar with loss, tokens a second and the time left, on a terminal; epochs above it."""

    def __enter__(self) -> "Bar":
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.bar = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            TextColumn("{task.percentage:.0f}%  loss {task.fields[loss]}"),
            TextColumn("{task.fields[speed]} tokens/s"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task("", total=1.0, epoch=1, loss="", speed="")
        self.begun, self.tokens = time.monotonic(), 0
        self.bar.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        if hasattr(self, "bar"):
            self.bar.console.print(message(text), highlight=False, markup=False)
        else:
            print(message(text), file=sys.stderr)

    def update(self, seen: Update) -> None:
        self.tokens += seen.tokens
        speed = self.tokens / max(time.monotonic() - self.begun, 1e-9)
        self.bar.update(
            self.task,
            completed=seen.done,
            epoch=seen.epoch,
            loss=f"{seen.loss:.4f}",
            speed=f"{speed:,.0f}",
        )

    def epoch(self, number: int, loss: float, scores: dict[str, float], best: bool) -> None:
        self.say(epoch_text(number, loss, scores, best))


def reporter(quiet: bool = False) -> Reporter:
    """A bar on a terminal, lines elsewhere."""
    if quiet:
        return Reporter()
    return Bar() if sys.stderr.isatty() else Lines()


def epoch_text(number: int, loss: float, scores: dict[str, float], best: bool) -> str:
    shown = "".join(f"  {name} {value:.4f}" for name, value in scores.items())
    return f"epoch {number:>3}  loss {loss:.4f}{shown}{'  *' if best and scores else ''}"


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Log:
    """metrics.jsonl, one object a line; a resumed run drops what came after its checkpoint."""

    def __init__(self, out: Path | None, size: int, tensorboard: bool):
        self.file: IO[bytes] | None = None
        self.board: Any = None
        if out is None:
            return
        out.mkdir(parents=True, exist_ok=True)
        if tensorboard:
            real_folder(out / "tensorboard", make=True)
            self.board = _board(out / "tensorboard")
        self.file = _open(out / METRICS, size)

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *problem: object) -> None:
        if self.file is not None:
            self.file.close()
        if self.board is not None:
            self.board.close()

    def update(self, seen: Update, seconds: float) -> int:
        numbers = {"loss": seen.loss, "lr": seen.lr, "gradient_norm": seen.gradient_norm}
        self._curves("train", numbers, seen.step)
        place = {"step": seen.step, "epoch": seen.epoch}
        return self._write(place | numbers | {"seconds": round(seconds, 3)})

    def epoch(
        self, number: int, step: int, loss: float, scores: dict[str, float], best: bool
    ) -> int:
        self._curves("dev", scores, step)
        return self._write(
            {"step": step, "epoch": number, "mean_loss": loss, "dev": scores, "best": best}
        )

    def flush(self) -> None:
        """Before a checkpoint: it counts on what is written here."""
        if self.file is not None:
            self.file.flush()

    def _write(self, value: dict[str, Any]) -> int:
        """The size of the file after it."""
        if self.file is None:
            return 0
        self.file.write((json.dumps(value) + "\n").encode())
        self.file.flush()  # who looks on sees it now
        return self.file.tell()

    def _curves(self, kind: str, numbers: dict[str, float], step: int) -> None:
        if self.board is not None:
            for name, value in numbers.items():
                self.board.add_scalar(f"{kind}/{name}", value, step)


def read_metrics(out: Path) -> list[dict[str, Any]]:
    """What a run has logged: steps have a "loss", epochs a "mean_loss" and "dev" scores."""
    path = out / METRICS
    return parse_metrics(read_plain(path, LOG_BYTES)) if is_plain(path) else []


def parse_metrics(data: bytes) -> list[dict[str, Any]]:
    """The lines of a log. A full disk or a crash may have left half a line: it is left out, and
    so is whatever training does not write (`odd_lines` has their numbers)."""
    return [line for line in _parse(data) if line is not None]


def odd_lines(data: bytes) -> list[int]:
    """The numbers, from 1, of the lines of a log that `parse_metrics` leaves out."""
    return [number for number, line in enumerate(_parse(data), 1) if line is None]


def _parse(data: bytes) -> list[dict[str, Any] | None]:
    """Each line of a log, or None where training does not write such a line. All epochs are
    measured by the same scores."""
    lines = [_metrics(text) for text in data.splitlines()]
    names = Counter(tuple(line["dev"]) for line in lines if line and "dev" in line)
    usual = names.most_common(1)[0][0] if names else ()
    return [
        line if line is None or "dev" not in line or tuple(line["dev"]) == usual else None
        for line in lines
    ]


STEP = ("step", "epoch", "loss", "lr", "gradient_norm", "seconds")
EPOCH = ("step", "epoch", "mean_loss", "dev", "best")


def _metrics(text: bytes) -> dict[str, Any] | None:
    """What training writes of one line, or None if it writes no such line."""
    try:
        line = json.loads(text) if len(text) <= LONGEST_LINE else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or not (
        is_count(line.get("step")) and is_count(line.get("epoch"))
    ):
        return None
    if "mean_loss" in line:
        names, scores = EPOCH, line.get("dev")
        if not isinstance(scores, dict) or not isinstance(line.get("best"), bool):
            return None
        numbers = [line["mean_loss"], *scores.values()]
    else:
        names, numbers = STEP, [line.get(name) for name in STEP]
    return {name: line[name] for name in names} if all(map(is_number, numbers)) else None


def _open(path: Path, size: int) -> IO[bytes]:
    """The log, cut to its first `size` bytes, open to go on."""
    if not is_plain(path):
        write_durably(path, b"")
    elif path.stat().st_nlink > 1:  # another name may belong to somebody else: a copy of our own
        write_durably(path, read_plain(path, path.stat().st_size))
    file = open_plain(path, append=True)
    file.truncate(min(size, file.seek(0, 2)))
    file.seek(0, 2)
    return file


def _board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ValueError(
            "train.tensorboard needs the package tensorboard: pip install tensorboard"
        ) from None
    return SummaryWriter(str(folder))
