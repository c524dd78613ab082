"""`unfold` as one operator of torch, for torch.compile, torch.export and torch.jit.trace.

A graph cannot hold a cell, but it can hold its equations: the operator takes their text. In eager
mode the same kernels run under an autograd function, which is quicker to call.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from unspool.cells.cell import Bound
from unspool.cells.state import make_state
from unspool.engine import cpu, cuda, planned, trust
from unspool.engine.autograd import in_words
from unspool.engine.c_build import CannotBuild
from unspool.engine.c_spec import CannotPrint
from unspool.engine.call import (
    Call,
    autocast_is_on,
    prepare,
    under_autocast,
    without_autocast,
)
from unspool.engine.graphs import is_traced
from unspool.engine.kernels import no_kernels
from unspool.engine.launch import real_of
from unspool.engine.masks import Masks
from unspool.engine.pieces import Pieces, pieces_of
from unspool.engine.programs import build_both
from unspool.engine.saved import Saved
from unspool.engine.say import say_once
from unspool.equations.program import Equations
from unspool.equations.roles import equations as parse

# A list of texts, and a text of several lines, goes as one line: torch.jit.trace takes no list of
# texts, and code that is written for a graph no line breaks.
BETWEEN = "; "

GIVEN = (
    "str equations, str size_names, int[] sizes, Tensor xs, Tensor[] state, "
    "str names, Tensor[] parameters, Tensor? lengths, str keep, Tensor[] keep_masks, "
    "str operands, Tensor[] operand_masks, str record, bool reverse, str backend"
)


def one_line(text: str) -> str:
    """The text of a cell as the operator takes it; a semicolon can only stand in a comment."""
    return text.strip().replace(";", ",").replace("\n", BETWEEN)


@lru_cache(maxsize=256)
def equations_of(text: str) -> Equations:
    """What `one_line` gave, read again: once a text, so that its plan is made once too."""
    return parse(text.replace(BETWEEN, "\n"))


def listed(text: str) -> list[str]:
    return text.split(BETWEEN) if text else []


class Given(NamedTuple):
    """What both operators are given first, in the order of their schema."""

    equations: str
    size_names: str
    sizes: list[int]
    xs: Tensor
    state: list[Tensor]
    names: str
    parameters: list[Tensor]
    lengths: Tensor | None
    keep: str
    keep_masks: list[Tensor]
    operands: str
    operand_masks: list[Tensor]
    record: str
    reverse: bool
    backend: str

    def call(self) -> Call:
        sizes = dict(zip(listed(self.size_names), self.sizes, strict=True))
        tensors = dict(zip(listed(self.names), self.parameters, strict=True))
        masks = Masks(
            dict(zip(listed(self.keep), self.keep_masks, strict=True)),
            dict(zip(listed(self.operands), self.operand_masks, strict=True)),
        )
        with without_autocast(self.xs.device.type):  # its work is done, and part of the graph
            return prepare(
                Bound(equations_of(self.equations), sizes, tensors),
                self.xs,
                self.state,
                lengths=self.lengths,
                reverse=self.reverse,
                masks=masks,
                record=tuple(listed(self.record)),
            )

    def shapes(self) -> Call:
        """Without lengths, whose numbers are not known while a graph is made."""
        return self._replace(lengths=None).call()


@torch.library.custom_op(
    "unspool::unfold", mutates_args=(), schema=f"({GIVEN}, bool training) -> Tensor[]"
)
def unfold_op(*arguments: Any) -> list[Tensor]:
    """ys, the last state, the recorded lines; in training also what the backward pass reads."""
    given, training = Given(*arguments[:-1]), arguments[-1]
    backend, call, pieces = _chosen(given.call(), given.backend)
    with without_autocast(call.xs.device.type), in_words("forwards"):
        runs = _trusted(backend, call, given.backend, training)
        how = {"room": cpu.room_for_saved(call)} if runs is cpu else {}
        outputs, saved = runs.forward(call, training, **how)
    if runs is not cpu:
        outputs = [output.clone() for output in outputs]  # own memory
    outputs = outputs if pieces is None else pieces.outputs(outputs)
    if not training:
        return outputs
    if runs is cuda:
        kept = _packed(call, saved.tensors)
    elif runs is cpu:
        (kept,) = saved.tensors
    else:  # nothing, in the place that was promised: what was traced may run anywhere
        kept = call.xs.new_empty(_kept_length(call) if backend is cuda else 0)
    return [*outputs, kept]


def _trusted(backend: Any, call: Call, asked: str, training: bool) -> Any:
    """The planned loop in the place of kernels for a GPU that do not do what it does."""
    if backend is not cuda:
        return backend
    try:
        if asked == "auto":
            trust.earned([call], training)
    except (CannotPrint, CannotBuild) as error:
        say_once(str(error))
        return planned
    return cuda


def _kept_sizes(call: Call) -> list[int]:
    """Of the lines that kernels for a GPU keep for the backward pass."""
    assert isinstance(call.cell, Bound)
    plan = cuda.plan_of(call)
    return [plan.sizes[name].value(call.cell.sizes) for name in cuda.kept(plan)]


def _kept_length(call: Call) -> int:
    return call.xs.shape[0] * call.xs.shape[1] * sum(_kept_sizes(call))


def _packed(call: Call, kept: Sequence[Tensor]) -> Tensor:
    """All that is kept in one tensor and in one dtype: as many as on a CPU."""
    packed = call.xs.new_empty(_kept_length(call), dtype=real_of(call.xs.dtype))
    for place, rows in zip(_unpacked(call, packed), kept, strict=True):
        place.copy_(rows)
    return packed


def _unpacked(call: Call, packed: Tensor) -> list[Tensor]:
    rows, sizes = call.xs.shape[0] * call.xs.shape[1], _kept_sizes(call)
    parts = packed.split([rows * n for n in sizes])
    return [part.view(rows, n) for part, n in zip(parts, sizes, strict=True)]


@unfold_op.register_fake
def _(*arguments: Any) -> list[Tensor]:
    given, training = Given(*arguments[:-1]), arguments[-1]
    call = given.shapes()
    cell, xs = call.cell, call.xs
    assert isinstance(cell, Bound)
    T, B, _ = xs.shape
    found = [xs.new_empty(T, B, cell.output_size)]
    found += [xs.new_empty(B, n) for n in cell.state_sizes.values()]
    names = [cell.equations.carried.get(name, name) for name in call.record]
    found += [xs.new_empty(T, B, cell.size(name)) for name in names]
    backend, inner, _ = _chosen(call, given.backend) if training else (planned, call, None)
    if backend is cpu:
        found.append(xs.new_empty(cpu.room_for_saved(inner)))
    elif backend is cuda:
        found.append(xs.new_empty(_kept_length(inner), dtype=real_of(xs.dtype)))
    elif training:
        found.append(xs.new_empty(0))
    return found


@torch.library.custom_op(
    "unspool::unfold_backward",
    mutates_args=(),
    schema=f"({GIVEN}, Tensor[] saved, Tensor[] grads) -> Tensor[]",
)
def backward_op(*arguments: Any) -> list[Tensor]:
    """Gradients of xs, of each state, of each parameter."""
    given, saved, grads = Given(*arguments[:-2]), *arguments[-2:]
    call = given.call()
    backend, inner, pieces = _chosen(call, given.backend)
    grads = grads if pieces is None else pieces.grads(grads)
    with without_autocast(call.xs.device.type), in_words("backwards"):
        backend = _trusted(backend, inner, given.backend, True)
        # the planned loop keeps nothing, nor does a graph that was made without gradients
        if backend is planned or not saved or not saved[0].numel():
            kept = backend.forward(inner, training=True)[1]
        elif backend is cpu:
            kept = Saved(saved, cpu.layout_of(inner))
        else:
            kept = Saved(_unpacked(inner, saved[0]), None)
        found = backend.backward(inner, kept, grads, True)
    if backend is not cpu:
        found = {name: gradient.clone() for name, gradient in found.items()}  # own memory
    if pieces is not None:
        found = pieces.gradients(found)
    assert isinstance(call.cell, Bound)
    tensors = {"x": call.xs, **dict(zip(call.cell.equations.states, call.state, strict=True))}
    tensors |= call.cell.tensors
    return [found[n] if n in found else torch.zeros_like(t) for n, t in tensors.items()]


@backward_op.register_fake
def _(*arguments: Any) -> list[Tensor]:
    given = Given(*arguments[:-2])
    return [t.new_empty(t.shape) for t in (given.xs, *given.state, *given.parameters)]


LISTS = ("state", "parameters", "keep_masks", "operand_masks")


def _setup(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    given = Given(*inputs[:-1])
    saved = output[1 + len(given.state) + len(listed(given.record)) :]
    lists = [*(getattr(given, name) for name in LISTS), saved]
    ctx.counts = [len(tensors) for tensors in lists]
    ctx.save_for_backward(given.xs, given.lengths, *itertools.chain(*lists))
    ctx.given = given._replace(**dict.fromkeys(("xs", "lengths", *LISTS)))


def _backward(ctx: Any, grads: list[Tensor]) -> tuple[Any, ...]:
    xs, lengths, *rest = ctx.saved_tensors
    held = iter(rest)
    *lists, saved = (list(itertools.islice(held, count)) for count in ctx.counts)
    given = ctx.given._replace(xs=xs, lengths=lengths, **dict(zip(LISTS, lists, strict=True)))
    outputs = 1 + len(given.state) + len(listed(given.record))
    found = torch.ops.unspool.unfold_backward(*given, saved, list(grads[:outputs]))
    states = 1 + len(given.state)
    nothing = Given(*map(_no_gradient, given))
    by_argument = nothing._replace(xs=found[0], state=found[1:states], parameters=found[states:])
    return (*by_argument, None)


def _no_gradient(argument: Any) -> Any:
    """What torch wants to see for an argument: lists of tensors stay lists."""
    if isinstance(argument, list) and all(isinstance(one, Tensor) for one in argument):
        return [None] * len(argument)
    return None


unfold_op.register_autograd(_backward, setup_context=_setup)


def unfold_compiled(
    bound: Bound,
    xs: Tensor,
    state: Sequence[Tensor] | None,
    lengths: Tensor | Sequence[int] | None,
    reverse: bool,
    masks: Masks | None,
    backend: str,
    record: tuple[str, ...],
) -> tuple[Tensor, Any, dict[str, Tensor]]:
    """The operator, called from inside a graph that is being made."""
    if torch.onnx.is_in_onnx_export():
        raise RuntimeError(
            "torch.onnx knows no operator for equations: with dynamo=False the layers and cells of "
            "unspool.nn are exported as torch's own; torch.export can hold the others"
        )
    masks = Masks() if masks is None else masks
    eqs, (T, B, _) = bound.equations, xs.shape
    if autocast_is_on(xs.device.type):  # the graph itself converts what autocast would
        bound = under_autocast(bound, xs.device.type)
        dtype = next(iter(bound.tensors.values()), xs).dtype
        xs = xs.to(dtype)
        state = None if state is None else [value.to(dtype) for value in state]
    parameters = [_masked(t, masks.weights.get(n)) for n, t in bound.tensors.items()]
    if state is None:
        state = [xs.new_zeros(B, bound.size(name)) for name in eqs.states]
    keep = [
        mask if isinstance(mask, Tensor) else xs.new_full((T, B, bound.size(name)), mask)
        for name, mask in masks.keep.items()
    ]
    # torch.jit.trace makes its graph twice, once without gradients, and wants the same
    training = torch.is_grad_enabled() or is_traced()
    given = Given(
        equations=one_line(eqs.text),
        size_names=BETWEEN.join(bound.sizes),
        sizes=list(bound.sizes.values()),
        xs=xs,
        state=list(state),
        names=BETWEEN.join(bound.tensors),
        parameters=parameters,
        lengths=torch.as_tensor(lengths) if isinstance(lengths, Sequence) else lengths,
        keep=BETWEEN.join(masks.keep),
        keep_masks=keep,
        operands=BETWEEN.join(masks.operands),
        operand_masks=list(masks.operands.values()),
        record=BETWEEN.join(record),
        reverse=reverse,
        backend=backend,
    )
    found = torch.ops.unspool.unfold(*given, training)
    count = 1 + len(eqs.states)
    lines = dict(zip(record, found[count : count + len(record)], strict=True))
    return found[0], make_state(eqs.states, found[1:count]), lines


def _masked(tensor: Tensor, mask: Tensor | None) -> Tensor:
    return tensor if mask is None else tensor * mask.to(tensor.dtype)


class Chosen(NamedTuple):
    """What runs, the call that it runs, and how that call is one in pieces."""

    backend: Any
    call: Call
    pieces: Pieces | None = None


def _chosen(call: Call, asked: str) -> Chosen:
    """The kernels wherever they can run; else the planned loop, which runs anew backwards."""
    found = cpu if cpu.takes(call) else cuda if cuda.takes(call) else planned
    if asked == "planned" or not call.xs.numel():
        return Chosen(planned, call)
    if asked != "auto" and found is not {"cpu": cpu, "cuda": cuda}.get(asked):
        where = f"{call.xs.dtype} on {call.xs.device.type}"
        raise ValueError(f"the {asked} backend does not run {where}; backend='auto' does")
    assert isinstance(call.cell, Bound)
    if found is planned:
        say_once(str(no_kernels(call)), call.cell.equations)
        return Chosen(planned, call)
    try:
        pieces = pieces_of(call)
        inner = call if pieces is None else pieces.call()
        if found is cpu:
            build_both(cpu.plan_of(inner), inner.xs.dtype, False)
        else:
            cuda.print_both(inner)
    except (CannotPrint, CannotBuild) as error:
        if asked != "auto":
            raise ValueError(f"the {asked} backend cannot run this cell: {error}") from None
        say_once(str(error), call.cell.equations if isinstance(error, CannotPrint) else None)
        return Chosen(planned, call)
    return Chosen(found, inner, pieces)
