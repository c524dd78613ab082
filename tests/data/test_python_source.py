"""The standard library as text, against a slow walk over the folders."""

import os
import sysconfig
from pathlib import Path

import pytest

from unspool.data.python_source import python_source


def walked() -> list[tuple[list[str], Path]]:
    root = Path(sysconfig.get_path("stdlib"))
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            if name.endswith(".py"):
                found.append((str(path.relative_to(root)).split(os.sep), path))
    return sorted(found)


def test_it_is_the_files_in_order_without_tests_and_packages() -> None:
    out = ("test", "tests", "idlelib", "lib2to3", "site-packages", "dist-packages", "__pycache__")
    texts = []
    for parts, path in walked():
        if any(part in out for part in parts) or parts[0].startswith(("config-", "_sysconfigdata")):
            continue
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        texts.append(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    assert python_source() == "\n".join(texts)


@pytest.mark.parametrize("limit", [0, 1, 5_000, 300_000])
def test_a_limit_gives_the_beginning(limit: int) -> None:
    text = python_source(limit)
    assert len(text) == limit
    assert python_source(400_000).startswith(text)


def test_it_is_source() -> None:
    text = python_source(2_000_000)
    assert "class OrderedDict(dict):" in text
    assert "\r" not in text


def test_files_of_a_made_up_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "b.py": b"b = 1\r\n", "a.py": b"\xef\xbb\xbfa = 1\n", "a-b/c.py": b"c\n", "a/z.py": b"z\n",
        "latin.py": b"# \xe9\n", "test/t.py": b"t\n", "a/tests/t.py": b"t\n", "note.txt": b"n\n",
        "_sysconfigdata_x.py": b"s\n", "config-3/d.py": b"d\n", "testing.py": b"kept\n",
        "site-packages/p.py": b"p\n", "idlelib/i.py": b"i\n", "lib2to3/l.py": b"l\n",
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    assert python_source() == "z\n\nc\n\na = 1\n\nb = 1\n\nkept\n"


def test_no_source_and_no_sense_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="0 or more, or None; got -3"):
        python_source(-3)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(ValueError, match="no module's source lies in"):
        python_source()
