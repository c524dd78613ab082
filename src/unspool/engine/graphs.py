"""What the makers of graphs see of a layer: torch.compile, torch.export, torch.jit, torch.fx."""

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import nn
from torch.fx import Proxy


def in_graph() -> bool:
    """Whether a graph is being made: by torch.compile, torch.export or torch.jit.trace."""
    return torch.compiler.is_compiling() or is_traced()


def is_traced() -> bool:
    """Whether torch.jit.trace writes down what runs."""
    return torch.jit.is_tracing()  # type: ignore[attr-defined]


def eager(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A `forward` of one of torch's own recurrent classes.

    torch.compile breaks its graph at these, whoever computes them, unless it is allowed to go on
    (torch._dynamo.config.allow_rnn). Then it would make graphs of the functions that `forward`
    calls, one for each layer, until it gives up: kernels run without graphs as fast.
    """
    alone: list[Callable[..., Any]] = []

    @wraps(forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or "torch._dynamo" not in sys.modules:
            return forward(*args, **kwargs)
        if not alone:
            alone.append(torch.compiler.disable(forward))
        return alone[0](*args, **kwargs)

    return call


def no_script(module: nn.Module) -> nn.Module:
    """What torch.jit.script asks a module for: something that it can read."""
    raise RuntimeError(
        f"torch.jit.script cannot read the equations of {type(module).__name__}: torch.jit.trace, "
        "torch.export and torch.compile take them as one operator"
    )


def leaf(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A `forward` that becomes one node of a graph of torch.fx.

    A symbolic tracer walks into every module that is not torch's own, with proxies instead of
    tensors, and a recurrence asks its tensors for numbers.
    """

    @wraps(forward)
    def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, Proxy):
                if inspect.unwrap(type(self).forward) is not forward:
                    raise RuntimeError(
                        f"torch.fx cannot walk through the recurrence in {type(self).__name__}, "
                        "which has a forward of its own: name it a leaf, in Tracer.is_leaf_module"
                    )
                return _node(value, self, args, kwargs)
        return forward(self, *args, **kwargs)

    return call


def _node(proxy: Proxy, module: nn.Module, args: Any, kwargs: Any) -> Any:
    path = proxy.tracer.path_of_module(module)  # type: ignore[attr-defined]
    if not path:
        raise RuntimeError(
            f"torch.fx takes {type(module).__name__} as one node of a graph, and here it is the "
            "whole graph: trace a module that holds it"
        )
    return proxy.tracer.create_proxy("call_module", path, args, kwargs)
