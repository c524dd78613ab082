"""A concat with a name, between operators or as the output, against the same cell without it.

    python -m benchmarks.concat [--device cuda --dtype bfloat16] [--shape 50x16x128]

Time of each form over that of the first of its group, taken in turns; about 1.00 is the aim.
"""

import argparse

import torch

import unspool as us
from unspool.lab import speed

LSTM = """
    {z}
    i  = sigmoid(W_i @ {read} + b_i)
    f  = sigmoid(W_f @ {read} + b_f)
    g  = tanh(W_g @ {read} + b_g)
    o  = sigmoid(W_o @ {read} + b_o)
    c' = f * c + i * g
    h' = o * tanh(c')
"""
HEADS = """
    a: half
    b: half
    a' = tanh(W_a @ x + U_a @ concat(a, b))
    b' = sigmoid(W_b @ x + U_b @ concat(a, b))
"""
GROUPS = {
    "LSTM": {
        "inline": LSTM.format(z="", read="concat(x, h)"),
        "named": LSTM.format(z="z = concat(x, h)", read="z"),
    },
    "heads, read by a matrix": {
        "inline": HEADS + "y = V @ concat(a', b')",
        "named": HEADS + "m = concat(a', b')\ny = V @ m",
    },
    "heads, as the state": {
        "two states": HEADS + "y = a'",
        "one": """
            a: half
            b: half
            a  = tanh(W_a @ x + U_a @ h)
            b  = sigmoid(W_b @ x + U_b @ h)
            h' = concat(a, b)
        """,
    },
}


def build(text: str, H: int) -> us.Cell:
    """A cell of which both halves are H units."""
    kind = us.cell(text)
    sizes = dict.fromkeys(kind.equations.named_sizes, H)
    return us.Cell(kind, {name: H // 2 if name == "half" else n for name, n in sizes.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--shape", default="50x16x128")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    where = speed.Where(given.device, getattr(torch, given.dtype))
    T, B, H = (int(n) for n in given.shape.split("x"))
    print(f"{given.shape}, {given.dtype}, {where}; torch {torch.__version__}")
    for title, forms in GROUPS.items():
        layers: dict[str, speed.Layer] = {}
        for name, text in forms.items():
            cell = where.put(build(text, H))
            layers[name] = lambda xs, cell=cell: us.unfold(cell, xs)[0]
        first = next(iter(layers))
        for mode in speed.MODES:
            seconds = speed.measure(layers, (T, B, H), mode, given.rounds, where)
            for name in layers:
                share = speed.median(speed.ratios(seconds, first, name))
                ms = speed.median(seconds[name]) * 1e3
                print(f"    {title:<24} {mode:<18} {name:<12} {ms:8.3f} ms {share:6.2f}")


if __name__ == "__main__":
    main()
