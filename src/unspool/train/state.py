"""What a training must remember beside its tensors, and how it is checked when it is read.

A checkpoint may come from somebody else. Every part of it is compared with what this training
would have written before anything is taken from it: torch's optimisers do not look at the shapes
of their own state, and read and write past the end of a tensor that is too short.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor, nn

LARGEST = 2**53  # of counts
OPTIMISER_STATE = {
    torch.optim.AdamW: {"step", "exp_avg", "exp_avg_sq"},
    torch.optim.SGD: {"momentum_buffer"},
}


@dataclass
class Standing:
    """Where training stands, but for the tensors that learn."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    total: float = 0.0  # of the losses in this epoch
    count: int = 0
    best: float | None = None
    scores: dict[str, float] = field(default_factory=dict)  # of the best epoch
    best_epoch: int = -1
    stalled: int = 0  # epochs since then
    falls: int = 0
    logged: int = 0  # bytes of metrics.jsonl
    seconds: float = 0.0
    carried: Any = None


PARTS = ("standing", "settings", "machine", "model", "best", "optimiser", "average", "random")


def check_parts(value: Any) -> None:
    """Raises a ValueError if a value is not of the form that a checkpoint has."""
    _expect(isinstance(value, dict) and all(name in value for name in PARTS), "its parts")
    kept = value.get("run", {})
    _expect(isinstance(kept, dict), "run")
    _expect(isinstance(kept.get("vocab", {}), dict), "vocab")
    _expect(isinstance(value["machine"], dict), "machine")
    _expect(is_weights(value["model"]), "model")
    _expect(is_weights(value["best"]), "best")
    check_standing(value["standing"])
    average = value["average"]
    _expect(isinstance(average, dict), "average")
    _expect(is_weights(average.get("mean")), "mean")
    _expect(is_count(average.get("count")) and isinstance(average.get("triggered"), bool), "count")
    epochs = average.get("epochs")
    _expect(isinstance(epochs, list) and all(map(is_weights, epochs)), "epochs")


def check_standing(value: Any) -> None:
    """Raises a ValueError if a value is not the fields of a `Standing`."""
    names = [item.name for item in fields(Standing)]
    _expect(isinstance(value, dict) and sorted(value) == sorted(names), "standing")
    for name in ("epoch", "batch", "step", "count", "stalled", "falls", "logged"):
        _expect(is_count(value[name]), name)
    _expect(value["best_epoch"] == -1 or is_count(value["best_epoch"]), "best_epoch")
    _expect(value["best"] is None or is_number(value["best"]), "best")
    _expect(is_number(value["total"]) and is_number(value["seconds"]), "total")
    scores = value["scores"]
    _expect(isinstance(scores, dict) and all(map(is_number, scores.values())), "scores")
    _expect(_is_nest(value["carried"]), "carried")


def check_tensors(value: Mapping[str, Any], model: nn.Module) -> None:
    """Raises a ValueError if averages and best weights are not those of this model."""
    mine = {name: (p.shape, p.dtype) for name, p in model.named_parameters()}
    average = value["average"]
    for weights in (value["best"], average["mean"], *average["epochs"]):
        found = {name: (tensor.shape, tensor.dtype) for name, tensor in weights.items()}
        _expect(not found or found == mine, "weights")


def optimiser_state(value: Any, optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    """The state to load into an optimiser, checked against its parameters.

    Only tensors are taken from the value. Settings are the optimiser's own, which follow from
    those of the run.
    """
    _expect(isinstance(value, dict) and isinstance(value.get("state"), dict), "optimiser")
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    names = OPTIMISER_STATE[type(optimiser)]  # type: ignore[index]
    for index, state in value["state"].items():
        _expect(is_count(index) and index < len(parameters), "optimiser")
        _expect(isinstance(state, dict) and set(state) == names, "optimiser")
        for name, tensor in state.items():
            if tensor is None and name == "momentum_buffer":
                continue
            shape = torch.Size() if name == "step" else parameters[index].shape
            if (
                not isinstance(tensor, Tensor)
                or tensor.shape != shape
                or not tensor.is_floating_point()
            ):
                raise ValueError(f"the optimiser's {name} is not what training writes")
    return {"state": value["state"], "param_groups": optimiser.state_dict()["param_groups"]}


def is_weights(value: Any) -> bool:
    """Whether a value is tensors by name."""
    return isinstance(value, dict) and all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in value.items()
    )


def is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < LARGEST


def is_number(value: Any) -> bool:
    """nan and infinity too: a score may be."""
    return isinstance(value, float) or (type(value) is int and abs(value) < LARGEST)


def _is_nest(value: Any) -> bool:
    """Whether a value is None, a tensor, or a sequence of such."""
    if isinstance(value, list | tuple):
        return all(map(_is_nest, value))
    return value is None or isinstance(value, Tensor)


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{what} is not what training writes")


def machine() -> dict[str, Any]:
    """What the last bits depend on."""
    return {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }


def random_state() -> dict[str, Any]:
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def set_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
