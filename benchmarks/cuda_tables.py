"""What `cells_cuda.py` says: lines, geometric means, Markdown."""

import importlib.metadata
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import cells
import torch
from cuda_peers import Case

from unspool.lab import speed

GROUPS = ("no product in the loop", "one product a step", "two dependent products")


@dataclass(frozen=True)
class Row:
    """Ours and a peer, seconds a call by round. `against` names the table, `peer` the peer."""

    case: Case
    against: str
    peer: str
    share: float
    first: float
    ours: list[float]
    theirs: list[float]

    @property
    def ratios(self) -> list[float]:
        """Their time over ours, round by round; a slow peer has fewer rounds."""
        return [self.share * b / a for a, b in zip(self.ours, self.theirs, strict=False)]

    @property
    def ratio(self) -> float:
        return speed.median(self.ratios)

    @property
    def group(self) -> str:
        """By how many products or reductions of a step wait for one another."""
        return GROUPS[min(2, cells.recurrent_phases(self.case.kind))]

    def __str__(self) -> str:
        T = self.case.shape[0]
        line = f"{self.case} ours {_time(self.ours, T)}"
        if self.theirs:
            r = self.ratios
            line += f"  {self.peer:<20} {_time(self.theirs, T)}"
            line += f"  ratio {self.ratio:.2f} ({min(r):.2f}..{max(r):.2f})"
        return f"{line}  first call {self.first:.2f} s"


def _time(seconds: list[float], steps: int) -> str:
    median = speed.median(seconds)
    return f"{median * 1e3:8.3f} ms {median / steps * 1e6:7.2f} us/step"


def about(device: str, given: Sequence[str]) -> dict[str, Any]:
    """Where and with what it was measured."""
    found: dict[str, Any] = {
        "command": command(given),
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if device == "cuda" else None,
        "tf32 in cuDNN": torch.backends.cudnn.allow_tf32,
        "precision of fp32 products": torch.get_float32_matmul_precision(),
    }
    return found | {name: _version(name) for name in ("triton", "jax")}


def command(given: Sequence[str]) -> str:
    """What was asked for, without where it was written."""
    files = {"--json", "--markdown"}
    after = zip(given, ["", *given], strict=False)
    shown = [word for word, before in after if not {word, before} & files]
    return " ".join(["python benchmarks/cells_cuda.py", *shown])


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        if row.theirs:
            found.setdefault(key(row), []).append(row)
    return found


def mean(rows: Sequence[Row]) -> float:
    return cells.mean([row.ratio for row in rows])


def least(rows: Sequence[Row]) -> str:
    """The least ratio and its shape, with its cell where there are several."""
    worst = min(rows, key=lambda row: row.ratio)
    which = f" of {worst.case.cell}" * (len(names(rows)) > 1)
    return f"{worst.ratio:.2f} at {size(worst.case)}{which}"


def size(case: Case) -> str:
    return "x".join(map(str, case.shape))


def by_cell(rows: Iterable[Row]) -> dict[Any, list[Row]]:
    def key(row: Row) -> tuple[str, ...]:
        case = row.case
        return case.cell, case.dtype, case.form, case.mode, row.peer

    return grouped(rows, key)


def by_group(rows: Iterable[Row]) -> dict[Any, list[Row]]:
    """Against cuDNN alone: slower peers are no group's business."""
    ours = [row for row in rows if row.against == "cuDNN"]
    return grouped(ours, lambda row: (row.group, row.case.dtype, row.case.form, row.case.mode))


def summary(rows: Sequence[Row]) -> list[str]:
    lines = []
    for (cell, dtype, form, mode, peer), found in by_cell(rows).items():
        name = f"{cell:<16} {dtype} {form:<13} {mode:<16} {peer:<20} / ours"
        lines.append(f"{name}: geometric mean {mean(found):.2f}, least {least(found)}")
    for (group, dtype, form, mode), found in by_group(rows).items():
        name = f"{group}, {dtype} {form} {mode} ({', '.join(names(found))})"
        lines.append(f"{name}: geometric mean {mean(found):.2f}, least {least(found)}")
    return lines


def names(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row.case.cell for row in rows))


def markdown(about: dict[str, Any], rows: Sequence[Row]) -> str:
    """A table for each dtype, form, mode and peer: shapes down, cells across."""
    known = ", ".join(f"{name} {value}" for name, value in about.items() if name != "command")
    parts = [f"`{about['command']}`: {known}. A peer's time divided by ours, the median of all "
             "rounds; our milliseconds in brackets."]  # fmt: skip

    def key(row: Row) -> tuple[str, ...]:
        return row.case.dtype, row.case.form, row.case.mode, row.against

    for (dtype, form, mode, _), found in grouped(rows, key).items():
        parts.append(f"**{dtype}, {form}, {mode}.** Against {peers(found)}.")
        parts.append(table(found))
    lines = [
        "| cells | dtype | form | mode | geometric mean | least |",
        "|---|---|---|---|---|---|",
    ]
    for (group, dtype, form, mode), found in by_group(rows).items():
        title = f"{group}: {', '.join(names(found))}"
        lines.append(
            f"| {title} | {dtype} | {form} | {mode} | {mean(found):.2f} | {least(found)} |"
        )
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"


def peers(rows: Sequence[Row]) -> str:
    """The peer, or the peers with the cells that each stands for."""
    found = grouped(rows, lambda row: row.peer)
    if len(found) == 1:
        return rows[0].peer
    return ", ".join(f"{peer} ({', '.join(names(those))})" for peer, those in found.items())


def table(rows: Sequence[Row]) -> str:
    """Ratios of one kind, with their geometric means below."""
    columns = names(rows)
    lines = [f"| steps x rows x units | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for shape, found in grouped(rows, lambda row: size(row.case)).items():
        entry = {r.case.cell: f"{r.ratio:.2f} ({speed.median(r.ours) * 1e3:.3f})" for r in found}
        lines.append(f"| {shape} | {' | '.join(entry.get(name, '-') for name in columns)} |")
    means = grouped(rows, lambda row: row.case.cell)
    lines.append(f"| geometric mean | {' | '.join(f'{mean(means[c]):.2f}' for c in columns)} |")
    return "\n".join(lines)
