"""The plan in plain torch: all steps at once where the plan allows it, a loop where it must.

The fallback where no kernel can be built, and a second check of the plan beside the reference.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unspool.engine.call import Call
from unspool.engine.rows import Runner, arranged, parameter_gradients
from unspool.engine.saved import Saved
from unspool.engine.stages import Env, Stages, stages_of
from unspool.equations.derivative import OUTPUT, adjoint, from_next, recorded


def forward(call: Call, training: bool) -> tuple[list[Tensor], Saved]:
    """Outputs: ys, the last state, the recorded lines."""
    stages = stages_of(call)
    plan, eqs = stages.plan, stages.plan.equations
    T, B = call.xs.shape[:2]
    flat: Env = {**stages.tensors, **stages.flat_masks(), "x": stages.flat(call.xs)}
    flat["rows"] = len(flat["x"])
    Runner(stages, arranged(plan.forward.before))(flat)
    wanted = {*plan.saved} if training else set[str]()
    wanted |= {name for item in plan.forward.after for name in item.reads()}
    wanted |= {eqs.output, *(eqs.carried.get(name, name) for name in call.record)}
    made = [item.name for item in plan.forward.inside]
    reads = {n for item in plan.forward.inside for n in item.reads()} | {*eqs.carried.values()}
    ready = {item.name for item in plan.forward.before} | {"x"}
    early = {name: stages.spread(flat[name]) for name in reads & ready}
    kept: dict[str, list[Any]] = {n: [None] * T for n in made if n in wanted}
    state = dict(zip(eqs.states, call.state, strict=True))
    history: dict[str, list[Any]] = {n: [None] * T for n in eqs.states}
    run = Runner(stages, arranged(plan.forward.inside))
    for t in stages.times():
        env: Env = {**stages.tensors, **stages.masks_at(t), **state, "rows": B}
        env |= {name: array[t] for name, array in early.items()}
        for name, value in state.items():
            history[name][t] = value
        run(env)
        for name, steps in kept.items():
            steps[t] = env[name]
        state = {n: _keep(stages, t, env[line], state[n]) for n, line in eqs.carried.items()}
    for name, steps in kept.items():
        flat[name] = stages.flat(_stack(steps, call.xs, B, stages.size(name)))
    for name, steps in history.items():
        flat[name] = stages.flat(_stack(steps, call.xs, B, stages.size(name)))
    Runner(stages, arranged(plan.forward.after))(flat)
    names = (eqs.output, *(eqs.carried.get(name, name) for name in call.record))
    outputs = [stages.spread(flat[name]) for name in names]
    last = [*state.values()]
    if training or not T:  # callers may change theirs in place, and what is saved stays
        outputs, last = ([one.clone() for one in ones] for ones in (outputs, last))
    left = {name: value for name, value in flat.items() if isinstance(value, Tensor)}
    plain = {name: value for name, value in flat.items() if name not in left}
    return [outputs[0], *last, *outputs[1:]], Saved([*left.values()], ([*left], plain))


def backward(call: Call, saved: Saved, grads: Sequence[Tensor], wants_x: bool) -> dict[str, Tensor]:
    """Gradients by name: x, each state, each parameter of the equations."""
    stages = stages_of(call)
    plan, eqs = stages.plan, stages.plan.equations
    B, states = call.xs.shape[1], eqs.states
    names, plain = saved.rest
    flat: Env = {**plain, **dict(zip(names, saved.tensors, strict=True))}
    flat[OUTPUT] = stages.flat(grads[0])
    for name, grad in zip(call.record, grads[1 + len(states) :], strict=True):
        flat[recorded(name)] = stages.flat(grad)
    Runner(stages, arranged(plan.backward.before))(flat)
    made = [item.name for item in plan.backward.inside]
    reads = {n for item in plan.backward.inside for n in item.reads()} - set(made)
    reads |= {line for line in plan.flow().values() if line not in made}
    fixed = {*eqs.vectors, *call.step_masks, *call.row_masks, *map(from_next, states)}
    early = {name: stages.spread(flat[name]) for name in reads - fixed}
    kept: dict[str, list[Any]] = {name: [None] * len(call.xs) for name in made}
    flow = {name: grads[1 + k] for k, name in enumerate(states)}
    flows = plan.flow()
    run = Runner(stages, arranged(plan.backward.inside))
    history: dict[str, list[Any]] = {name: [None] * len(call.xs) for name in states}
    for t in reversed(stages.times()):
        env: Env = {**stages.tensors, **stages.masks_at(t), "rows": B}
        env |= {name: array[t] for name, array in early.items()}
        for name, value in flow.items():
            env[from_next(name)] = history[name][t] = value
        run(env)
        for name, steps in kept.items():
            steps[t] = env[name]
        nothing = torch.zeros_like(call.xs[0, :, :1])
        sent = {n: env[flows[n]] if n in flows else nothing.expand_as(v) for n, v in flow.items()}
        flow = {name: _keep(stages, t, sent[name], value) for name, value in flow.items()}
    for name, steps in kept.items():
        flat[name] = stages.flat(_stack(steps, call.xs, B, stages.size(name)))
    for name, steps in history.items():
        flat[from_next(name)] = stages.flat(_stack(steps, call.xs, B, stages.size(name)))
    Runner(stages, arranged(plan.backward.after))(flat)
    found = {"x": stages.spread(flat[adjoint("x")])} if adjoint("x") in flat else {}
    return found | flow | parameter_gradients(stages, flat)


def _keep(stages: Stages, t: int, new: Tensor, old: Tensor) -> Tensor:
    return new if stages.inside is None else torch.where(stages.inside[t][:, None], new, old)


def _stack(steps: Sequence[Any], like: Tensor, rows: int, size: int) -> Tensor:
    if not steps:
        return like.new_zeros(0, rows, size)
    return torch.stack([step.expand(rows, -1) for step in steps])
