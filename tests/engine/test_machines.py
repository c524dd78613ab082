"""Kernels on machines where something is missing, broken or hostile: right numbers in all.

A condition prepares a machine and says what the user is told: nothing (kernels run and are kept),
that kernels cannot be kept (they are compiled in a folder of this process), or that cells run
without them.
"""

import ctypes
import errno
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import unspool as us
from unspool.engine import c_build, cache, say, triton_build
from unspool.engine.programs import backward_program, forward_program

KEPT, NOT_KEPT, PLANNED = "", "compiled kernels cannot be kept", "without compiled kernels"
CC = shutil.which("cc") or ""
RUBBISH = r'printf "\377\376 \303"'  # in a shell: bytes that are not UTF-8


@dataclass
class Machine:
    """What a condition may change; everything is put back after the test."""

    folder: Path
    patch: pytest.MonkeyPatch

    @property
    def cache(self) -> Path:
        return self.folder / "cache" / "unspool"

    def compiler(self, *script: str) -> None:
        """Makes CC a shell script; $OUT is the file that is to be written."""
        path = self.folder / "compiler"
        out = 'for word in "$@"; do [ "$before" = -o ] && OUT=$word; before=$word; done'
        version = '[ "$1" = --version ] && echo "a compiler 1.0" && exit 0'
        lines = ["#!/bin/sh", *([] if "no version" in script else [version]), out]
        path.write_text("\n".join([*lines, *(line for line in script if line != "no version"), ""]))
        path.chmod(0o755)
        self.patch.setenv("CC", str(path))

    def replaced(self, change: Callable[[Path], object], ending: str = ".so") -> None:
        """Changes every library, or checksum, that a first process has left in the cache."""
        run()
        forget()
        for path in list(self.cache.glob(f"*{ending}")):
            change(path)


def forget() -> None:
    """What a new process does not know."""
    for known in (c_build._load, c_build._compiler, c_build.compiler, c_build.processor):
        known.cache_clear()
    for program in (forward_program, backward_program, cache.temporary_folder):
        program.cache_clear()
    c_build._hanging.clear()
    c_build._unusable.clear()
    say._said.clear()


@pytest.fixture
def machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_compiler: None
) -> Iterator[Machine]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("CC", raising=False)
    forget()
    yield Machine(tmp_path, monkeypatch)
    forget()


def run() -> None:
    """Compares the outputs and gradients of a cell with the reference."""
    torch.manual_seed(0)
    cell, xs = us.cells.MinGRU(3, 5).double(), torch.randn(4, 2, 3, dtype=torch.float64)
    found = []
    for backend in ("auto", "reference"):
        ys, _ = us.unfold(cell, xs, backend=backend)
        ys.square().sum().backward()
        found.append([ys, *(p.grad for p in cell.parameters())])
        cell.zero_grad()
    torch.testing.assert_close(*found, rtol=1e-12, atol=1e-12)


def read_only(machine: Machine) -> None:
    """A folder of this user where nobody can write, not even root."""
    machine.cache.parent.mkdir()
    machine.cache.symlink_to("/proc/self/task")


def noexec(machine: Machine) -> None:
    load = ctypes.CDLL

    def refuse(path: str) -> ctypes.CDLL:
        if Path(path).is_relative_to(machine.cache):
            raise OSError(f"{path}: failed to map segment from shared object")
        return load(path)

    machine.patch.setattr(ctypes, "CDLL", refuse)


def no_home(machine: Machine) -> None:
    def unknown(_: int) -> None:
        raise KeyError("getpwuid(): uid not found")

    machine.patch.delenv("XDG_CACHE_HOME")
    machine.patch.delenv("HOME", raising=False)
    machine.patch.setattr(pwd, "getpwuid", unknown)


def relative_cache(machine: Machine) -> None:
    machine.patch.setenv("XDG_CACHE_HOME", "somewhere")
    machine.patch.setenv("HOME", str(machine.folder))


def cache_is_a_file(machine: Machine) -> None:
    (machine.folder / "cache").write_text("")


def cache_of_others(machine: Machine) -> None:
    machine.cache.mkdir(parents=True)
    machine.cache.chmod(0o777)


def nul_in_the_name(machine: Machine) -> None:
    machine.patch.setattr(cache, "cache_root", lambda: Path("/tmp/a\0b"))


def make_folder(path: Path) -> None:
    path.unlink()
    (path / "full").mkdir(parents=True)


def make_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()  # else the library that is loaded here changes too
    path.write_bytes(data)


def no_temporary_folder(machine: Machine) -> None:
    def none(**_: object) -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    cache_is_a_file(machine)
    machine.patch.setattr(tempfile, "mkdtemp", none)


def full_disk(machine: Machine) -> None:
    def full(path: Path, text: str, **_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    machine.patch.setattr(Path, "write_text", full)


def no_processor(machine: Machine) -> None:
    read = Path.read_text

    def hidden(path: Path, **how: str) -> str:
        if str(path) == "/proc/cpuinfo":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read(path, **how)

    machine.patch.setattr(Path, "read_text", hidden)


def no_compiler(machine: Machine) -> None:
    machine.patch.setenv("PATH", str(machine.folder))


def cc_is_missing(machine: Machine) -> None:
    machine.patch.setenv("CC", "/nowhere/cc")


def cc_is_no_program(machine: Machine) -> None:
    path = machine.folder / "compiler"
    path.write_bytes(b"\x7fELF and nothing more")
    path.chmod(0o755)
    machine.patch.setenv("CC", str(path))


def cc_is_unreadable(machine: Machine) -> None:
    machine.patch.setenv("CC", "cc 'never closed")


def cc_has_options(machine: Machine) -> None:
    machine.patch.setenv("CC", f"{CC} -fno-ident")


def hangs(machine: Machine) -> None:
    machine.compiler("sleep 1000 & wait")
    machine.patch.setattr(c_build, "TIMEOUT", 0.5)


def hangs_at_once(machine: Machine) -> None:
    machine.compiler("no version", "sleep 1000")
    machine.patch.setattr(c_build, "VERSION_TIMEOUT", 0.5)


def prints_without_end(machine: Machine) -> None:
    machine.compiler("yes")
    machine.patch.setattr(c_build, "TIMEOUT", 0.5)


def first_is_broken(machine: Machine) -> None:
    """A `cc` that only says what to install, as on a Mac without its tools."""
    path = machine.folder / "cc"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    machine.patch.setenv("PATH", f"{machine.folder}:{os.environ['PATH']}")


def script(*lines: str) -> Callable[[Machine], None]:
    return lambda machine: machine.compiler(*lines)


CONDITIONS: dict[str, tuple[Callable[[Machine], None], str]] = {
    "a whole machine": (lambda machine: None, KEPT),
    "read-only cache": (read_only, NOT_KEPT),
    "noexec cache": (noexec, NOT_KEPT),
    "no home": (no_home, NOT_KEPT),
    "relative cache": (relative_cache, KEPT),
    "cache is a file": (cache_is_a_file, NOT_KEPT),
    "cache of others": (cache_of_others, NOT_KEPT),
    "NUL in the cache's name": (nul_in_the_name, NOT_KEPT),
    "checksum is no text": (
        lambda machine: machine.replaced(lambda p: p.write_bytes(b"\xff\xfe\0"), ".sha256"), KEPT
    ),
    "checksum is a folder": (lambda machine: machine.replaced(make_folder, ".sha256"), NOT_KEPT),
    "library is damaged": (lambda machine: machine.replaced(flip_a_bit), KEPT),
    "library is a folder": (lambda machine: machine.replaced(make_folder), NOT_KEPT),
    "library is a FIFO": (lambda machine: machine.replaced(make_fifo), KEPT),
    "no temporary folder": (no_temporary_folder, PLANNED),
    "full disk": (full_disk, PLANNED),
    "processor unknown": (no_processor, KEPT),
    "no compiler": (no_compiler, PLANNED),
    "CC is missing": (cc_is_missing, PLANNED),
    "CC is no program": (cc_is_no_program, PLANNED),
    "CC is unreadable": (cc_is_unreadable, PLANNED),
    "CC has options": (cc_has_options, KEPT),
    "the version is rubbish": (
        script("no version", f"[ $1 = --version ] && {RUBBISH} && exit 3", f'exec {CC} "$@"'),
        KEPT,
    ),
    "the compiler writes nothing": (script("exit 0"), PLANNED),
    "it writes an empty file": (script(': > "$OUT"'), PLANNED),
    "it writes rubbish": (script('echo rubbish > "$OUT"'), PLANNED),
    "it writes no symbol": (script(f'exec {CC} -shared -x c /dev/null -o "$OUT"'), PLANNED),
    "its errors are not UTF-8": (script(f"{RUBBISH} >&2; exit 1"), PLANNED),
    "it crashes": (script("kill -9 $$"), PLANNED),
    "it goes away": (script('rm "$0"; exit 1'), PLANNED),
    "it reads its input": (script(f'cat; exec {CC} "$@"'), KEPT),
    "it prints without end": (prints_without_end, PLANNED),
    "the first one is broken": (first_is_broken, KEPT),
    "it hangs": (hangs, PLANNED),
    "it hangs at once": (hangs_at_once, PLANNED),
}  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_numbers_are_right_on_any_machine(machine: Machine, condition: str) -> None:
    prepare, expected = CONDITIONS[condition]
    prepare(machine)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
        run()
    said = [str(warning.message) for warning in caught]
    assert len(said) == (expected != KEPT), said
    assert all(expected in one for one in said)
    assert expected != KEPT or list(machine.folder.rglob("unspool/*.so"))


def test_a_compiler_that_hangs_is_stopped_with_its_programs_and_not_tried_again(
    machine: Machine,
) -> None:
    log = machine.folder / "log"
    machine.compiler(f"echo tried >> {log}; sleep 1000 & echo $! > {log}.pid; wait")
    machine.patch.setattr(c_build, "TIMEOUT", 2.0)
    with pytest.warns(UserWarning, match="did not end in time"):
        run()
    assert log.read_text().count("tried") <= 2  # both directions are compiled side by side
    child = int(Path(f"{log}.pid").read_text())
    status = Path(f"/proc/{child}/stat")
    assert not status.exists() or status.read_text().split()[2] == "Z"


CODE = """
import os, sys, tempfile
import torch, unspool as us
from unspool.engine import cache
cell, xs = us.cells.JANET(3, 4), torch.randn(3, 2, 3)
ours, theirs = (us.unfold(cell, xs, backend=b)[0] for b in ("auto", "reference"))
torch.testing.assert_close(ours, theirs)
print(cache.temporary_folder())
"""


def test_the_folder_of_a_process_is_removed_when_it_ends(tmp_path: Path) -> None:
    given = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": "/proc", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=given, capture_output=True, text=True, check=True
    )
    assert NOT_KEPT in done.stderr
    assert not list(tmp_path.glob("unspool-*"))


def test_text_is_written_as_utf8_whatever_the_locale(tmp_path: Path) -> None:
    given = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path)}
    given |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    file = tmp_path / "run_cell.py"
    file.write_text(CODE.replace("us.cells.JANET", 'us.cell("ĥ\' = tanh(Ŵ @ x + ĥ)")'), "utf-8")
    done = subprocess.run([sys.executable, file], env=given, capture_output=True, check=False)
    assert not done.returncode, done.stderr.decode()
    assert PLANNED not in done.stderr.decode()


def home_in_proc(machine: Machine) -> None:
    machine.patch.setenv("HOME", "/proc")


@pytest.mark.parametrize("prepare", [home_in_proc, no_home])
def test_triton_gets_a_folder_where_it_cannot_use_its_own(
    machine: Machine, prepare: Callable[[Machine], None]
) -> None:
    prepare(machine)
    machine.patch.setenv("TRITON_CACHE_DIR", "")
    machine.patch.delenv("TRITON_HOME", raising=False)
    with pytest.warns(UserWarning, match=NOT_KEPT):
        triton_build._give_a_folder()
    assert Path(os.environ["TRITON_CACHE_DIR"]).parent == cache.temporary_folder()


def test_triton_keeps_its_own_folder_where_it_can(machine: Machine) -> None:
    machine.patch.setenv("HOME", str(machine.folder))
    machine.patch.delenv("TRITON_CACHE_DIR", raising=False)
    triton_build._give_a_folder()
    assert "TRITON_CACHE_DIR" not in os.environ


def test_a_kernel_that_would_compile_for_minutes_is_not_compiled(machine: Machine) -> None:
    machine.patch.setattr(c_build, "LONGEST_SOURCE", 1000)
    with pytest.warns(UserWarning, match="and over 1,000 take the compiler too long"):
        run()
    assert not list(machine.cache.glob("*.so"))
