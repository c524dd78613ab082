"""Rules of the house that a machine can check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "unspool"
# Each may import those before it.
ORDER = [
    "machine", "equations", "cells", "engine", "layers", "nn", "attention", "text", "data",
    "decode", "models", "metrics", "train", "draw", "inspect", "lab", "studio", "cli",
]  # fmt: skip
FILES = sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":
        return
    allowed = ORDER[: ORDER.index(part) + 1]
    for name in imported(path):
        if name.startswith("unspool."):
            assert name.split(".")[1] in allowed, f"{part} imports {name}"


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in FILES} - {"__init__"} <= set(ORDER)


def test_the_reference_knows_no_plan() -> None:
    assert not any("plan" in name for name in imported(SOURCE / "engine" / "reference.py"))


def test_import_needs_torch_and_numpy_only() -> None:
    """With every other installed package hidden, `import unspool` and a training step work."""
    code = """
import sys
import torch
import importlib.metadata
known = set(sys.modules) | {"torch", "numpy", "unspool", "torchgen", "functorch"}
HIDDEN = {
    top
    for package in importlib.metadata.distributions()
    for top in {str(file).split("/")[0].removesuffix(".py") for file in package.files or ()}
} - {name.split(".")[0] for name in known}
assert {"typer", "rich", "pytest", "hypothesis"} <= HIDDEN
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HIDDEN:
            raise ImportError(name)
sys.meta_path.insert(0, Hide())
import unspool as us
ys, _ = us.unfold(us.cells.GRU(3, 4), torch.randn(5, 2, 3))
ys.sum().backward()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_evaluates_text_or_unpickles(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("eval", "exec", "compile", "__import__")
    assert not any(re.match(r"(pickle|marshal|shelve|dill)\b", name) for name in imported(path))
