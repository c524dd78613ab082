"""Equations on a batch of rows, in torch: the slow and obvious evaluation."""

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor

from unspool.equations.expr import Apply, Const, Expr, Line, Name, Part, Product
from unspool.equations.functions import FUNCTIONS

Env = Mapping[str, Tensor | float]
SizeOf = Callable[[Expr], int]


def evaluate(expr: Expr, env: Env, size_of: SizeOf) -> Tensor | float:
    """The value of an expression: rows in `env` are (B, n), parameters (n,) or (rows, columns)."""
    match expr:
        case Const(value=value):
            return value
        case Name(id=name):
            return env[name]
        case Product(matrix=name, operand=operand, transposed=transposed):
            matrix, vector = env[name], evaluate(operand, env, size_of)
            assert isinstance(matrix, Tensor)
            assert isinstance(vector, Tensor)
            return vector @ (matrix if transposed else matrix.T)
        case Part(operand=operand, whole=whole, index=index):
            vector = evaluate(operand, env, size_of)
            assert isinstance(vector, Tensor)
            start = sum(size_of(piece) for piece in whole[:index])
            return vector[..., start : start + size_of(whole[index])]
        case Apply(function=function, args=args):
            values = [evaluate(arg, env, size_of) for arg in args]
            if function == "concat":  # a parameter has no rows of its own
                rows = torch.broadcast_shapes(
                    *(v.shape[:-1] for v in values if isinstance(v, Tensor))
                )
                values = [v.expand(*rows, -1) for v in values if isinstance(v, Tensor)]
            return FUNCTIONS[function].torch(*values)
    raise AssertionError(expr)


def run(
    lines: Iterable[Line], env: dict[str, Tensor | float], like: Tensor, size_of: SizeOf
) -> None:
    """Evaluates lines in order into `env`, each as one (B, n) tensor; `like` gives B and dtype."""
    for line in lines:
        value = evaluate(line.expr, env, size_of)
        shape = (like.shape[0], size_of(Name(line.name)))
        env[line.name] = (
            value.expand(shape) if isinstance(value, Tensor) else like.new_full(shape, value)
        )
