"""`RNN`, `LSTM` and `GRU`: torch's classes, with another way to run a sequence.

Each is one of torch's layers, weights and all. `forward` hands views of the weights to the engine.
"""

import warnings
from numbers import Number
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from unspool.cells.cell import Bound
from unspool.engine import CallError, eager, in_graph, is_traced, leaf, unfold_directions
from unspool.nn.arguments import asks_for_torchs, check_flags, check_sizes, whole
from unspool.nn.script import torchs_own
from unspool.nn.weights import bind, torchs_equations


class _Layer(nn.RNNBase):
    """What the three have in common: torch's arguments, shapes and packed sequences."""

    def __init__(
        self,
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
        **kind: Any,
    ):
        sizes = check_sizes(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        check_flags(bias=bias, batch_first=batch_first, bidirectional=bidirectional)
        _check_dropout(dropout, num_layers, 3 + isinstance(self, nn.RNN))
        if isinstance(self, nn.LSTM):
            kind["proj_size"] = _check_projection(proj_size, hidden_size)
        elif proj_size:
            raise ValueError(f"proj_size is for the LSTM; {type(self).__name__} has none")
        arguments: Any = sizes  # torch's classes put the mode first
        super().__init__(
            *arguments, bias=bias, batch_first=batch_first, bidirectional=bidirectional,
            device=device, dtype=dtype, **kind,
        )  # fmt: skip
        self.equations = torchs_equations(self.mode, bias, bool(self.proj_size))
        self.dropout = float(dropout)  # torch would warn a second time, from a line of its own

    def flatten_parameters(self) -> None:
        """Nothing to do: it is here because code written for torch.nn calls it."""

    __prepare_scriptable__ = torchs_own

    def bind(self, layer: int, direction: int) -> Bound:
        """The weights of one layer and direction, as views under the names of the equations."""
        names = self._all_weights[layer * (1 + self.bidirectional) + direction]
        if in_graph():
            weights = [getattr(self, name) for name in names]
        else:  # where torch's layer reads them, and where some set others
            self._update_flat_weights()
            start = self._flat_weights_names.index(names[0])
            weights = self._flat_weights[start : start + len(names)]
        kinds = (name.rpartition("_l")[0] for name in names)
        by_kind = dict(zip(kinds, weights, strict=True))
        return bind(self.equations, self.mode, by_kind, self.hidden_size, self.proj_size)

    @eager
    @leaf
    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        # TorchScript reads one branch alone
        if torch.jit.is_scripting():  # type: ignore[attr-defined]
            raise RuntimeError("a ScriptModule cannot run equations: use torch.nn's layer in it")
        else:  # noqa: RET506
            return self._forward(input, hx)

    def _forward(self, input: Any, hx: Any) -> tuple[Any, Any]:
        if asks_for_torchs(input, hx, self.all_weights):
            return super().forward(input, hx)
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        name = type(self).__name__
        if not isinstance(input, Tensor):
            raise TypeError(
                f"{name} takes a tensor or a PackedSequence, not {type(input).__name__}"
            )
        if input.dim() not in (2, 3):
            axes = "(B, T, I)" if self.batch_first else "(T, B, I)"
            hint = "; several batch dimensions become one by flatten" if input.dim() > 3 else ""
            raise CallError(
                f"{name} takes {axes}, or (T, I) for one sequence; "
                f"got {input.dim()} dimensions{hint}"
            )
        self._check_features(input)
        if input.dim() == 2:
            ys, last = self._run(input.unsqueeze(1), self._split(hx, None), None)
            return ys.squeeze(1), self._join(tuple(value.squeeze(1) for value in last))
        xs = input.transpose(0, 1) if self.batch_first else input
        ys, last = self._run(xs, self._split(hx, xs.shape[1]), None)
        return ys.transpose(0, 1) if self.batch_first else ys, self._join(last)

    def _packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        """Runs in the packed order, longest first; states go in and out in the caller's order."""
        data, sizes, order, back = packed
        self._check_features(data)
        xs, lengths = pad_packed_sequence(PackedSequence(data, sizes))
        state = self._split(hx, xs.shape[1])
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
        sides = range(1 + self.bidirectional)
        for layer in range(self.num_layers):
            if layer:
                xs = nn.functional.dropout(xs, self.dropout, self.training)
            cells = [self.bind(layer, direction) for direction in sides]
            at = layer * len(sides)
            starts = [state and [value[at + direction] for value in state] for direction in sides]
            found = unfold_directions(cells, xs, starts, masks=[None] * 2, lengths=lengths)
            outputs = [ys for ys, _ in found]
            ends += [end for _, end in found]
            xs = torch.cat(outputs, -1) if self.bidirectional else outputs[0]
        return xs, tuple(torch.stack(values) for values in zip(*ends, strict=True))

    def _check_features(self, input: Tensor) -> None:
        if not is_traced() and input.shape[-1] != self.input_size:
            raise CallError(
                f"input has {input.shape[-1]} features a step, and the layer was built with "
                f"input_size={self.input_size}; input has shape {tuple(input.shape)}"
            )

    def _split(self, hx: Any, rows: int | None) -> tuple[Tensor, ...] | None:
        """torch's state as a tuple of (layers * directions, B, n), one per state.

        `rows` is None for one sequence, whose state has no axis B.
        """
        if hx is None:
            return None
        names, count = ("h", "c")[: 1 + (self.mode == "LSTM")], len(self._all_weights)
        values = tuple(hx) if isinstance(hx, tuple | list) else (hx,)
        if len(values) != len(names) or not all(isinstance(value, Tensor) for value in values):
            expected = "a tensor, h_0" if len(names) == 1 else "a tuple of two tensors, (h_0, c_0)"
            got = ", ".join(type(value).__name__ for value in values)
            got = f"({got})" if isinstance(hx, tuple | list) else got
            raise CallError(f"hx of {type(self).__name__} is {expected}; got {got}")
        if not is_traced():  # where sizes are no numbers
            widths = (self.proj_size or self.hidden_size, self.hidden_size)
            axes = () if rows is None else (rows,)
            for name, n, value in zip(names, widths, values, strict=False):
                if value.shape != (count, *axes, n):
                    raise CallError(
                        f"{name}_0 has shape {tuple(value.shape)}; expected {(count, *axes, n)}: "
                        f"layers times directions, {'rows, ' * len(axes)}units"
                    )
        return values if rows is not None else tuple(value.unsqueeze(1) for value in values)

    def _join(self, last: tuple[Tensor, ...]) -> Any:
        return last[0] if len(last) == 1 else last


def _check_dropout(dropout: Any, num_layers: int, stacklevel: int) -> None:
    if isinstance(dropout, bool) or not isinstance(dropout, Number) or not 0 <= dropout <= 1:  # type: ignore[operator]
        raise ValueError(f"dropout is a probability between 0 and 1, not {dropout!r}")
    if dropout and num_layers == 1:
        warnings.warn(
            "dropout acts between layers, and there is one layer: it does nothing here",
            stacklevel=stacklevel,
        )


def _check_projection(proj_size: Any, hidden_size: int) -> int:
    proj_size = whole("proj_size", proj_size)
    if not 0 <= proj_size < hidden_size:
        raise ValueError(
            f"proj_size is smaller than hidden_size ({hidden_size}), or 0 for none; not {proj_size}"
        )
    return proj_size


class RNN(_Layer, nn.RNN):
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
        super().__init__(  # type: ignore[call-arg]
            input_size, hidden_size, num_layers, *args, nonlinearity=nonlinearity, **kwargs
        )


class LSTM(_Layer, nn.LSTM):
    """Stands in for torch.nn.LSTM, `proj_size` included."""


class GRU(_Layer, nn.GRU):
    """Stands in for torch.nn.GRU: the reset after the product."""
