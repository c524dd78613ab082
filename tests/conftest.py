import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

# Kernels that tests compile stay out of the user's own cache, and are kept from run to run.
CACHE = Path(__file__).parent.parent / ".cache"
os.environ["XDG_CACHE_HOME"] = str(CACHE)
os.environ["TRITON_CACHE_DIR"] = str(CACHE / "triton")

# Kernels for a GPU are interpreted here, which Triton must know when it loads.
os.environ.setdefault("TRITON_INTERPRET", "1")

torch.set_num_threads(1)  # tests run side by side, one process a core

# The same examples every time here; HYPOTHESIS_PROFILE=nightly looks for new ones.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=120)
settings.register_profile("nightly", deadline=None, max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: compilers and browsers are waited for."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def quick_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that are built sooner and run slower, where a test builds many of its own."""
    from unspool.engine import c_build

    quick = ["-O0" if flag == "-O2" else flag for flag in c_build.FLAGS]
    monkeypatch.setattr(c_build, "FLAGS", quick)
