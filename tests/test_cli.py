"""The command line as a person uses it."""

import json
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest
from typer.testing import CliRunner

import unspool as us
from unspool.cli import app


def run(*args: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from unspool.cli import main; main()", *args]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def test_cells_lists_every_one() -> None:
    lines = CliRunner().invoke(app, ["cells"]).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(us.cells.named())
    (lstm,) = (line for line in lines if line.startswith("lstm "))
    assert "h, c" in lstm
    assert "4*hidden*input + 4*hidden*hidden + 4*hidden" in lstm
    assert "Gers et al. 2000" in lstm


@pytest.mark.parametrize("name", us.cells.named())
def test_explain_every_cell(name: str) -> None:
    first = next(iter(us.cells.named()[name].equations.matrices))
    shown = {"": f"    d{first}", "--latex": r"\paragraph{Over time.}", "--softmax": "softmax(y)"}
    shown["--plan"] = f"{first} @ x"
    for option, part in shown.items():
        result = CliRunner().invoke(app, ["explain", name, *([option] if option else [])])
        assert result.exit_code == 0
        assert part in result.stdout


def test_explain_text_file_and_stdin(tmp_path: Path) -> None:
    text = "m' = tanh(A @ x + B @ m)"
    file = tmp_path / "mine.cell"
    file.write_text(text)
    for which, stdin in ((text, None), (str(file), None), ("-", text)):
        result = CliRunner().invoke(app, ["explain", which], input=stdin)
        assert "dB = sum_t da_m m^T" in result.stdout
    assert CliRunner().invoke(app, ["explain", str(file)]).stdout.startswith("mine\n")


ODD = "o = W_o @ x\nh' = tanh(W @ x + U @ h)"
IDLE = "line 1: o is computed, and nothing reads it (W_o serves it alone)\n    o = W_o @ x\n    ^\n"


def test_explain_prints_warnings_on_its_page(tmp_path: Path) -> None:
    file = tmp_path / "odd.cell"
    file.write_text(ODD)
    page = run("explain", str(file))
    assert page.stdout.partition("\nWarnings\n")[2].startswith(indent(IDLE, "    "))
    assert page.stderr == ""
    found = json.loads(run("explain", str(file), "--json").stdout)["warnings"]
    assert [text[: len(IDLE)] for text in found] == [IDLE]
    for option in ("--latex", "--plan"):  # the page has no place for them
        other = run("explain", str(file), option)
        assert "nothing reads it" not in other.stdout
        assert other.stderr.startswith(f"warning: {IDLE}")
    assert "Warnings" not in run("explain", "lstm").stdout


def test_explain_with_numbers() -> None:
    sizes = ["--size", "input=3", "--size", "hidden=4", "--size", "proj=2"]
    out = CliRunner().invoke(app, ["explain", "lstm_projected", *sizes]).stdout
    assert "U_i  hidden x proj = 4 x 2" in out
    assert "= 104 numbers" in out


@pytest.mark.parametrize(
    ("which", "yardstick"), [("gru_after", "torch.nn "), ("m' = tanh(x + m)", "torch.nn.LSTM")]
)
def test_bench_shows_three_candidates(which: str, yardstick: str) -> None:
    result = CliRunner().invoke(app, ["bench", which, "--shape", "3x2x4", "--rounds", "1"])
    assert result.exit_code == 0
    title, _, *rows = result.stdout.splitlines()
    assert "3 steps, 2 rows, 4 units" in title
    assert [row.split("  ")[2] for row in rows][:2] == ["compiled", "a loop in torch"]
    assert yardstick in rows[2]
    assert all(row.count("x") == 2 for row in rows[1:])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["explain", "LSTMM"],
            "'LSTMM' is neither a cell nor a file; did you mean lstm? The cells",
        ),
        (["explain", "q" * 400], "'" + "q" * 80),
        (["explain", "gru", "--latex", "--size", "hidden=4"], "--size puts numbers into the text;"),
        (
            ["explain", "gru", "--size", "hidden=4", "--size", "hidden=5"],
            "--size gives hidden twice",
        ),
        (["explain", "h' = sigmod(x)"], "line 1: there is no function 'sigmod'"),
        (["explain", "gru", "--size", "hidden"], "--size takes NAME=N, for example hidden=128"),
        (["explain", "gru", "--size", "hidden=4"], "gru needs the size 'input'"),
        (["explain", "mut1", "--size", "input=3", "--size", "hidden=4"], "mut1 needs input = hid"),
        (["bench", "gru", "--shape", "50x16"], "a shape is steps x rows x units, as in 50x16x128"),
        (["bench", "gru", "--shape", "0x1x2"], "a shape is steps x rows x units"),
        (["bench", "gru", "--device", "tpu"], "--device is cpu or cuda, not 'tpu'"),
        (["bench", "gru", "--dtype", "int8"], "--dtype is one of float32, bfloat16, float16"),
        (["bench", "gru", "--dtype", "bfloat16"], "the kernels for a CPU compute in float32"),
        (["bench", "grru"], "'grru' is neither a cell nor a file; did you mean gru?"),
    ],
)
def test_mistakes_get_a_message(args: list[str], message: str) -> None:
    result = run(*args)
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {message}")
    assert "Traceback" not in result.stderr
    assert not result.stdout


def test_version_and_help() -> None:
    assert run("--version").stdout.strip() == us.__version__
    assert "explain" in run("--help").stdout
    assert "No such command" in run("nonsense").stderr


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "cell"
    file.write_bytes(b"h' = \xff\xfe")
    result = run("explain", str(file))
    assert result.returncode == 1
    assert f"error: {file} is not UTF-8 text (byte 5)" in result.stderr
    file.write_text("h' = x\ny = sigmod(x)")
    assert (
        f"error: {file}, line 2: there is no function 'sigmod'" in run("explain", str(file)).stderr
    )
