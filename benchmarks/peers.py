"""Others that run recurrent cells: torch.compile, torchrecurrent, JAX's scan."""

from collections.abc import Callable
from typing import Any

import torch

import unspool as us
from unspool.lab import speed


def compiled(name: str, T: int, B: int, H: int) -> dict[str, speed.Layer]:
    """A plain loop over steps, as one would write it, through torch.compile."""
    cell = speed.build(us.cells.named()[name], H)
    sizes = cell.state_sizes

    @torch.compile
    def loop(xs: torch.Tensor) -> torch.Tensor:
        values: Any = {state: xs.new_zeros(B, n) for state, n in sizes.items()}
        ys = []
        for x in xs:
            y, values = cell.step(x, values.values() if isinstance(values, dict) else values)
            ys.append(y)
        return torch.stack(ys)

    return {"torch.compile": loop}


def torchrecurrent(name: str, T: int, B: int, H: int) -> dict[str, speed.Layer]:
    import torchrecurrent as package  # pyright: ignore[reportMissingImports]

    kinds = {"mut1": "MUT1", "mut2": "MUT2", "mut3": "MUT3", "janet": "JANET"}
    kinds |= {"peephole": "PeepholeLSTM", "lstm97": "OriginalLSTM", "indrnn": "IndRNN"}
    if not hasattr(package, kinds.get(name, "")):
        return {}
    layer = getattr(package, kinds[name])(H, H)
    return {"torchrecurrent": lambda xs: layer(xs)[0]}


def jax_lstm(T: int, B: int, H: int, dtype: str = "float32") -> tuple[Any, Any, Any]:
    """A scan of an LSTM, its input product taken before the loop as ours is; weights; inputs."""
    import jax  # pyright: ignore[reportMissingImports]
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

    def run(parameters: Any, xs: Any) -> Any:
        W, U, b = parameters
        inputs = xs @ W + b

        def step(state: Any, a: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(a + h @ U, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((B, H), dtype)
        return jax.lax.scan(step, (zeros, zeros), inputs)[1]

    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    scale = H**-0.5
    parameters = (
        jax.random.normal(keys[0], (H, 4 * H), dtype) * scale,
        jax.random.normal(keys[1], (H, 4 * H), dtype) * scale,
        jnp.zeros(4 * H, dtype),
    )
    return run, parameters, jax.random.normal(keys[2], (T, B, H), dtype)


def jax_scan(name: str, T: int, B: int, H: int) -> dict[str, Callable[[torch.Tensor], Any]]:
    """JAX's jitted scan of an LSTM."""
    if name != "lstm":
        return {}
    import jax  # pyright: ignore[reportMissingImports]

    run, parameters, xs = jax_lstm(T, B, H)
    forward = jax.jit(run)
    both = jax.jit(jax.grad(lambda parameters, xs: run(parameters, xs).sum(), argnums=(0, 1)))

    class Done:
        """What a timed call does with the output: nothing is left to do here."""

        def sum(self) -> "Done":
            return self

        def backward(self) -> None:
            jax.block_until_ready(both(parameters, xs))

    def call(given: torch.Tensor) -> Any:
        return Done() if given.requires_grad else jax.block_until_ready(forward(parameters, xs))

    return {"jax": call}


PEERS = {"compile": compiled, "torchrecurrent": torchrecurrent, "jax": jax_scan}
