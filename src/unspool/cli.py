"""The command line: each function below is a command, its signature the options."""

import difflib
import sys
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import unspool
from unspool.cells import named
from unspool.cells.cell import CellType, cell, check_sizes
from unspool.engine.plan import make_plan
from unspool.engine.plan_text import plan_text
from unspool.equations.errors import EquationError
from unspool.equations.explain import Explanation, count_text, explain_text, with_softmax
from unspool.equations.explain_latex import explain_latex
from unspool.lab import MemoryRun, learn_first_symbol, speed

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Recurrent sequence models whose equations are the program.",
)

DEMO_CELL = """
r  = sigmoid(W_r @ x + U_r @ h + b_r)
z  = sigmoid(W_z @ x + U_z @ h + b_z)
n  = tanh(W_n @ x + U_n @ (r * h) + b_n)
h' = z * h + (1 - z) * n
"""


def main() -> None:
    """The entry point: a user's mistake becomes one message, never a traceback."""
    try:
        app()
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


@app.command()
def cells() -> None:
    """List every cell: its states, its parameters, where it comes from."""
    head = ("cell", "states", "parameters", "source")
    rows = [head] + [
        (name, ", ".join(kind.equations.states), count_text(kind.equations), kind.source)
        for name, kind in named().items()
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head) - 1)]
    for row in rows:
        padded = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
        print("  ".join([*padded, row[-1]]))


@app.command()
def explain(
    which: Annotated[
        str,
        typer.Argument(metavar="CELL", help="A cell's name, a file, - for stdin, or equations."),
    ],
    latex: Annotated[bool, typer.Option("--latex", help="For a paper.")] = False,
    softmax: Annotated[
        bool, typer.Option("--softmax", help="With a softmax output and cross-entropy loss.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="What runs before, in and after the loop over time.")
    ] = False,
    size: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", help="A size, e.g. hidden=128; give all to see numbers."),
    ] = None,
) -> None:
    """Show a cell's equations, parameters, derived backward step and sums over time."""
    kind = find_cell(which)
    eqs = with_softmax(kind.equations) if softmax else kind.equations
    title = kind.name + (f" ({kind.source})" if kind.source else "")
    if plan:
        print(plan_text(make_plan(eqs)))
        return
    about = Explanation(title, eqs, softmax)
    if latex and size:
        raise ValueError("--size puts numbers into the text; the LaTeX form keeps names: drop one")
    sizes = parse_sizes(size) if size else None
    if sizes is not None:
        check_sizes(CellType(eqs, kind.name), sizes)
    print(explain_latex(about) if latex else explain_text(about, sizes))


@app.command()
def bench(
    which: Annotated[
        str, typer.Argument(metavar="CELL", help="As for explain: a name, a file, equations.")
    ] = "lstm",
    shape: Annotated[
        str, typer.Option(metavar="TxBxH", help="Steps, rows of a batch, units.")
    ] = "50x16x128",
    rounds: Annotated[int, typer.Option(min=1, help="How often each candidate has its turn.")] = 5,
) -> None:
    """Time a cell: its kernels against a loop in torch and against torch.nn."""
    kind, (T, B, H) = find_cell(which), parse_shape(shape)
    candidates = speed.layers(kind, H, ["auto", "planned"])
    yardstick = "torch.nn" if "torch.nn" in candidates else "torch.nn.LSTM"
    if yardstick not in candidates:
        candidates |= {yardstick: speed.layers(named()["lstm"], H, [])["torch.nn"]}
    names = {"auto": "compiled", "planned": "a loop in torch", yardstick: yardstick}
    threads = torch.get_num_threads()
    print(f"{kind.name}: {T} steps, {B} rows, {H} units, float32, {threads} threads; medians of ms")
    print(f"    {'':<16}{'forward':>10}{'':>10}{'forward+backward':>20}")
    found = {mode: speed.measure(candidates, T, B, H, mode, rounds) for mode in speed.MODES}
    for name, label in names.items():
        row = f"    {label:<16}"
        for mode, width in zip(speed.MODES, (10, 20), strict=True):
            row += f"{speed.median(found[mode][name]) * 1e3:>{width}.3f}"
            times = speed.median(speed.ratios(found[mode], "auto", name))
            row += f"{times:>9.2f}x" if name != "auto" else " " * 10
        print(row.rstrip())


def parse_shape(text: str) -> tuple[int, int, int]:
    parts = text.split("x")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) for part in parts):
        raise ValueError(f"a shape is steps x rows x units, as in 50x16x128, not {text!r}")
    T, B, H = map(int, parts)
    return T, B, H


@app.command()
def demo() -> None:
    """Explain a cell given as text, then train it to remember."""
    console = Console()
    gru = cell(DEMO_CELL, name="a GRU, as its lecture writes it")
    print(explain_text(Explanation(gru.name, gru.equations), {"input": 8, "hidden": 32}))
    console.print("\nTraining it to remember the first of 20 symbols (8 kinds, 19 distractors)\n")
    run = train_with_progress(gru, console)
    console.print(f"\nOn 1,000 new sequences it names the first symbol in {run.accuracy:.1%}.")
    console.print("Guessing would give 12.5%. What its lines do, on average, step by step:\n")
    for name, means in run.lines.items():
        low, high = means.min().item(), means.max().item()
        print(f"    {name:<2} {sparkline(means.tolist())}  {low:+.2f} to {high:+.2f}")
    console.print("\nz is the share of the old state that each step keeps. Every line of every")
    console.print("cell can be looked at like this. Next: unspool explain lstm --softmax")


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(unspool.__version__)
        raise typer.Exit


def find_cell(which: str) -> CellType:
    """A cell by name, from a file, from standard input, or from the equations themselves."""
    if which in named():
        return named()[which]
    if "=" in which:
        return cell(which)
    if which == "-":
        return cell(sys.stdin.read())
    path = Path(which)
    if len(which) < 256 and path.is_file():
        return read_cell(path)
    plain = {name.replace("_", ""): name for name in named()}
    close = difflib.get_close_matches(which.lower().replace("_", ""), plain, 1)
    meant = f"did you mean {plain[close[0]]}? The" if close else "the"
    raise ValueError(
        f"{which[:80]!r} is neither a cell nor a file; {meant} cells are {', '.join(named())}; "
        'equations can be given as text too: unspool explain "h\' = tanh(W @ x + U @ h)"'
    )


def read_cell(path: Path) -> CellType:
    try:
        return cell(path.read_text(encoding="utf-8-sig"), name=path.stem)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text (byte {error.start})") from None
    except EquationError as error:
        raise ValueError(f"{path}, {error}") from None


def parse_sizes(given: list[str]) -> dict[str, int]:
    sizes = {}
    for item in given:
        name, _, value = item.partition("=")
        if not name or not value.isdecimal():
            raise ValueError(f"--size takes NAME=N, for example hidden=128; got {item!r}")
        if name in sizes:
            raise ValueError(f"--size gives {name} twice")
        sizes[name] = int(value)
    return sizes


def train_with_progress(kind: CellType, console: Console) -> MemoryRun:
    """A bar on a terminal, a line every tenth of the way elsewhere."""
    updates = 300
    if not console.is_terminal:

        def report(update: int, loss: float) -> None:
            if update % (updates // 10) == 0:
                print(f"update {update} of {updates}: loss {loss:.3f}", flush=True)

        return learn_first_symbol(kind, updates=updates, on_update=report)
    columns = (
        TextColumn("loss {task.fields[loss]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=updates, loss="     ")

        def advance(update: int, loss: float) -> None:
            progress.update(task, completed=update, loss=f"{loss:.3f}")

        return learn_first_symbol(kind, updates=updates, on_update=advance)


def sparkline(values: list[float]) -> str:
    """Small bars from the lowest value to the highest."""
    low, high = min(values), max(values)
    scale = 7 / ((high - low) or 1.0)
    return "".join("▁▂▃▄▅▆▇█"[round((value - low) * scale)] for value in values)
