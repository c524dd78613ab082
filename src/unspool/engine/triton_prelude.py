"""What printed kernels call: the functions of the language on tiles, in Triton."""

import triton
import triton.language as tl


@triton.jit
def f_sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def f_tanh(x):
    # from exp, since the name is libdevice's; near zero 1 - exp(-2|x|) would lose its digits
    e = tl.exp(-2.0 * tl.abs(x))
    far = (1.0 - e) / (1.0 + e)
    far = tl.where(x < 0.0, -far, far)
    s = x * x
    near = x + x * s * (-1.0 / 3 + s * (2.0 / 15 + s * (-17.0 / 315 + s * (62.0 / 2835))))
    return tl.where(s < (0.05 if x.dtype == tl.float32 else 1e-3), near, far)


@triton.jit
def f_relu(x):
    return tl.where(x != x, x, tl.where(x > 0.0, x, 0.0))


@triton.jit
def f_softplus(x):
    # log(1 + e), exact for small e too
    e = tl.exp(-tl.abs(x))
    u = 1.0 + e
    far = tl.where(u == 1.0, e, tl.log(u) * (e / tl.where(u == 1.0, 1.0, u - 1.0)))
    return tl.where(x > 0.0, x, 0.0) + far


@triton.jit
def f_minimum(a, b):
    return tl.where(a != a, a, tl.where(b != b, b, tl.where(a < b, a, b)))


@triton.jit
def f_maximum(a, b):
    return tl.where(a != a, a, tl.where(b != b, b, tl.where(a > b, a, b)))


@triton.jit
def f_step(x):
    return tl.where(x > 0.0, 1.0, 0.0).to(x.dtype)


@triton.jit
def f_sign(x):
    return (tl.where(x > 0.0, 1.0, 0.0) - tl.where(x < 0.0, 1.0, 0.0)).to(x.dtype)


@triton.jit
def f_below(a, b):
    return tl.where(a < b, 1.0, tl.where(a == b, 0.5, 0.0)).to(a.dtype)


@triton.jit
def f_power(x, k: tl.constexpr):
    """x ** k; whole powers by multiplication, since log knows no negative base."""
    size: tl.constexpr = k if k >= 0 else -k
    if size == 0.5:
        p = tl.sqrt(x)
    elif size == size // 1 and size <= 8:
        p = tl.full(x.shape, 1.0, x.dtype)
        for _ in tl.static_range(int(size)):  # pyright: ignore
            p = p * x
    elif size == size // 1:
        p = tl.exp(size * tl.log(tl.abs(x)))
        p = tl.where((x < 0.0) & (size % 2 == 1), -p, p)
    else:
        p = tl.exp(size * tl.log(x))
    return p if k >= 0 else 1.0 / p


# Sums over the first dimension: groups of warps, at most eight. Halved in the last dimension, where
# halves are a thread's own: every thread adds up the entries that are its own from then on. A
# reduction would leave all entries with every warp, and all that follows would be computed by each
# of them. Several sums change their layout together, since each change makes all warps wait.


@triton.jit
def add_up(d):
    d = tl.permute(d, (1, 2, 0))
    if d.shape[2] == 8:
        a, b = tl.split(tl.reshape(d, (d.shape[0], d.shape[1], 4, 2)))
        d = a + b
    if d.shape[2] == 4:
        a, b = tl.split(tl.reshape(d, (d.shape[0], d.shape[1], 2, 2)))
        d = a + b
    a, b = tl.split(d)
    return a + b


@triton.jit
def add_up2(d0, d1):
    d = tl.permute(tl.join(d0, d1), (1, 2, 3, 0))
    if d.shape[3] == 8:
        a, b = tl.split(tl.reshape(d, (d.shape[0], d.shape[1], 2, 4, 2)))
        d = a + b
    if d.shape[3] == 4:
        a, b = tl.split(tl.reshape(d, (d.shape[0], d.shape[1], 2, 2, 2)))
        d = a + b
    a, b = tl.split(d)
    d0, d1 = tl.split(a + b)
    return d0, d1


@triton.jit
def add_up4(d0, d1, d2, d3):
    d = tl.permute(tl.join(tl.join(d0, d2), tl.join(d1, d3)), (1, 2, 3, 4, 0))
    if d.shape[4] == 8:
        a, b = tl.split(tl.reshape(d, (d.shape[0], d.shape[1], 2, 2, 4, 2)))
        d = a + b
    if d.shape[4] == 4:
        a, b = tl.split(tl.reshape(d, (d.shape[0], d.shape[1], 2, 2, 2, 2)))
        d = a + b
    a, b = tl.split(d)
    even, odd = tl.split(a + b)
    d0, d2 = tl.split(even)
    d1, d3 = tl.split(odd)
    return d0, d1, d2, d3


@triton.jit
def plain(x):
    """One kind of NaN: the other one marks what is not yet written."""
    return tl.where(x == x, x, float("nan"))
