"""What `cells_cuda.py` times: our cells, cuDNN's layers, and slower ways to run the same loop."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import cells
import peers
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

import unspool as us
from unspool.lab import speed

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
FORMS = ("dense", "ragged", "bidirectional")

OWN = us.cell(
    """
    a  = sigmoid(W_a @ x + U_a @ h + b_a)
    s  = softplus(W_s @ x + U_s @ h + b_s)
    k  = tanh(W_k @ x + U_k @ h + b_k)
    m' = a * m + (1 - a) * s * k
    h' = tanh(m') * (1 - a * k)
    """,
    name="own",
)


@dataclass(frozen=True)
class Case:
    """One line of the output: a cell at a shape. `theirs` is cuDNN's dtype, ours if empty."""

    cell: str
    dtype: str
    form: str
    shape: tuple[int, int, int]
    mode: str
    theirs: str = ""

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape))
        return f"{self.cell:<16} {self.dtype} {self.form:<13} {size:<12} {self.mode:<16}"

    @property
    def kind(self) -> us.CellType:
        return kinds()[self.cell]

    @property
    def directions(self) -> int:
        return 2 if self.form == "bidirectional" else 1

    def lengths(self) -> Tensor | None:
        """Evenly spaced from a quarter of the steps to all of them; none where rows are full."""
        T, B, _ = self.shape
        return torch.linspace(max(1, T // 4), T, B).long() if self.form == "ragged" else None


@dataclass(frozen=True)
class Candidate:
    """What is timed: on torch's stream, or by the host's clock where `wait` says it is done."""

    call: Callable[[], Any]
    slow: bool = False
    wait: Callable[[Any], Any] | None = None


def kinds() -> dict[str, us.CellType]:
    return {**us.cells.named(), OWN.name: OWN}


def inputs(case: Case, device: str, dtype: str) -> Tensor:
    T, B, H = case.shape
    xs = torch.randn(T, B, H, device=device, dtype=DTYPES[dtype])
    return xs.requires_grad_(case.mode != "forward")


def candidate(
    case: Case, run: Callable[[], Tensor], leaves: Sequence[Tensor], shape: Sequence[int]
) -> Candidate:
    """A forward pass without gradients, or with those of all leaves, from zero each time."""
    if case.mode == "forward":
        return Candidate(torch.no_grad()(run))
    gradient = torch.randn(*shape, device=leaves[0].device, dtype=leaves[0].dtype)

    def both() -> None:
        for leaf in leaves:
            leaf.grad = None
        run().backward(gradient)

    return Candidate(both)


class Unfolded(nn.Module):
    """A cell over a sequence, in one direction or both: a module, as graphs want it."""

    def __init__(self, case: Case, device: str, backend: str):
        super().__init__()
        H, self.backend, lengths = case.shape[2], backend, case.lengths()
        # on the device beforehand, as cuDNN's packing is made beforehand
        self.lengths = None if lengths is None else lengths.to(device)
        both = case.directions == 2
        self.layer = us.Recurrent(case.kind.sized, H, H, bidirectional=True) if both else None
        self.cell = None if both else speed.build(case.kind, H)
        self.to(device, DTYPES[case.dtype])
        self.train(case.mode != "forward")

    @property
    def output_size(self) -> int:
        found = self.layer or self.cell
        assert found is not None
        return found.output_size

    def forward(self, xs: Tensor) -> Tensor:
        if self.layer is not None:
            return self.layer(xs, backend=self.backend)[0]
        return us.unfold(self.cell, xs, lengths=self.lengths, backend=self.backend)[0]


def ours(case: Case, device: str, backend: str = "auto") -> Candidate:
    layer, xs = Unfolded(case, device, backend), inputs(case, device, case.dtype)
    shape = (*case.shape[:2], layer.output_size)
    return candidate(case, lambda: layer(xs), [xs, *layer.parameters()], shape)


def torch_layer(case: Case) -> Any:
    """cuDNN's own cell of this kind where it has one, else its LSTM."""
    return speed.TORCH.get(case.cell, nn.LSTM)


def share(case: Case) -> float:
    """What part of the peer's time is compared: the share of its LSTM's multiplications."""
    if case.cell in speed.TORCH:
        return 1.0
    wanted = cells.multiplications(case.kind) / cells.multiplications(us.cells.LSTM)
    return max(wanted, 0.5)


def torch_name(case: Case, device: str) -> str:
    """What we are compared with, in the words of the output."""
    dtype = case.theirs or case.dtype
    library = "cuDNN" if on_cudnn(device, dtype) else "torch.nn"
    scaled = "" if case.cell in speed.TORCH else f" x {share(case):.2f}"
    return f"{library} {torch_layer(case).__name__}{f' {case.theirs}' * bool(case.theirs)}{scaled}"


@cache
def on_cudnn(device: str, dtype: str) -> bool:
    """Whether torch.nn takes cuDNN for this dtype; not every version does for bfloat16."""
    if device == "cpu":
        return False
    layer = nn.LSTM(64, 64).to(device, DTYPES[dtype])
    flatten(layer)
    ys, _ = layer(torch.zeros(2, 2, 64, device=device, dtype=DTYPES[dtype]))
    return "cudnn" in type(ys.grad_fn).__name__.lower()


def flatten(layer: nn.RNNBase) -> None:
    """Weights in one piece, as cuDNN wants them.

    torch's own check leaves bfloat16 out, in which cuDNN then copies all weights at every call:
    a handicap that is not cuDNN's.
    """
    dtypes, dtype = torch.backends.cudnn.CUDNN_TENSOR_DTYPES, next(layer.parameters()).dtype
    added = dtype not in dtypes
    dtypes.add(dtype)
    try:
        layer.flatten_parameters()
    except RuntimeError as error:
        say_once(f"cuDNN's weights stay apart for {dtype}: {one_line(error)}")
    finally:
        if added:
            dtypes.remove(dtype)


def torch_nn(case: Case, device: str) -> Candidate:
    """torch.nn's layer; ragged rows are packed before the clock starts."""
    dtype, H = case.theirs or case.dtype, case.shape[2]
    layer: nn.RNNBase = torch_layer(case)(H, H, bidirectional=case.directions == 2)
    layer.to(device, DTYPES[dtype]).train(case.mode != "forward")
    flatten(layer)
    given, lengths = inputs(case, device, dtype), case.lengths()
    if lengths is None:
        shape = (*case.shape[:2], H * case.directions)
        return candidate(case, lambda: layer(given)[0], [given, *layer.parameters()], shape)
    packed = pack_padded_sequence(given.detach(), lengths, enforce_sorted=False)
    xs = packed.data.requires_grad_(given.requires_grad)
    rows = PackedSequence(xs, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    shape = (len(xs), H)
    return candidate(case, lambda: layer(rows)[0].data, [xs, *layer.parameters()], shape)


def loop(case: Case, device: str) -> Candidate:
    """One torch call after the other, as our own loop has them without kernels."""
    return Candidate(ours(case, device, "planned").call, slow=True)


def graph(case: Case, device: str) -> Candidate:
    """The same loop, recorded once and replayed without the host."""
    if device != "cuda":
        raise ValueError("graphs are CUDA's")
    layer, xs = Unfolded(case, device, "planned"), inputs(case, device, case.dtype)
    if case.mode != "forward":
        replayed: Any = torch.cuda.make_graphed_callables(layer, (xs,))
        shape = (*case.shape[:2], layer.output_size)
        found = candidate(case, lambda: replayed(xs), [xs, *layer.parameters()], shape)
        return Candidate(found.call, slow=True)
    recorded = torch.cuda.CUDAGraph()
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            layer(xs)  # libraries set themselves up outside of what is recorded
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(recorded):
            ys = layer(xs)

    def call() -> Any:
        recorded.replay()
        return layer, xs, ys  # a graph reads and writes these, and does not keep them

    return Candidate(call, slow=True)


def jax_scan(case: Case, device: str) -> Candidate:
    """JAX's jitted scan of an LSTM, on its own stream."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory too
    import jax  # pyright: ignore[reportMissingImports]

    if device == "cuda" and jax.default_backend() != "gpu":
        raise ValueError(f"jax sees no GPU, only the {jax.default_backend()}")
    dtype = str(DTYPES[case.dtype]).removeprefix("torch.")
    run, parameters, xs = peers.jax_lstm(*case.shape, dtype)
    if case.mode == "forward":
        forward = jax.jit(run)
        return Candidate(lambda: forward(parameters, xs), True, jax.block_until_ready)
    gradient = jax.random.normal(jax.random.PRNGKey(1), case.shape, dtype)
    both = jax.jit(lambda parameters, xs, gradient: jax.vjp(run, parameters, xs)[1](gradient))
    return Candidate(lambda: both(parameters, xs, gradient), True, jax.block_until_ready)


PEERS = {"loop": loop, "graph": graph, "jax": jax_scan}


def peers_of(case: Case, wanted: Sequence[str]) -> list[str]:
    """JAX's scan is written for the LSTM over full rows alone."""
    plain = case.cell == "lstm" and case.form == "dense"
    return [name for name in wanted if not case.theirs and (name != "jax" or plain)]


@cache
def say_once(text: str) -> None:
    print(text, flush=True)


def one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
