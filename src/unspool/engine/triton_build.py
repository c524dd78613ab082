"""Printed kernels to functions: a module of their own in the private cache, compiled by Triton."""

import hashlib
import importlib.util
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from unspool.engine.c_build import CannotBuild, cache_folder


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
    problem = why_not()
    if problem:
        raise CannotBuild(problem)


@lru_cache(maxsize=1024)
def load(source: str) -> Any:
    """The kernel of a source. Triton reads a function's text from its file, so there is one."""
    check()
    key = hashlib.sha256(source.encode()).hexdigest()[:24]
    path = cache_folder() / f"kernel_{key}.py"
    try:
        if not path.exists() or path.read_text() != source:
            _write(path, source)
    except OSError as error:
        raise CannotBuild(f"a kernel could not be written to {path}: {error}") from None
    spec = importlib.util.spec_from_file_location(f"unspool_kernel_{key}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run


def _write(path: Path, source: str) -> None:
    """Under another name first: processes may write side by side."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".py", delete=False) as file:
        file.write(source)
    os.replace(file.name, path)
