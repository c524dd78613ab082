"""`RNN`, `LSTM` and `GRU` that stand in for torch.nn's: same arguments, shapes and `state_dict`.

Each keeps torch's weights and hands views of them to the engine, under the names of torch's own
equations below: two bias vectors, gate orders i f g o and r z n, the candidate's recurrent bias
inside the reset.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from unspool.cells.cell import Bound
from unspool.cells.state import state_type
from unspool.engine import unfold_directions
from unspool.equations.roles import equations


def _affine(gate: str, bias: bool) -> tuple[str, str]:
    """What a gate reads from x and from h."""
    biases = (f" + b_i{gate}", f" + b_h{gate}") if bias else ("", "")
    return f"W_i{gate} @ x{biases[0]}", f"W_h{gate} @ h{biases[1]}"


def _gate(gate: str, function: str, bias: bool) -> str:
    return f"{gate} = {function}({' + '.join(_affine(gate, bias))})"


def _rnn(nonlinearity: str) -> Callable[[bool, bool], str]:
    return lambda bias, projection: f"h' = {nonlinearity}({' + '.join(_affine('', bias))})"


def _lstm(bias: bool, projection: bool) -> str:
    functions = {"i": "sigmoid", "f": "sigmoid", "g": "tanh", "o": "sigmoid"}
    gates = [_gate(gate, function, bias) for gate, function in functions.items()]
    hidden = "W_hr @ (o * tanh(c'))" if projection else "o * tanh(c')"
    return "\n".join(["h: proj" * projection, *gates, "c' = f * c + i * g", f"h' = {hidden}"])


def _gru(bias: bool, projection: bool) -> str:
    gates = [_gate(gate, "sigmoid", bias) for gate in "rz"]
    from_x, from_h = _affine("n", bias)
    return "\n".join([*gates, f"n = tanh({from_x} + r * ({from_h}))", "h' = (1 - z) * n + z * h"])


class _TorchLayer(nn.Module):
    """What the three have in common: torch's arguments, weights, shapes and packed sequences."""

    def __init__(
        self,
        mode: str,
        text: Callable[[bool, bool], str],
        gates: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        self._check_arguments()
        self.directions, self._gates = 1 + bidirectional, gates or "-"
        self.equations = equations(text(bias, bool(proj_size)))
        state_type(self.equations.states)  # exists before torch.compile looks for it
        for layer in range(num_layers):
            for direction in range(self.directions):
                for name, shape in self._shapes(layer).items():
                    weight = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
                    self.register_parameter(_suffixed(name, layer, direction), weight)
        self.reset_parameters()

    def _check_arguments(self) -> None:
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is a positive whole number, not {getattr(self, name)}")
        if not 0 <= self.dropout <= 1:
            raise ValueError(f"dropout is a probability between 0 and 1, not {self.dropout}")
        if self.dropout and self.num_layers == 1:
            warnings.warn(
                "dropout acts between layers, and there is one layer: it does nothing here",
                stacklevel=4,
            )
        if self.proj_size and self.mode != "LSTM":
            raise ValueError(f"proj_size is for the LSTM; {self.mode} has none")
        if not 0 <= self.proj_size < self.hidden_size:
            raise ValueError(
                f"proj_size is smaller than hidden_size ({self.hidden_size}), or 0 for none; "
                f"not {self.proj_size}"
            )

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """torch's weights of one layer: the gates' rows one below the other."""
        rows, output = len(self._gates) * self.hidden_size, self.proj_size or self.hidden_size
        inputs = self.input_size if layer == 0 else output * self.directions
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, inputs),
            "weight_hh": (rows, output),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (output, self.hidden_size)
        return shapes

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            nn.init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """torch's list of the weights of each layer and direction."""
        return [
            [getattr(self, _suffixed(name, layer, direction)) for name in self._shapes(layer)]
            for layer in range(self.num_layers)
            for direction in range(self.directions)
        ]

    def flatten_parameters(self) -> None:
        """Nothing to do: it is here because code written for torch.nn calls it."""

    def extra_repr(self) -> str:
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False}
        usual |= {"dropout": 0.0, "bidirectional": False}
        chosen = {name: getattr(self, name) for name in usual}
        shown = [f"{name}={value}" for name, value in chosen.items() if value != usual[name]]
        return ", ".join([str(self.input_size), str(self.hidden_size), *shown])

    def bind(self, layer: int, direction: int) -> Bound:
        """The weights of one layer and direction, as views under the names of the equations."""
        shapes = self._shapes(layer)
        tensors: dict[str, Tensor] = {}
        for name in shapes:
            weight = getattr(self, _suffixed(name, layer, direction))
            letter, side = {"weight": "W", "bias": "b"}[name[:-3]], name[-2]
            if name == "weight_hr":
                tensors["W_hr"] = weight
                continue
            for gate, rows in zip(self._gates, weight.chunk(len(self._gates)), strict=True):
                tensors[f"{letter}_{side}{gate.strip('-')}"] = rows
        inputs = shapes["weight_ih"][1]
        sizes = {"input": inputs, "hidden": self.hidden_size, "proj": self.proj_size}
        return Bound(self.equations, sizes, tensors)

    def forward(self, input: Tensor | PackedSequence, hx: Any = None) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{self.mode} takes (T, B, I), or (T, I) for one sequence; "
                f"got {input.dim()} dimensions"
            )
        if input.dim() == 2:
            ys, last = self._run(input.unsqueeze(1), self._split(hx, batched=False), None)
            return ys.squeeze(1), self._join(tuple(value.squeeze(1) for value in last))
        xs = input.transpose(0, 1) if self.batch_first else input
        ys, last = self._run(xs, self._split(hx, batched=True), None)
        return ys.transpose(0, 1) if self.batch_first else ys, self._join(last)

    def _packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        """Runs in the packed order, longest first; states go in and out in the caller's order."""
        _, sizes, order, back = packed
        xs, lengths = pad_packed_sequence(PackedSequence(packed.data, sizes))
        state = self._split(hx, batched=True)
        if state is not None and order is not None:
            state = tuple(value.index_select(1, order) for value in state)
        ys, last = self._run(xs, state, lengths.to(xs.device))
        if back is not None:
            last = tuple(value.index_select(1, back) for value in last)
        data = pack_padded_sequence(ys, lengths).data
        return PackedSequence(data, sizes, order, back), self._join(last)

    def _run(
        self, xs: Tensor, state: tuple[Tensor, ...] | None, lengths: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """All layers over (T, B, I); states are stacked over layers and directions, as torch's."""
        ends: list[Any] = []
        for layer in range(self.num_layers):
            if layer:
                xs = nn.functional.dropout(xs, self.dropout, self.training)
            sides = range(self.directions)
            cells = [self.bind(layer, direction) for direction in sides]
            at = layer * self.directions
            starts = [state and [value[at + direction] for value in state] for direction in sides]
            found = unfold_directions(cells, xs, starts, masks=[None] * 2, lengths=lengths)
            outputs = [ys for ys, _ in found]
            ends += [end for _, end in found]
            xs = torch.cat(outputs, -1) if self.bidirectional else outputs[0]
        return xs, tuple(torch.stack(values) for values in zip(*ends, strict=True))

    def _split(self, hx: Any, batched: bool) -> tuple[Tensor, ...] | None:
        """torch's state as a tuple of (layers * directions, B, n), one per state."""
        if hx is None:
            return None
        names, count = self.equations.states, self.num_layers * self.directions
        values = (hx,) if len(names) == 1 else tuple(hx)
        if len(values) != len(names):
            expected = ", ".join(f"{name}_0" for name in names)
            raise ValueError(f"{self.mode} takes hx = ({expected}); got {len(values)} values")
        for name, value in zip(names, values, strict=True):
            if value.dim() != 2 + batched or value.shape[0] != count:
                raise ValueError(
                    f"{name}_0 has shape {tuple(value.shape)}; expected ({count}, "
                    f"{'batch, ' * batched}size): layers times directions first"
                )
        return values if batched else tuple(value.unsqueeze(1) for value in values)

    def _join(self, last: tuple[Tensor, ...]) -> Any:
        return last[0] if len(last) == 1 else last


def _suffixed(name: str, layer: int, direction: int) -> str:
    return f"{name}_l{layer}{'_reverse' * direction}"


class RNN(_TorchLayer):
    """Stands in for torch.nn.RNN."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"nonlinearity is 'tanh' or 'relu', not {nonlinearity!r}")
        mode, text = f"RNN_{nonlinearity.upper()}", _rnn(nonlinearity)
        super().__init__(mode, text, "", input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(_TorchLayer):
    """Stands in for torch.nn.LSTM, `proj_size` included."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("LSTM", _lstm, "ifgo", *args, **kwargs)


class GRU(_TorchLayer):
    """Stands in for torch.nn.GRU: the reset after the product."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("GRU", _gru, "rzn", *args, **kwargs)
