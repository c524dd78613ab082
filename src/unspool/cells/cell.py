"""Cell types and cells: equations, and equations with sizes and parameters."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from unspool.cells import init as initialise
from unspool.cells.state import make_state, state_type
from unspool.equations import limits
from unspool.equations.evaluate import run
from unspool.equations.expr import Expr
from unspool.equations.program import Equations
from unspool.equations.roles import equations
from unspool.equations.slips import slips
from unspool.machine import memory

Initialiser = Callable[["Cell"], None]


def cell(
    text: str, *, name: str = "cell", init: Initialiser | None = None, source: str = ""
) -> "CellType":
    """A cell type from its equations.

    `init` changes the parameters after the standard initialisation (see `unspool.init`), and
    `source` says where the cell comes from. What looks like a slip in the text is an
    `EquationWarning`.
    """
    kind = CellType(equations(text), name, source, () if init is None else (init,))
    for slip in slips(kind.equations):
        warnings.warn(slip, stacklevel=2)
    return kind


@dataclass(frozen=True, eq=False)
class CellType:
    """Equations with a name. Call it with sizes to get a cell."""

    equations: Equations
    name: str
    source: str = ""
    init: tuple[Initialiser, ...] = ()

    def __call__(self, input_size: int, hidden_size: int | None = None, **sizes: int) -> "Cell":
        for name in ("input", "hidden"):
            if name in sizes:
                raise ValueError(f"give the size {name!r} as {name}_size={sizes[name]}")
        given = {"input": input_size, "hidden": hidden_size, **sizes}
        return Cell(self, {k: _whole(v) for k, v in given.items() if v is not None})

    def sized(self, input_size: int, hidden_size: int, **sizes: int) -> "Cell":
        """A cell of which only two sizes matter: others are the hidden one, unless given."""
        names = self.equations.named_sizes
        others = {n: sizes.get(n, hidden_size) for n in names if n not in ("input", "hidden")}
        return self(input_size, hidden_size if "hidden" in names else None, **others)

    def with_init(self, *init: Initialiser) -> "CellType":
        """The same equations, started differently: each `init` runs after those before it."""
        return replace(self, init=self.init + init)

    def __repr__(self) -> str:
        return f"<cell type {self.name}: states {', '.join(self.equations.states)}>"


@dataclass(frozen=True)
class Bound:
    """Equations with numbers: a size for every name, a tensor for every parameter.

    This is what the engine runs. A `Cell` binds itself; layers that keep their weights in
    another layout bind views of them.
    """

    equations: Equations
    sizes: Mapping[str, int]
    tensors: Mapping[str, Tensor]

    def size(self, name: str) -> int:
        return self.equations.sizes[name].value(self.sizes)

    def size_of(self, expr: Expr) -> int:
        size = self.equations.size_of(expr)
        assert size is not None
        return size.value(self.sizes)

    @cached_property
    def state_sizes(self) -> dict[str, int]:
        return {state: self.size(state) for state in self.equations.states}

    @property
    def output_size(self) -> int:
        return self.size(self.equations.output)


class Cell(nn.Module):
    """One recurrent cell: `y, state = cell.step(x, state)` for a batch of rows.

    The parameters carry the names of the equations, each a leaf of its own.
    """

    def __init__(self, kind: CellType, sizes: Mapping[str, int]):
        super().__init__()
        check_sizes(kind, sizes)
        check_memory(kind, sizes)
        self.kind, self.sizes = kind, dict(sizes)
        # exist before torch.compile looks for them
        state_type(kind.equations.states)
        _ = kind.equations.recordable
        for name in kind.equations.parameters:
            shape = [size.value(sizes) for size in kind.equations.shape(name)]
            # register_parameter refuses names such as `half` that nn.Module has for itself
            self._parameters[name] = nn.Parameter(torch.empty(shape))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        if parametrize.is_parametrized(self):
            raise ValueError("reset the parameters of a cell before constraining them")
        for init in (initialise.standard, *self.kind.init):
            if init(self) is not None:
                raise ValueError(
                    f"the initialiser {init!r} returned a value: it changes the cell in place; "
                    "was a call forgotten, as in us.init.orthogonal()?"
                )

    @property
    def equations(self) -> Equations:
        return self.kind.equations

    def parameter(self, name: str) -> Tensor:
        """A parameter by the name it has in the equations, its parametrization applied."""
        found = self._parameters.get(name)
        return getattr(self, name) if found is None else found

    def bind(self) -> Bound:
        tensors = {name: self.parameter(name) for name in self.equations.parameters}
        return Bound(self.equations, self.sizes, tensors)

    @property
    def input_size(self) -> int:
        return self.sizes["input"]

    @property
    def output_size(self) -> int:
        return self.equations.sizes[self.equations.output].value(self.sizes)

    @property
    def state_sizes(self) -> dict[str, int]:
        names = self.equations.states
        return {name: self.equations.sizes[name].value(self.sizes) for name in names}

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One step: input (B, I) and state to output (B, O) and next state."""
        bound, eqs = self.bind(), self.equations
        env = {**bound.tensors, "x": x, **dict(zip(eqs.states, state, strict=True))}
        run(eqs.lines, env, x, bound.size_of)
        return env[eqs.output], make_state(eqs.states, (env[c] for c in eqs.carried.values()))

    def forward(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        return self.step(x, state)

    def __prepare_scriptable__(self) -> nn.Module:
        raise RuntimeError("torch.jit.script cannot read equations; torch.jit.trace can")

    def extra_repr(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"{self.kind.name}, {sizes}"


def _whole(size: Any) -> Any:
    """numpy's whole numbers as Python's; what is no whole number stays, to be refused."""
    return index(size) if hasattr(size, "__index__") and not isinstance(size, bool) else size


def check_sizes(kind: CellType, sizes: Mapping[str, int]) -> None:
    """Every size of the equations is given, positive, and in the relation they ask for."""
    needed = kind.equations.named_sizes
    arguments = {"input": "input_size", "hidden": "hidden_size"}
    call = f"{kind.name}({', '.join(arguments.get(n, f'{n}=...') for n in needed)})"
    for name in needed:
        if name not in sizes:
            raise ValueError(f"{kind.name} needs the size {name!r}: build it as {call}")
    for name, size in sizes.items():
        if name not in needed:
            raise ValueError(
                f"{kind.name} has no size {name!r}; its sizes are {', '.join(needed)}: "
                f"build it as {call}"
            )
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(
                f"the size {name!r} of {kind.name} is a positive whole number, not {size!r}"
            )
        if size > limits.SIZE:
            raise ValueError(
                f"the size {name!r} of {kind.name} lies above {limits.SIZE:,}, the largest allowed"
            )
    for constraint in kind.equations.constraints:
        left, right = constraint.left.value(sizes), constraint.right.value(sizes)
        if left != right:
            where = ""
            if constraint.span is not None:
                line = kind.equations.text.split("\n")[constraint.span.line].strip()
                where = f"; this line asks for it:\n    {line}"
            raise ValueError(
                f"{kind.name} needs {constraint}, and was given {left} and {right}{where}"
            )


def check_memory(kind: CellType, sizes: Mapping[str, int]) -> None:
    """Refuses parameters that do not fit into the memory of this machine."""
    eqs, each = kind.equations, torch.get_default_dtype().itemsize
    needed = each * sum(
        math.prod(size.value(sizes) for size in eqs.shape(name)) for name in eqs.parameters
    )
    if needed > memory():
        raise ValueError(
            f"the parameters of {kind.name} would take {needed / 1e9:,.1f} GB, and this machine "
            f"has {memory() / 1e9:,.1f}: choose smaller sizes"
        )
