"""The kernels with the loop's products in bfloat16, added up in float32: half the weights to read.

What a product reads, weights and vectors, is rounded to 8 significant bits; states, sums and all
that is element-wise stay float32. Never chosen by itself: it is asked for.
"""

from functools import partial

import torch

from unspool.engine import c_build, cpu
from unspool.engine.call import Call

forward = partial(cpu.forward, half=True)
backward = partial(cpu.backward, half=True)


def why_not(call: Call) -> str | None:
    """What stands against it."""
    if call.xs.dtype != torch.float32 or call.xs.device.type != "cpu":
        return f"it rounds float32 on the CPU, not {call.xs.dtype} on {call.xs.device}"
    if not c_build.multiplies_halves():
        return "this processor has no instructions for it (avx512_bf16)"
    return None
