"""The demo: a cell given as text, explained and trained."""

import json

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from unspool.cells.cell import CellType, cell
from unspool.cli.app import Json, app
from unspool.equations.explain import Explanation, explain_text
from unspool.lab import MemoryRun, learn_first_symbol

DEMO_CELL = """
r  = sigmoid(W_r @ x + U_r @ h + b_r)
z  = sigmoid(W_z @ x + U_z @ h + b_z)
n  = tanh(W_n @ x + U_n @ (r * h) + b_n)
h' = z * h + (1 - z) * n
"""


@app.command()
def demo(as_json: Json = False) -> None:
    """Explain a cell given as text, then train it to remember."""
    console = Console()
    if as_json:
        run = learn_first_symbol(cell(DEMO_CELL))
        print(json.dumps({"accuracy": run.accuracy, "losses": run.losses}))
        return
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
