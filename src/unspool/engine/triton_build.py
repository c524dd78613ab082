"""Printed kernels to functions: a module of their own in the private cache, compiled by Triton."""

import hashlib
import importlib.util
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from unspool.engine.c_build import CannotBuild
from unspool.engine.cache import check_usable, temporary_folder, user_folder
from unspool.engine.say import say_once_not_kept


@lru_cache(maxsize=1)
def why_not() -> str | None:
    """What stands against Triton here."""
    try:
        import triton  # noqa: F401
    except ImportError as error:
        return f"Triton is not installed ({error}); it comes with torch's builds for CUDA"
    except Exception as error:  # of whatever it loads
        return f"Triton cannot be loaded: {error}"
    return None


def check() -> None:
    """Raises CannotBuild where Triton cannot be used; gives it a folder to write to."""
    problem = why_not()
    if problem:
        raise CannotBuild(problem)
    try:
        _give_a_folder()
    except OSError as error:
        raise CannotBuild(f"Triton has no folder that it can write to: {error}") from None


def _give_a_folder() -> None:
    """Has Triton keep what it compiles in a folder of this process, where it cannot use its own:
    in a home that is missing, read-only, or on a file system that runs nothing."""
    if any(os.environ.get(name) for name in ("TRITON_CACHE_DIR", "TRITON_HOME")):
        return
    own = Path(os.path.expanduser("~/.triton/cache"))  # as Triton asks; unchanged without a home
    try:
        if not own.is_absolute():
            raise OSError("there is no home")
        own.mkdir(parents=True, exist_ok=True)
        check_usable(own)
    except OSError as error:
        os.environ["TRITON_CACHE_DIR"] = str(temporary_folder() / "triton")
        say_once_not_kept(f"Triton cannot use {own}: {error}")


@lru_cache(maxsize=1024)
def load(source: str) -> Any:
    """The kernel of a source. Triton reads a function's text from its file, so there is one."""
    check()
    key = hashlib.sha256(source.encode()).hexdigest()[:24]
    path = _in_a_file(source, f"kernel_{key}.py")
    spec = importlib.util.spec_from_file_location(f"unspool_kernel_{key}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run


def _in_a_file(source: str, name: str) -> Path:
    """The path of a file with this text, in the cache or else in a folder of this process."""
    problem: OSError | None = None
    for folder in (user_folder, temporary_folder):
        try:
            path = folder() / name
            if not path.is_file() or path.read_bytes() != source.encode():
                _write(path, source)
            return path
        except OSError as error:
            problem = error
    raise CannotBuild(f"a kernel could not be written: {problem}")


def _write(path: Path, source: str) -> None:
    """Under another name first: processes may write side by side."""
    with tempfile.TemporaryDirectory(dir=path.parent, ignore_cleanup_errors=True) as folder:
        unfinished = Path(folder) / path.name
        unfinished.write_bytes(source.encode())
        os.replace(unfinished, path)
