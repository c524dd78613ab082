"""C source to a loaded library: compiled once, kept in a private cache, checked before it is used.

The cache is keyed by a hash of source, flags, compiler and processor. A file is built under a
temporary name and renamed, so that processes may build side by side; its own hash stands in its
name's companion, and a damaged file is built again.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from unspool.equations.functions import LAYER_NORM_EPS

FLAGS = ["-O2", "-march=native", "-std=gnu11", "-fPIC", "-shared", "-fno-math-errno", "-fopenmp"]
FLAGS += os.environ.get("UNSPOOL_CFLAGS", "").split()  # for sanitizers and debuggers
PRELUDE = Path(__file__).with_name("prelude.h")


class CannotBuild(Exception):
    """There is no compiler, or it refused the source: what it said."""


@lru_cache(maxsize=1)
def compiler() -> tuple[str, str]:
    """The C compiler and what it says of itself."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and (path := shutil.which(name)):
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
            return path, said.stdout
    raise CannotBuild("no C compiler was found (cc, gcc or clang): install one, or set CC")


@lru_cache(maxsize=1)
def processor() -> str:
    """What -march=native depends on."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        wanted = ("model name", "flags", "Features", "CPU part")
        lines = info.read_text().split("\n\n")[0].split("\n")
        return "\n".join(line for line in lines if line.startswith(wanted))
    return f"{platform.machine()} {platform.processor()}"


def accumulators() -> int:
    """Vector registers that a tile's sums may take: about three of four."""
    wide = "avx512f" in processor() or platform.machine() == "aarch64"
    return 24 if wide else 12


def multiplies_halves() -> bool:
    """Whether there are instructions for products of bfloat16, added up in float."""
    return "avx512_bf16" in processor()


def cache_folder() -> Path:
    """A folder of the user's own; nobody else may write there, since what is in it is run."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(root) / "unspool"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        private = status.st_uid == os.getuid() and not status.st_mode & 0o022
    except OSError:
        private = False
    return folder if private else _temporary_folder()


@lru_cache(maxsize=1)
def _temporary_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="unspool-"))


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


def _load_or_build(source: str, real: str) -> ctypes.CDLL:
    path, version = compiler()
    defines = [f"-DREAL={real}", f"-DLAYER_NORM_EPS={LAYER_NORM_EPS!r}"]
    everything = "\0".join([source, PRELUDE.read_text(), *FLAGS, *defines, version, processor()])
    key = hashlib.sha256(everything.encode()).hexdigest()
    library = cache_folder() / f"{key}.so"
    if not _is_whole(library):
        _build(path, source, defines, library)
    return ctypes.CDLL(str(library))


def _is_whole(library: Path) -> bool:
    try:
        expected = library.with_suffix(".sha256").read_text()
        return hashlib.sha256(library.read_bytes()).hexdigest() == expected
    except OSError:
        return False


def _build(path: str, source: str, defines: list[str], library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        text, made = Path(folder) / "kernel.c", Path(folder) / "kernel.so"
        text.write_text(source)
        include = ["-I", str(PRELUDE.parent)]
        command = [path, *FLAGS, *defines, *include, str(text), "-o", str(made), "-lm"]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        if said.returncode:
            raise CannotBuild(f"{path} refused a kernel:\n{said.stderr[:2000]}")
        digest = hashlib.sha256(made.read_bytes()).hexdigest()
        note = Path(folder) / "kernel.sha256"
        note.write_text(digest)
        os.replace(made, library)
        os.replace(note, library.with_suffix(".sha256"))
