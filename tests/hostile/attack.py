"""Runs the command line on something hostile, and holds what it does against what is allowed.

An attack may take `SECONDS` and `MEGABYTES` more than the process has when it starts. It must end
with a message, never with a traceback, and must not open a file for writing outside the folders
it was given, nor open a file that it must not read. Python's audit hook sees every file that is
opened.
"""

import contextlib
import io
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unspool.cli import main

SECONDS, MEGABYTES = 2.0, 500
HANG = 20  # seconds after which an attack is stopped


@dataclass
class Opened:
    """Files that were opened while an attack ran, with links resolved."""

    read: set[Path] = field(default_factory=set)
    written: set[Path] = field(default_factory=set)


_watching: list[Opened] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching or event not in ("open", "os.rename", "os.remove"):
        return
    if event == "open":
        path, _, flags = arguments
        if not isinstance(path, str | bytes):
            return  # a file that is open already
        write = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        kind = _watching[-1].written if write else _watching[-1].read
        kind.add(Path(os.path.realpath(os.fsdecode(path))))
    else:  # a name goes away: of a link the link, not what it points to
        folder = arguments[1] if event == "os.remove" and arguments[1] != -1 else None
        parent = "." if folder is None else os.readlink(f"/proc/self/fd/{folder}")
        path = Path(os.path.abspath(Path(parent) / os.fsdecode(arguments[0])))
        _watching[-1].written.add(path.parent.resolve() / path.name)


sys.addaudithook(_hear)


@contextlib.contextmanager
def watched() -> Iterator[Opened]:
    """The files that are opened within the block."""
    _watching.append(Opened())
    try:
        yield _watching[-1]
    finally:
        _watching.pop()


@dataclass(frozen=True)
class Outcome:
    """What the command printed and its exit status; its time and memory were held to the limits."""

    status: int
    output: str
    opened: Opened


@contextlib.contextmanager
def guarded(*, inside: Sequence[Path] = (), never: Sequence[Path] = ()) -> Iterator[Opened]:
    """Holds what is done within the block to the limits of time, memory and files.

    `inside` are the folders that may be written to, `never` the files that must not be opened.
    """
    resident = _reset_peak()
    started = time.monotonic()
    with watched() as opened, _stopped_after(HANG):
        yield opened
    taken, used = time.monotonic() - started, _peak() - resident
    assert taken < SECONDS * _patience(), f"{taken:.1f} seconds"
    assert used < MEGABYTES, f"{used:.0f} MB"
    allowed = [folder.resolve() for folder in inside]
    for path in opened.written:
        if path != Path(os.devnull) and not _is_cache(path):
            assert any(path.is_relative_to(folder) for folder in allowed), f"{path} was written"
    for path in never:
        assert path.resolve() not in opened.read | opened.written, f"{path} was opened"


def attack(
    *arguments: str | Path,
    inside: Sequence[Path] = (),
    never: Sequence[Path] = (),
    text: str = "",
) -> Outcome:
    """Runs `unspool ARGUMENTS` with `text` as standard input, and checks what it did."""
    output = io.StringIO()
    before = sys.argv, sys.stdin
    sys.argv = ["unspool", *map(str, arguments)]
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    try:
        with (
            guarded(inside=inside, never=never) as opened,
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            try:
                main()
                status = 0
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv, sys.stdin = before
    printed = output.getvalue()
    assert "Traceback" not in printed, printed
    return Outcome(status, printed, opened)


def refused(*arguments: str | Path, **how: Any) -> str:
    """Runs an attack that must end with one short error; returns all that was printed."""
    outcome = attack(*arguments, **how)
    assert outcome.status == 1, f"status {outcome.status}\n{outcome.output}"
    errors = [line for line in outcome.output.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, outcome.output
    assert len(outcome.output) < 4000, f"{len(outcome.output)} characters of output"
    return outcome.output


def _is_cache(path: Path) -> bool:
    """Compiled kernels and bytecode are written elsewhere, rightly."""
    return "__pycache__" in path.parts or any("unspool" in part for part in path.parts[:-1])


def _patience() -> float:
    """Tests run side by side: where others wait for a processor, time passes without work."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) * 2)


@contextlib.contextmanager
def _stopped_after(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise AssertionError(f"it hangs: not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _reset_peak() -> float:
    """Makes the peak the present; returns it, in megabytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise AssertionError("this system does not state how much memory a process has used")
