"""C source to a loaded library: compiled once, kept in a private cache, checked before it is used.

The cache is keyed by a hash of source, flags, compiler and processor. A library is built under a
temporary name, loaded, and renamed, so that processes may build side by side. Its own hash stands
in a file beside it, and a damaged library is built again. Where the cache cannot be used, a folder
of this process takes its place; whatever else goes wrong becomes a CannotBuild.
"""

import contextlib
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import signal
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread
from typing import IO

from unspool.engine.cache import temporary_folder, user_folder
from unspool.engine.say import say_once_not_kept
from unspool.equations.functions import LAYER_NORM_EPS

FLAGS = ["-O2", "-march=native", "-std=gnu11", "-fPIC", "-shared", "-fno-math-errno", "-fopenmp"]
FLAGS += os.environ.get("UNSPOOL_CFLAGS", "").split()  # for sanitizers and debuggers
PRELUDE = Path(__file__).with_name("prelude.h")
TIMEOUT = 180.0  # seconds for a kernel; the largest takes some ten on a busy machine
VERSION_TIMEOUT = 20.0
# Characters of a kernel, which compile in some ten seconds; the longest cell of the library has a
# tenth of it.
LONGEST_SOURCE = 1_000_000
KEPT_OUTPUT = 1 << 16  # bytes of what a compiler prints


class CannotBuild(Exception):
    """There is no compiler, or it failed. The first line says why, the others what it printed."""


class Hangs(CannotBuild):
    """A compiler that did not end in time."""


@lru_cache(maxsize=1)
def compiler() -> tuple[tuple[str, ...], str]:
    """The command of the C compiler, and the text of its version.

    It is what CC names, else the first of cc, gcc and clang. A refusal is remembered too.
    """
    found = _compiler()
    if isinstance(found, CannotBuild):
        raise CannotBuild(str(found))
    return found


@lru_cache(maxsize=1)
def _compiler() -> tuple[tuple[str, ...], str] | CannotBuild:
    wanted = os.environ.get("CC", "").strip()
    problem = "no C compiler was found (cc, gcc or clang): install one, or set CC"
    for name in (wanted,) if wanted else ("cc", "gcc", "clang"):
        try:
            program, *arguments = shlex.split(name)
            path = shutil.which(program)
            if path is not None:
                command = (path, *arguments)
                status, version = _run([*command, "--version"], VERSION_TIMEOUT)
                if wanted or not status:  # a wrapper that CC names need not know --version
                    return command, version
                problem = f"{path} cannot be used as a C compiler (status {status}): {version}"
        except (OSError, ValueError, CannotBuild) as error:
            problem = f"{name} cannot be used as a C compiler: {error}"
        else:
            if wanted:
                problem = f"CC is {wanted}, and no such program is there: mend or unset it"
    return CannotBuild(problem)


@lru_cache(maxsize=1)
def processor() -> str:
    """What -march=native depends on."""
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return f"{platform.machine()} {platform.processor()} {platform.node()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(line for line in info.split("\n\n")[0].split("\n") if line.startswith(wanted))


def accumulators() -> int:
    """Vector registers that a tile's sums may take: about three of four."""
    wide = "avx512f" in processor() or platform.machine() == "aarch64"
    return 24 if wide else 12


def multiplies_halves() -> bool:
    """Whether there are instructions for products of bfloat16, added up in float."""
    return "avx512_bf16" in processor()


def load(source: str, real: str) -> ctypes.CDLL:
    """The library of a kernel for float or double; a refusal is remembered too."""
    found = _load(source, real)
    if isinstance(found, CannotBuild):
        raise CannotBuild(str(found))  # anew: one that was raised holds on to all it has seen
    return found


@lru_cache(maxsize=512)
def _load(source: str, real: str) -> ctypes.CDLL | CannotBuild:
    try:
        return _load_or_build(source, real)
    except CannotBuild as error:
        return error


_unusable: list[str] = []  # why the user's cache cannot be used: it is not tried again


def _load_or_build(source: str, real: str) -> ctypes.CDLL:
    """The library from the cache, or built: in the cache, or else in a folder of this process."""
    if len(source) > LONGEST_SOURCE:
        raise CannotBuild(
            f"the kernel of this cell has {len(source):,} characters, and over {LONGEST_SOURCE:,} "
            "take the compiler too long"
        )
    command, version = compiler()
    defines = [f"-DREAL={real}", f"-DLAYER_NORM_EPS={LAYER_NORM_EPS!r}"]
    prelude = PRELUDE.read_text(encoding="utf-8")
    everything = "\0".join([source, prelude, *FLAGS, *defines, *command, version, processor()])
    key = hashlib.sha256(everything.encode("utf-8", "surrogateescape")).hexdigest()
    problems = [*_unusable]
    for folder in (temporary_folder,) if problems else (user_folder, temporary_folder):
        try:
            library = folder() / f"{key}.so"
            found = _kept(library) or _build([*command, *FLAGS, *defines], source, library)
        except Hangs:
            raise
        except (OSError, CannotBuild) as error:
            problems.append(str(error))
        else:
            if problems:
                _unusable[:] = problems[:1]
                say_once_not_kept(problems[0].partition("\n")[0])
            return found
    raise CannotBuild(problems[-1])


def _kept(library: Path) -> ctypes.CDLL | None:
    """The library in the cache if it is there, undamaged and can be loaded."""
    try:
        expected = library.with_suffix(".sha256")
        if not (library.is_file() and expected.is_file()):
            return None
        digest = hashlib.sha256(library.read_bytes()).hexdigest()
        return _loaded(library) if expected.read_bytes() == digest.encode() else None
    except (OSError, CannotBuild):
        return None


def _loaded(library: Path) -> ctypes.CDLL:
    """The library with its one function; an OSError says that the system does not load it."""
    found = ctypes.CDLL(str(library))
    if not hasattr(found, "run"):
        raise CannotBuild(f"{library} has no function called run")
    return found


def _build(command: list[str], source: str, library: Path) -> ctypes.CDLL:
    """Compiles, loads, and only then gives the library the name under which others find it."""
    with tempfile.TemporaryDirectory(dir=library.parent, ignore_cleanup_errors=True) as folder:
        text, made = Path(folder) / "kernel.c", Path(folder) / "kernel.so"
        text.write_text(source, encoding="utf-8")
        arguments = ["-I", str(PRELUDE.parent), str(text), "-o", str(made), "-lm"]
        status, output = _run([*command, *arguments], TIMEOUT)
        if status or not made.is_file():
            what = f"failed on a kernel (status {status})" if status else "wrote no kernel"
            raise CannotBuild(f"the C compiler {command[0]} {what}\n{output[:2000]}".rstrip())
        found = _loaded(made)
        note = Path(folder) / "kernel.sha256"
        note.write_text(hashlib.sha256(made.read_bytes()).hexdigest())
        os.replace(made, library)
        os.replace(note, library.with_suffix(".sha256"))
        return found


_hanging: set[str] = set()  # compilers that did not end in time are not tried again
_hanging_lock = Lock()


def _run(command: list[str], seconds: float) -> tuple[int, str]:
    """The exit status and output of a compiler, which gets nothing to read and a limit of time."""
    with _hanging_lock:
        if command[0] in _hanging:
            raise Hangs(_too_long(command[0]))
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=os.name != "nt",
    )
    output = bytearray()
    reader = Thread(target=_keep, args=(process.stdout, output), daemon=True)
    reader.start()
    try:
        process.wait(seconds)
    except BaseException as error:
        _kill(process)
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        with _hanging_lock:
            _hanging.add(command[0])
        raise Hangs(_too_long(command[0])) from None
    reader.join(1.0)  # a program that it has left running may hold its output open
    return process.returncode, output.decode(errors="replace")


def _keep(file: IO[bytes], kept: bytearray) -> None:
    """Reads an output to its end and keeps the beginning of it."""
    with contextlib.suppress(OSError, ValueError), file:  # it may be closed meanwhile
        while chunk := os.read(file.fileno(), 1 << 16):
            kept += chunk[: KEPT_OUTPUT - len(kept)]


def _too_long(program: str) -> str:
    return f"the C compiler {program} did not end in time, and was stopped"


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Ends the compiler with the programs that it has started."""
    if os.name == "nt":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
