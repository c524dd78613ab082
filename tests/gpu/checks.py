"""Kernels against the reference in float64, on the device: every check is a name and a function.

Inputs are drawn anew in every run; a failure names its seed.
"""

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

import unspool as us
from tests.conformance.table import TABLE
from tests.equations.random_text import random_cell
from unspool.engine import tiles, trust
from unspool.engine.cuda import _loop_of
from unspool.equations.roles import equations

Check = tuple[str, Callable[[], None]]
DTYPES = {
    "fp64": (torch.float64, 1e-9),
    "fp32": (torch.float32, 1e-5),
    "fp16": (torch.float16, 5e-3),
    "bf16": (torch.bfloat16, 1e-2),
}
WIDE = 17  # times the sizes of the table: several programs, and no size is a power of two
RANDOM = 200
LAUNCHES = 1000


def checks(device: str, seed: int) -> Iterator[Check]:
    yield from of_launches(device, seed)
    for kind, sizes in TABLE:
        for name, (dtype, _) in DTYPES.items():
            for wide in (1, WIDE):
                size = {key: value * wide for key, value in sizes.items()}
                if dtype.itemsize == 2 and normalises(kind) and is_small(size):
                    continue  # four numbers of eight bits, nearly alike: what is left is chance
                for form in ("plain", "everything"):
                    title = f"{kind.name} {name} x{wide} {form}"
                    yield title, partial(cell_equals, device, kind, size, name, form, seed)
        wide_sizes = {key: value * WIDE for key, value in sizes.items()}
        yield f"{kind.name} dawdling", partial(dawdling, device, kind, wide_sizes, seed)
        yield f"{kind.name} auto", partial(auto, device, kind, wide_sizes, seed)
        yield f"{kind.name} step by step", partial(stepping, device, kind, wide_sizes, seed)
    for k in range(RANDOM):
        yield f"random cell {seed + k}", partial(random_equals, device, seed + k)


def of_launches(device: str, seed: int) -> Iterator[Check]:
    for name in ("lstm", "gru", "layer_norm_lstm"):
        yield f"{name} both directions", partial(directions, device, name, seed)
        yield f"{name} identical bits", partial(identical, device, name, seed)
        yield f"{name} torch.compile", partial(under_compile, device, name, seed)
        yield f"{name} CUDA graph", partial(under_graph, device, name, seed)
    yield "compiled into a CUDA graph", partial(under_overhead, device, seed)
    yield "two streams at once", partial(two_streams, device, seed)
    yield "odd places", partial(odd_places, device, seed)
    yield "many rows", partial(many_rows, device, seed)
    yield "autocast", partial(autocast, device, seed)
    yield "training lowers the loss", partial(training, device, seed)


def normalises(kind: us.CellType) -> bool:
    return "layer_norm" in kind.equations.text


def has_kinks(kind: us.CellType) -> bool:
    return any(name in kind.equations.text for name in ("relu", "abs", "minimum", "maximum"))


def is_small(sizes: dict[str, int]) -> bool:
    return min(sizes.values()) < 8


# --- one call ------------------------------------------------------------------------------


def made(kind: us.CellType, sizes: dict[str, int], seed: int) -> tuple[us.Cell, us.Cell]:
    """A cell with parameters of a fresh draw that every dtype can hold, and its double."""
    torch.manual_seed(seed)
    cell = us.Cell(kind, sizes)
    with torch.no_grad():
        for parameter in cell.parameters():
            scale = parameter.shape[-1] ** -0.5 if parameter.dim() == 2 else 0.3
            parameter.add_(torch.randn_like(parameter) * 0.5 * scale)
            parameter.copy_(parameter.bfloat16())
    truth = us.Cell(kind, sizes).double()
    truth.load_state_dict(cell.state_dict())
    return cell, truth


def drawn(cell: us.Cell, T: int, B: int) -> tuple[Tensor, list[Tensor]]:
    xs = torch.randn(T, B, cell.input_size).bfloat16()
    return xs, [(torch.randn(B, n) * 0.5).bfloat16() for n in cell.state_sizes.values()]


def outcome(cell: us.Cell, given: Any, weights: list[Tensor], **how: Any) -> list[Tensor]:
    """Outputs, states, recorded lines; then the gradient of a weighted sum with respect to all."""
    weight = next(cell.parameters())
    xs, state = given
    xs = xs.to(weight).requires_grad_()
    state = [value.to(weight).requires_grad_() for value in state]
    ys, last, *lines = us.unfold(cell, xs, state, **how)
    outputs = [ys, *last, *(lines[0].values() if lines else ())]
    if not weights:
        weights += [torch.randn(output.shape).bfloat16() for output in outputs]
    loss = sum((o * w.to(o)).sum() for o, w in zip(outputs, weights, strict=True))
    assert isinstance(loss, Tensor)
    tensors = [xs, *state, *cell.parameters()]
    found = torch.autograd.grad(loss, tensors, allow_unused=True)
    return outputs + [
        torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)
    ]


def close(ours: list[Tensor], truth: list[Tensor], allowed: float) -> None:
    for k, (a, b) in enumerate(zip(ours, truth, strict=True)):
        a, b = a.detach().double().cpu(), b.detach().cpu()
        assert torch.isfinite(a).all(), f"value {k} is not finite"
        error = ((a - b).norm() / b.norm().clamp(min=1.0)).item()
        assert error <= allowed, f"value {k} of {len(ours)} is off by {error:.1e}"


def cell_equals(
    device: str, kind: us.CellType, sizes: dict[str, int], dtype: str, form: str, seed: int
) -> None:
    cell, truth = made(kind, sizes, seed)
    given, how = drawn(cell, T=7, B=5 if form == "plain" else 21), {}
    if form == "everything":
        masks = us.draw_masks(truth, given[0].double(), zoneout=0.25, recurrent=0.5)
        how = {"masks": masks, "record": kind.equations.recordable, "reverse": True}
        how["lengths"] = torch.randint(0, 8, (21,))
    weights: list[Tensor] = []
    expected = outcome(truth, given, weights, backend="reference", **how)
    if "lengths" in how:
        how["lengths"] = how["lengths"].to(device)
    kept, allowed = DTYPES[dtype]
    # a normalised vector has lost the digits that its numbers had in common: all, if they are four
    if normalises(kind) and (kept.itemsize == 2 or is_small(sizes)):
        allowed *= 4
    if kept.itemsize == 2 and is_small(sizes):
        allowed *= 5  # a rounding is 4e-3 in bfloat16, and four units average nothing out
    found = outcome(cell.to(device, kept), given, weights, backend="cuda", **how)
    if kept.itemsize == 2 and has_kinks(kind):
        # a sum that rounding moves across a kink has another derivative: float32 tells exactly
        close(found[len(weights) :], expected[len(weights) :], trust.TOLERANCE[torch.bfloat16])
        found, expected = found[: len(weights)], expected[: len(weights)]
    close(found, expected, allowed)


def random_equals(device: str, seed: int) -> None:
    draw = random.Random(seed)
    kind = us.CellType(equations(random_cell(draw.choice)), f"random_{seed}")
    while not (kind.equations.matrices or kind.equations.vectors):  # parameters tell the device
        kind = us.CellType(equations(random_cell(draw.choice)), f"random_{seed}")
    numbers = {"input": 20, "hidden": 33, "extra": 40}
    sizes = {name: numbers[name] for name in kind.equations.named_sizes}
    cell, truth = made(kind, sizes, seed)
    given, how = drawn(cell, T=4, B=6), {"lengths": torch.tensor([4, 0, 3, 4, 1, 2])}
    weights: list[Tensor] = []
    expected = outcome(truth, given, weights, backend="reference", **how)
    dtype, allowed = torch.float64, 1e-9  # in which cells with steep lines compare too
    close(outcome(cell.to(device, dtype), given, weights, backend="cuda", **how), expected, allowed)


@contextmanager
def changed(module: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    _loop_of.cache_clear()
    try:
        yield
    finally:
        setattr(module, name, before)
        _loop_of.cache_clear()


def dawdling(device: str, kind: us.CellType, sizes: dict[str, int], seed: int) -> None:
    """Programs that wait for chance before they write, and weights that are read again."""
    rules = tiles.candidates

    def slow(*given: Any) -> list[Any]:
        return [replace(way, delay=50, held=0) for way in rules(*given) if not way.local]

    with changed(tiles, "candidates", slow):
        cell_equals(device, kind, sizes, "fp32", "everything", seed)


def auto(device: str, kind: us.CellType, sizes: dict[str, int], seed: int) -> None:
    """Kernels are trusted, and nothing falls back."""
    cell, _ = made(kind, sizes, seed)
    cell.to(device, torch.bfloat16)
    xs = drawn(cell, T=20, B=9)[0].to(device).requires_grad_()
    trust._verdicts.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        us.unfold(cell, xs)[0].sum().backward()
    assert [*trust._verdicts.values()] == [None]


def stepping(device: str, kind: us.CellType, sizes: dict[str, int], seed: int) -> None:
    """A stepper's kernels, for several numbers of rows in turn."""
    cell, truth = made(kind, sizes, seed)
    stepper = us.Stepper(cell.to(device))
    for rows in (1, 37, 300):
        xs, state = drawn(cell, T=4, B=rows)
        expected = us.unfold(truth, xs.double(), [s.double() for s in state], backend="reference")
        state = [value.float().to(device) for value in state]
        ys = []
        for x in xs.float().to(device):
            y, state = stepper(x, state)
            ys.append(y)
        close([torch.stack(ys), *state], [expected[0].detach(), *expected[1]], 1e-5)
    assert None not in stepper.sessions.values(), "a step ran in the reference"


# --- layers, launches, streams, graphs -------------------------------------------------------


def layer_of(name: str, device: str, seed: int, **how: Any) -> us.Recurrent:
    torch.manual_seed(seed)
    return us.Recurrent(us.cells.named()[name], 48, 80, **how).to(device)


def of_layer(layer: us.Recurrent, xs: Tensor, **how: Any) -> list[Tensor]:
    ys, states = layer(xs, **how)
    last = [value for pair in states for state in pair for value in state]
    loss = ys.sin().sum() + sum(value.cos().sum() for value in last)
    return [ys, *last, *torch.autograd.grad(loss, [xs, *layer.parameters()])]


def directions(device: str, name: str, seed: int) -> None:
    layer = layer_of(name, device, seed, bidirectional=True, num_layers=2)
    xs = torch.randn(9, 21, 48, device=device, requires_grad=True)
    lengths = torch.randint(0, 10, (21,), device=device)
    ours = of_layer(layer, xs, lengths=lengths, backend="cuda")
    layer.double()
    truth = of_layer(layer, xs.detach().double().requires_grad_(), lengths=lengths,
                     backend="reference")  # fmt: skip
    close(ours, truth, 1e-5)


def identical(device: str, name: str, seed: int) -> None:
    """The same bits at every launch, whoever is late."""
    layer = layer_of(name, device, seed).to(torch.bfloat16)
    xs = torch.randn(64, 40, 48, device=device).bfloat16().requires_grad_()
    first = of_layer(layer, xs, backend="cuda")
    different = torch.zeros((), dtype=torch.int64, device=device)
    for _ in range(LAUNCHES):
        for a, b in zip(of_layer(layer, xs, backend="cuda"), first, strict=True):
            different += (a != b).sum()
    assert not different.item(), f"{different.item()} numbers differ"


def under_compile(device: str, name: str, seed: int) -> None:
    layer = layer_of(name, device, seed)
    xs = torch.randn(9, 5, 48, device=device, requires_grad=True)
    expected = of_layer(layer, xs, backend="cuda")
    whole = torch.compile(lambda xs: layer(xs)[0].sin().sum(), fullgraph=True, backend="aot_eager")
    found = torch.autograd.grad(whole(xs), [xs, *layer.parameters()])
    eager = torch.autograd.grad(layer(xs)[0].sin().sum(), [xs, *layer.parameters()])
    close(list(found), [g.double() for g in eager], 1e-5)
    close(of_layer(layer, xs), [value.double() for value in expected], 1e-5)


def under_graph(device: str, name: str, seed: int) -> None:
    """Captured once, replayed with other inputs."""
    layer = layer_of(name, device, seed)
    xs = torch.randn(20, 5, 48, device=device)
    with torch.no_grad():
        layer(xs)  # compiled and trusted outside
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            ys, _ = layer(xs)
        for _ in range(20):
            xs.copy_(torch.randn_like(xs))
            graph.replay()
            close([ys], [layer(xs, backend="reference")[0].double()], 1e-5)


def autocast(device: str, seed: int) -> None:
    """Parameters of float32, and what a layer of bfloat16 would give."""
    layer = layer_of("lstm", device, seed, bidirectional=True)
    xs = torch.randn(20, 5, 48, device=device)
    with torch.autocast(device, torch.bfloat16):
        ys = layer(xs)[0]
    ys.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in layer.parameters())
    assert ys.equal(layer.to(torch.bfloat16)(xs.bfloat16())[0])


def under_overhead(device: str, seed: int) -> None:
    """torch.compile makes graphs by itself, with memory of their own."""
    layer = layer_of("lstm", device, seed)
    run = torch.compile(lambda xs: layer(xs)[0] * 2, mode="reduce-overhead")
    with torch.no_grad():
        for _ in range(4):
            xs = torch.randn(20, 5, 48, device=device)
            close([run(xs)], [2 * layer(xs, backend="reference")[0].double()], 1e-5)


def two_streams(device: str, seed: int) -> None:
    """Launches that ask for all of the GPU, from two streams: one waits for the other."""
    layers = [layer_of(name, device, seed) for name in ("lstm", "gru")]
    xs = torch.randn(200, 64, 48, device=device)
    with torch.no_grad():
        expected = [layer(xs)[0] for layer in layers]
        streams = [torch.cuda.Stream() for _ in layers]
        for stream in streams:
            stream.wait_stream(torch.cuda.current_stream())
        found: list[list[Tensor]] = [[], []]
        for _ in range(20):
            for k, (layer, stream) in enumerate(zip(layers, streams, strict=True)):
                with torch.cuda.stream(stream):
                    found[k].append(layer(xs)[0])
        torch.cuda.synchronize()
    for ours, truth in zip(found, expected, strict=True):
        assert all(torch.equal(one, truth) for one in ours)


def odd_places(device: str, seed: int) -> None:
    """A kernel meets tensors that are laid out in other ways than those it was first given."""
    layer = layer_of("lstm", device, seed)
    room = torch.randn(9 * 21 * 96 + 1, device=device)
    even = room[: 9 * 21 * 48].view(9, 21, 48)
    odd = room[1 : 1 + 9 * 21 * 48].view(9, 21, 48)
    wide = room[: 9 * 21 * 96].view(9, 21, 96)[..., :48]
    state = [torch.randn(21 * 80 + 1, device=device)[1:].view(21, 80) for _ in range(2)]
    truth = layer_of("lstm", device, seed).double()
    for xs in (even, odd, wide, even):
        for first in (None, [[state]]):
            xs = xs.detach().requires_grad_()
            double = None if first is None else [[[value.double() for value in state]]]
            ours = of_layer(layer, xs, state=first, backend="cuda")
            given = xs.detach().double().requires_grad_()
            close(ours, of_layer(truth, given, state=double, backend="reference"), 1e-5)


def many_rows(device: str, seed: int) -> None:
    """From 64 rows on four warps go through a product together."""

    def together(*given: Any) -> list[Any]:
        work, B, element, *_ = given
        found = [way for _, way in tiles.priced(*given) if tiles.as_one(way, element)]
        assert found, f"no such way for {work} of {B} rows"
        return found[:1]

    kind = us.cells.LSTM
    sizes = dict.fromkeys(kind.equations.named_sizes, 128)
    cell, truth = made(kind, sizes, seed)
    given, weights = drawn(cell, T=5, B=150), []
    lengths = torch.randint(0, 6, (150,))
    expected = outcome(truth, given, weights, backend="reference", lengths=lengths)
    with changed(tiles, "candidates", together):
        how = {"backend": "cuda", "lengths": lengths.to(device)}
        close(outcome(cell.to(device, torch.bfloat16), given, weights, **how), expected, 1e-2)


def training(device: str, seed: int) -> None:
    """The first symbol, remembered to the end: learned on the device as elsewhere."""
    torch.manual_seed(seed)
    layer = us.Recurrent(us.cells.LSTM, 8, 128, bidirectional=True).to(device)
    readout = torch.nn.Linear(256, 8, device=device)
    parameters = [*layer.parameters(), *readout.parameters()]
    optimiser, losses = torch.optim.Adam(parameters, 3e-3), []
    for _ in range(150):
        symbols = torch.randint(0, 8, (20, 64), device=device)
        xs = torch.nn.functional.one_hot(symbols, 8).float()
        loss = torch.nn.functional.cross_entropy(readout(layer(xs)[0][-1]), symbols[0])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0], losses[::30]
