"""`RNNCell`, `LSTMCell` and `GRUCell`: torch's classes, whose step the engine takes."""

from typing import Any

import torch
from torch import Tensor, nn

from unspool.cells.cell import Bound
from unspool.engine import CallError, leaf, unfold
from unspool.nn.arguments import asks_for_torchs, check_flags, check_sizes
from unspool.nn.script import torchs_own
from unspool.nn.weights import bind, torchs_equations

KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class _Cell(nn.RNNCellBase):
    """What the three have in common."""

    mode: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        **kind: Any,
    ):
        input_size, hidden_size = check_sizes(0, input_size=input_size, hidden_size=hidden_size)
        check_flags(bias=bias)
        super().__init__(input_size, hidden_size, bias=bias, device=device, dtype=dtype, **kind)
        self.equations = torchs_equations(self.mode, bias)

    __prepare_scriptable__ = torchs_own

    def bind(self) -> Bound:
        """The weights, as views under the names of the equations."""
        weights = {kind: getattr(self, kind) for kind in KINDS}
        return bind(self.equations, self.mode, weights, self.hidden_size)

    @leaf
    def forward(self, input: Any, hx: Any = None) -> Any:
        """One step: `input` (B, I), or (I,) for one sequence; `hx` likewise, zeros if None."""
        # TorchScript reads one branch alone
        if torch.jit.is_scripting():  # type: ignore[attr-defined]
            raise RuntimeError("a ScriptModule cannot run equations: use torch.nn's cell in it")
        else:  # noqa: RET506
            return self._forward(input, hx)

    def _forward(self, input: Any, hx: Any) -> Any:
        nothing = not (self.input_size and self.hidden_size)  # torch's cells may be of no size
        if nothing or asks_for_torchs(input, hx, list(self.parameters())):
            return super().forward(input, hx)
        if not isinstance(input, Tensor) or input.dim() not in (1, 2):
            got = f"{input.dim()} dimensions" if isinstance(input, Tensor) else type(input).__name__
            raise CallError(
                f"{type(self).__name__} takes (B, I), or (I,) for one sequence; got {got}"
            )
        state = None if hx is None else self._state(hx, input.dim())
        x = input if input.dim() == 2 else input.unsqueeze(0)
        _, last = unfold(self.bind(), x.unsqueeze(0), state)
        values = [value if input.dim() == 2 else value.squeeze(0) for value in last]
        return tuple(values) if len(values) > 1 else values[0]

    def _state(self, hx: Any, dims: int) -> list[Tensor]:
        count = 1 + (self.mode == "LSTM")
        values = list(hx) if count > 1 and isinstance(hx, tuple | list) else [hx]
        dimensions = [value.dim() if isinstance(value, Tensor) else None for value in values]
        if dimensions != [dims] * count:
            axes = "(B, H)" if dims == 2 else "(H,)"
            expected = "(h, c)" if count > 1 else "h"
            got = [tuple(v.shape) if isinstance(v, Tensor) else type(v).__name__ for v in values]
            raise CallError(
                f"{type(self).__name__} takes hx = {expected}, of shape {axes} beside this input; "
                f"got {', '.join(map(str, got))}"
            )
        return values if dims == 2 else [value.unsqueeze(0) for value in values]


class RNNCell(_Cell, nn.RNNCell):
    """Stands in for torch.nn.RNNCell."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"nonlinearity is 'tanh' or 'relu', not {nonlinearity!r}")
        super().__init__(
            input_size, hidden_size, bias, device=device, dtype=dtype, nonlinearity=nonlinearity
        )

    @property
    def mode(self) -> str:  # type: ignore[override]
        return f"RNN_{self.nonlinearity.upper()}"


class LSTMCell(_Cell, nn.LSTMCell):
    """Stands in for torch.nn.LSTMCell."""

    mode = "LSTM"


class GRUCell(_Cell, nn.GRUCell):
    """Stands in for torch.nn.GRUCell."""

    mode = "GRU"
