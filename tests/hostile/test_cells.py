"""Cells from anybody: short texts that stand for vast vectors, programs or parameters."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.attack import attack, guarded, refused
from tests.hostile.folders import edit, sign_cell
from unspool.equations import limits
from unspool.studio.desk import Desk
from unspool.studio.questions import ask


def doubled(times: int) -> str:
    lines = [f"a{k + 1} = concat(a{k}, a{k})" for k in range(times)]
    return "\n".join(["a0 = x", *lines, f"h' = tanh(W @ a{times} + U @ h)"])


def balanced(name: str, times: int) -> str:
    """A sum of a name with itself, in brackets so that it is not deep."""
    if times == 1:
        return name
    return f"({balanced(name, times // 2)} + {balanced(name, times - times // 2)})"


# A cell's text, and what the one error says.
TOO_LARGE = {
    "concat that doubles": (doubled(22), "joins over 1,000 vectors"),
    "concat that doubles once too often": (doubled(10), "joins over 1,000 vectors"),
    "a text without an end": ("h' = x\n" * 5000, "characters"),
    "many equations": ("\n".join(f"a{k} = x" for k in range(300)), "over 200 equations"),
    "a long line": ("h' = x" + " + x" * 400, "1,000 are allowed"),
    "a long line in brackets": ("h' = (x" + " +\n x" * 400 + ")", "1,000 are allowed"),
    "a long name": (f"h' = {'a' * 500} * x + h", "this name has 500 characters"),
    "a long number": (f"h' = {'9' * 900} * x + h", "not a real number"),
    "an exponent without an end": ("h' = 1e999999999 * x + h", "not a real number"),
    "brackets": (f"h' = {'(' * 400}x{')' * 400} + h", "nested over 60 deep"),
    "signs": (f"h' = {'-' * 400}x + h", "over 60 operations deep"),
    "functions": (f"h' = {'abs(' * 100}x{')' * 100}", "nested over 60 deep"),
    "powers": (f"h' = x{'**2' * 200} + h", "over 60 operations deep"),
    "states": ("\n".join(f"s{k}' = x" for k in range(60)) + "\ny = x", "50 are allowed"),
    "one name very often": (
        f"a = {balanced('x', 150)}\nb = {balanced('x', 150)}\nh' = a + b",
        "x stands over 200 times",
    ),
    "operands": (
        "\n".join(f"a{k} = {'+'.join([f'b{k}'] * 50)}" for k in range(45)) + "\nh' = x",
        "operands; 2,000 are allowed",
    ),
    "parameters": (
        "\n".join(f"a{k} = x * (b{k} + c{k})" for k in range(170)) + "\nh' = x",
        "parameters; 300 are allowed",
    ),
    "a declared size": ("h: 99999999999\nh' = tanh(W @ x + h)", "16,777,216 is the largest"),
    "a size of 5,000 digits": (f"h: {'9' * 900}\nh' = W @ x + h", "16,777,216 is the largest"),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_is_too_large_is_refused(name: str) -> None:
    text, said = TOO_LARGE[name]
    assert said in refused("explain", text)


@pytest.mark.parametrize("name", ["concat that doubles", "a text without an end", "states"])
def test_in_a_file(name: str, tmp_path: Path) -> None:
    text, said = TOO_LARGE[name]
    path = tmp_path / "cell.txt"
    path.write_text(text)
    assert said in refused("explain", path)


@pytest.mark.parametrize("name", ["concat that doubles", "a declared size", "states"])
def test_in_a_mailed_run(mailed: Callable[..., Path], name: str) -> None:
    text, said = TOO_LARGE[name]
    run = mailed()
    edit(run, **{"model.cell": text})
    assert said in refused("score", run, text="def", inside=[run])


@pytest.mark.parametrize("name", ["concat that doubles", "brackets", "a declared size"])
def test_in_the_editor(name: str) -> None:
    text, said = TOO_LARGE[name]
    with guarded():
        assert said in ask(Desk(), "cell", {"equations": text})["error"]["message"]


# Within the limits of the language, and more than a picture of the gradients is made of.
LARGE = {
    "states": "h: 16000000\nh' = tanh(W @ x + h)",
    "lines": "a: 16000000\na = b * 1\nh' = tanh(W @ x + h)\nc = a + a",
    "parameters": "a: 100000\nb: 50000\na = A @ x\nb = B @ a\nh' = tanh(W @ b + h)",
}


@pytest.mark.parametrize("what", LARGE)
def test_gradients_of_a_large_cell_are_refused_in_the_editor(what: str) -> None:
    with guarded():
        answer = ask(Desk(), "cell", {"equations": LARGE[what]})
    assert answer["error"] is None
    assert "choose fewer units" in answer["flow"]["error"]


def test_parameters_beyond_the_memory_are_not_made() -> None:
    text = "a: 16000000\nb: 16000000\na = A @ x\nb = B @ a\nh' = tanh(W @ b + h)"
    said = refused("bench", text, "--shape", "2x1x2")
    assert "this machine has" in said


def test_the_largest_that_is_allowed_is_explained_in_time() -> None:
    lines = [f"a{k + 1} = tanh(W @ a{k})" for k in range(limits.LINES - 3)]
    text = "\n".join(["a0 = x", *lines, f"h' = a{limits.LINES - 3} + h"])
    assert attack("explain", text).status == 0
    assert attack("explain", doubled(9)).status == 0


def test_a_mailed_cell_that_fits_the_checksum_is_still_held_to_the_weights(
    mailed: Callable[..., Path],
) -> None:
    run = mailed()
    edit(run, **{"model.cell": "a: 16000000\na = A @ x\nh' = tanh(W @ a + U @ h)"})
    sign_cell(run)
    assert "do not go with" in refused("score", run, text="def", inside=[run])
    assert json.loads((run / "checksums.json").read_text())
