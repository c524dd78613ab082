"""Every function and operator of the language: how torch computes it and how it differentiates.

One row a function. `adjoints(seed, out, *args)` gives each argument's share of the gradient as
an expression: `seed` is dL/d(out), and `out` stands for the value itself, so that
`sigmoid' = out * (1 - out)` costs nothing new. At kinks the choice is torch's: relu'(0) = 0,
abs'(0) = 0, and ties of minimum and maximum share half and half.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unspool.equations.expr import ONE, Const, Expr, Name, Part, call, div, mul, neg, sub

LAYER_NORM_EPS = 1e-5


@dataclass(frozen=True)
class Function:
    arity: int | None  # None: one or more
    torch: Callable[..., Any]
    adjoints: Callable[..., tuple[Expr, ...]] | None = None  # None: only derivatives contain it
    constant: Callable[..., float] | None = None  # its value on plain numbers
    latex: str = ""  # "": the name itself, upright
    meaning: str = ""  # for what only derivatives contain: what it is, in words


def layer_norm(v: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(v, v.shape[-1:], eps=LAYER_NORM_EPS)


def _rstd(v: Tensor) -> Tensor:
    variance = (v - v.mean(-1, keepdim=True)).square().mean(-1, keepdim=True)
    return torch.rsqrt(variance + LAYER_NORM_EPS).expand_as(v)


def _mean(v: Tensor) -> Tensor:
    return v.mean(-1, keepdim=True).expand_as(v)


def _softplus(v: Tensor) -> Tensor:
    # F.softplus turns linear above 20, which is off by 2e-9 in float64.
    return torch.logaddexp(v, torch.zeros_like(v))


def _both_tensors(op: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """torch.minimum and its kind take no plain numbers."""

    def apply(a: Tensor | float, b: Tensor | float) -> Tensor:
        like = a if isinstance(a, Tensor) else b
        assert isinstance(like, Tensor)
        a, b = (v if isinstance(v, Tensor) else torch.full_like(like, v) for v in (a, b))
        return op(a, b)

    return apply


def _below(a: Tensor, b: Tensor) -> Tensor:
    """1 where a < b, one half where they are equal, 0 elsewhere."""
    return (a < b).to(a.dtype) + 0.5 * (a == b).to(a.dtype)


def _power_adjoints(seed: Expr, out: Expr, base: Expr, exponent: Const) -> tuple[Expr, ...]:
    k = exponent.value
    if k == 0:
        return (mul(Const(0.0), seed), Const(0.0))
    lowered = base if k == 2 else call("**", base, Const(k - 1))
    return (mul(mul(seed, Const(k)), ONE if k == 1 else lowered), Const(0.0))


def _layer_norm_adjoints(seed: Expr, out: Expr, v: Expr) -> tuple[Expr, ...]:
    centred = sub(sub(seed, call("mean", seed)), mul(out, call("mean", mul(seed, out))))
    return (mul(call("rstd", v), centred),)


def _sigmoid(v: float) -> float:
    return 1 / (1 + math.exp(-v)) if v >= 0 else math.exp(v) / (1 + math.exp(v))


def _stable_softplus(v: float) -> float:
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))


FUNCTIONS: dict[str, Function] = {
    # operators
    "+": Function(2, lambda a, b: a + b, lambda s, o, a, b: (s, s), lambda a, b: a + b),
    "-": Function(2, lambda a, b: a - b, lambda s, o, a, b: (s, neg(s)), lambda a, b: a - b),
    "*": Function(
        2, lambda a, b: a * b, lambda s, o, a, b: (mul(s, b), mul(s, a)), lambda a, b: a * b
    ),
    "/": Function(
        2,
        lambda a, b: a / b,
        lambda s, o, a, b: (div(s, b), neg(div(mul(s, o), b))),
        lambda a, b: a / b,
    ),
    "**": Function(2, lambda a, k: a**k, _power_adjoints, lambda a, k: a**k),
    "neg": Function(1, lambda a: -a, lambda s, o, a: (neg(s),), lambda a: -a),
    # element by element
    "sigmoid": Function(
        1, torch.sigmoid, lambda s, o, a: (mul(mul(s, o), sub(ONE, o)),), _sigmoid, r"\sigma"
    ),
    "tanh": Function(
        1,
        torch.tanh,
        lambda s, o, a: (mul(s, sub(ONE, call("**", o, Const(2.0)))),),
        math.tanh,
        r"\tanh",
    ),
    "relu": Function(
        1,
        torch.relu,
        lambda s, o, a: (mul(s, call("step", o if isinstance(o, Name) else a)),),
        lambda a: max(a, 0.0),
    ),
    "softplus": Function(
        1, _softplus, lambda s, o, a: (mul(s, call("sigmoid", a)),), _stable_softplus
    ),
    "exp": Function(1, torch.exp, lambda s, o, a: (mul(s, o),), math.exp, r"\exp"),
    "log": Function(1, torch.log, lambda s, o, a: (div(s, a),), math.log, r"\log"),
    "sqrt": Function(
        1, torch.sqrt, lambda s, o, a: (div(s, mul(Const(2.0), o)),), math.sqrt, r"\sqrt"
    ),
    "abs": Function(1, torch.abs, lambda s, o, a: (mul(s, call("sign", a)),), math.fabs),
    "sin": Function(1, torch.sin, lambda s, o, a: (mul(s, call("cos", a)),), math.sin, r"\sin"),
    "cos": Function(
        1, torch.cos, lambda s, o, a: (neg(mul(s, call("sin", a))),), math.cos, r"\cos"
    ),
    "minimum": Function(
        2,
        _both_tensors(torch.minimum),
        lambda s, o, a, b: (mul(s, call("below", a, b)), mul(s, call("below", b, a))),
        min,
        r"\min",
    ),
    "maximum": Function(
        2,
        _both_tensors(torch.maximum),
        lambda s, o, a, b: (mul(s, call("below", b, a)), mul(s, call("below", a, b))),
        max,
        r"\max",
    ),
    # over the whole vector
    "layer_norm": Function(1, layer_norm, _layer_norm_adjoints),
    "concat": Function(
        None,
        lambda *parts: torch.cat(parts, -1),
        lambda s, o, *a: tuple(Part(s, a, k) for k in range(len(a))),
    ),
    # only in derivatives
    "step": Function(1, lambda a: (a > 0).to(a.dtype), meaning="step(v) is 1 where v > 0, else 0"),
    "sign": Function(1, torch.sign, meaning="sign(v) is 1, 0 or -1"),
    "below": Function(
        2, _both_tensors(_below), meaning="below(a, b) is 1 where a < b, 1/2 where a = b, else 0"
    ),
    "mean": Function(1, _mean, meaning="mean(v) is the mean over the entries of v"),
    "rstd": Function(
        1, _rstd, meaning="rstd(v) is 1 / sqrt(variance of v + 1e-5), over the entries of v"
    ),
}

OPERATORS = ("+", "-", "*", "/", "**", "neg")
CALLABLE = tuple(f for f, row in FUNCTIONS.items() if row.adjoints and f not in OPERATORS)
