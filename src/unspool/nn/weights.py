"""torch's equations, and torch's stacked weights as views under the names of these equations.

Two bias vectors, gate orders i f g o and r z n, the candidate's recurrent bias inside the reset.
"""

from collections.abc import Mapping
from functools import cache

from torch import Tensor

from unspool.cells.cell import Bound
from unspool.cells.state import state_type
from unspool.equations.program import Equations
from unspool.equations.roles import equations

GATES = {"RNN_TANH": ("",), "RNN_RELU": ("",), "LSTM": tuple("ifgo"), "GRU": tuple("rzn")}


@cache
def torchs_equations(mode: str, bias: bool, projection: bool = False) -> Equations:
    """What a layer of torch computes; `mode` is torch's name for its kind."""
    if mode == "LSTM":
        text = _lstm(bias, projection)
    elif mode == "GRU":
        text = _gru(bias)
    else:
        text = _gate("h'", mode.removeprefix("RNN_").lower(), "", bias)
    found = equations(text)
    state_type(found.states)  # exists before torch.compile looks for it
    return found


def _affine(gate: str, bias: bool) -> tuple[str, str]:
    """What a gate reads from x and from h."""
    biases = (f" + b_i{gate}", f" + b_h{gate}") if bias else ("", "")
    return f"W_i{gate} @ x{biases[0]}", f"W_h{gate} @ h{biases[1]}"


def _gate(line: str, function: str, gate: str, bias: bool) -> str:
    return f"{line} = {function}({' + '.join(_affine(gate, bias))})"


def _lstm(bias: bool, projection: bool) -> str:
    functions = {"i": "sigmoid", "f": "sigmoid", "g": "tanh", "o": "sigmoid"}
    gates = [_gate(gate, function, gate, bias) for gate, function in functions.items()]
    hidden = "W_hr @ (o * tanh(c'))" if projection else "o * tanh(c')"
    return "\n".join(["h: proj" * projection, *gates, "c' = f * c + i * g", f"h' = {hidden}"])


def _gru(bias: bool) -> str:
    gates = [_gate(gate, "sigmoid", gate, bias) for gate in "rz"]
    from_x, from_h = _affine("n", bias)
    return "\n".join([*gates, f"n = tanh({from_x} + r * ({from_h}))", "h' = (1 - z) * n + z * h"])


def bind(
    equations: Equations,
    mode: str,
    weights: Mapping[str, Tensor | None],
    hidden: int,
    proj: int = 0,
) -> Bound:
    """Equations with torch's weights: weight_ih, weight_hh, bias_ih, bias_hh, weight_hr."""
    gates = GATES[mode]
    tensors: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight is None:
            continue
        if name == "weight_hr":
            tensors["W_hr"] = weight
            continue
        letter, side = {"weight": "W", "bias": "b"}[name[:-3]], name[-2]
        for gate, rows in zip(gates, weight.chunk(len(gates)), strict=True):
            tensors[f"{letter}_{side}{gate}"] = rows
    sizes = {"input": tensors["W_i" + gates[0]].shape[1], "hidden": hidden, "proj": proj}
    return Bound(equations, sizes, tensors)
