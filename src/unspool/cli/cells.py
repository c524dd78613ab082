"""Commands about cells: what there is, what follows from the equations, how fast it runs."""

import json
import re
from textwrap import indent
from typing import Annotated, Any

import torch
import typer

from unspool.cells import named
from unspool.cells.cell import CellType, check_sizes
from unspool.cells.find import find_cell, warn_of_slips
from unspool.cli.app import Json, app
from unspool.engine.kernels import planned_equations, why_not
from unspool.engine.plan_text import plan_text
from unspool.engine.planning import make_plan
from unspool.equations.explain import Explanation, count_text, explain_text, with_softmax
from unspool.equations.explain_latex import explain_latex
from unspool.equations.slips import slips
from unspool.lab import speed
from unspool.text.printable import message


@app.command()
def cells(as_json: Json = False) -> None:
    """List every cell: its states, its parameters, where it comes from."""
    if as_json:
        print(json.dumps([_about(kind) for kind in named().values()], ensure_ascii=False))
        return
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
    as_json: Json = False,
) -> None:
    """Show a cell's equations, parameters, derived backward step and sums over time."""
    kind = find_cell(which)
    eqs = with_softmax(kind.equations) if softmax else kind.equations
    title = kind.name + (f" ({kind.source})" if kind.source else "")
    found = [str(slip) for slip in slips(kind.equations)]
    facts = _about(kind) | {"warnings": found}
    if not as_json and (plan or latex):  # neither page has a place for them
        warn_of_slips([kind])
    if plan:
        text = plan_text(make_plan(planned_equations(eqs)))
        print(json.dumps(facts | {"plan": text}, ensure_ascii=False) if as_json else text)
        return
    about = Explanation(title, eqs, softmax)
    if latex and size:
        raise ValueError("--size puts numbers into the text; the LaTeX form keeps names: drop one")
    sizes = parse_sizes(size) if size else None
    if sizes is not None:
        check_sizes(CellType(eqs, kind.name), sizes)
    kernels = why_not(kind.equations, sizes)
    text = explain_latex(about) if latex else explain_text(about, sizes) + _kernels_text(kernels)
    if as_json:
        print(json.dumps(facts | {"explanation": text, "kernels": kernels}, ensure_ascii=False))
        return
    print(text)
    if found and not latex:
        print("\nWarnings\n" + indent(message("\n\n".join(found)), "    "))


def _kernels_text(kernels: dict[str, str | None]) -> str:
    """Whether the cell is compiled, or why it is not."""
    if not any(kernels.values()):
        return "\n\nCompiled kernels\n    yes, for the CPU and for a GPU"
    rows = [f"    {where}: {problem or 'yes'}" for where, problem in kernels.items()]
    if len({*kernels.values()}) == 1:
        rows = [f"    no: {next(iter(kernels.values()))}"]
    return "\n".join(["\n\nCompiled kernels", *rows])


def _about(kind: CellType) -> dict[str, Any]:
    eqs = kind.equations
    return {
        "name": kind.name,
        "equations": eqs.text,
        "states": list(eqs.states),
        "parameters": list(eqs.parameters),
        "numbers": count_text(eqs),
        "source": kind.source,
    }


@app.command()
def bench(
    which: Annotated[
        str, typer.Argument(metavar="CELL", help="As for explain: a name, a file, equations.")
    ] = "lstm",
    shape: Annotated[
        str, typer.Option(metavar="TxBxH", help="Steps, rows of a batch, units.")
    ] = "50x16x128",
    rounds: Annotated[int, typer.Option(min=1, help="How often each candidate has its turn.")] = 5,
    device: Annotated[str, typer.Option(metavar="DEVICE", help="cpu, or cuda for a GPU.")] = "cpu",
    dtype: Annotated[
        str, typer.Option(metavar="DTYPE", help="float32; on a GPU also bfloat16 and float16.")
    ] = "float32",
    as_json: Json = False,
) -> None:
    """Time a cell: its kernels against a loop in torch and against torch.nn."""
    kind, shape_TBH, where = find_cell(which), parse_shape(shape), parse_where(device, dtype)
    warn_of_slips([kind])
    T, B, H = shape_TBH
    candidates = speed.layers(kind, H, ["auto", "planned"], where)
    yardstick = "torch.nn" if "torch.nn" in candidates else "torch.nn.LSTM"
    if yardstick not in candidates:
        candidates |= {yardstick: speed.layers(named()["lstm"], H, [], where)["torch.nn"]}
    problem = speed.why_slow(kind, H, where)
    if problem:
        del candidates["auto"]
    names = {"auto": "compiled", "planned": "a loop in torch", yardstick: yardstick}
    names = {name: names[name] for name in candidates}
    if not as_json:
        print(f"{kind.name}: {T} steps, {B} rows, {H} units, {dtype}, {where}; medians of ms")
        if problem:
            print(f"No compiled kernels: {problem}")
    found = {
        mode: speed.measure(candidates, shape_TBH, mode, rounds, where) for mode in speed.MODES
    }
    if as_json:
        medians = {
            mode: {names[name]: speed.median(s) * 1e3 for name, s in seconds.items()}
            for mode, seconds in found.items()
        }
        about = {"device": device, "dtype": dtype, "milliseconds": medians, "slow": problem}
        print(json.dumps({"cell": kind.name, "shape": shape_TBH, **about}))
        return
    print(f"    {'':<16}{'forward':>10}{'':>10}{'forward+backward':>20}")
    for name, label in names.items():
        row = f"    {label:<16}"
        for mode, width in zip(speed.MODES, (10, 20), strict=True):
            row += f"{speed.median(found[mode][name]) * 1e3:>{width}.3f}"
            first = next(iter(names))
            times = speed.median(speed.ratios(found[mode], first, name))
            row += f"{times:>9.2f}x" if name != first else " " * 10
        print(row.rstrip())


DTYPES = ("float32", "bfloat16", "float16")


def parse_where(device: str, dtype: str) -> speed.Where:
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise ValueError(f"--device is cpu or cuda, not {device!r}")
    if dtype not in DTYPES:
        raise ValueError(f"--dtype is one of {', '.join(DTYPES)}, not {dtype!r}")
    if device == "cpu" and dtype != "float32":
        raise ValueError(f"the kernels for a CPU compute in float32; {dtype} is for --device cuda")
    if device != "cpu" and not torch.cuda.is_available():
        raise ValueError("torch sees no GPU here: drop --device, or install torch's build for CUDA")
    number = int(device.partition(":")[2] or 0)
    if device != "cpu" and number >= torch.cuda.device_count():
        raise ValueError(f"--device {device}: torch sees {torch.cuda.device_count()} here, from 0")
    return speed.Where(device, getattr(torch, dtype))


def parse_shape(text: str) -> tuple[int, int, int]:
    parts = text.split("x")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) for part in parts):
        raise ValueError(f"a shape is steps x rows x units, as in 50x16x128, not {text!r}")
    T, B, H = map(int, parts)
    return T, B, H


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
