"""Which units of a trained model follow a property of the text.

A property that is true or not is scored by the AUC: the chance that the unit is higher where it
is true than where it is not, equal values counting half. A property that is a number is scored by
Spearman's rank correlation. Either way a unit that is low where the property is high counts as
much, and its sign is kept.

Among thousands of units some follow anything by luck. So a unit is chosen on the first half of
the text, and its score is that on the second. Beside it stands a control: the same search with
the labels moved along the text, which keeps their runs and breaks their meaning.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.inspect.lean import Weights, as_labels, leans, score_of, weighed
from unspool.inspect.properties import KINDS, PROPERTIES, Kind, kind_of

Place = tuple[int, str]  # the number of a layer, and the name of a line
Given = Sequence[float] | np.ndarray
TOP, SHIFTS = 3, 20


@dataclass(frozen=True)
class Found:
    """A unit that follows a property; `score` is its AUC or rank correlation on `n` symbols that
    did not choose it, `chosen_on` that on those that did, and `control` the best of the controls.

    The sign is -1 for a unit that is low where the property is high: then the scores are those
    of the unit turned round.
    """

    property: str
    kind: Kind
    layer: int
    line: str
    unit: int
    sign: int
    score: float
    control: float
    chosen_on: float
    n: int


class Search(NamedTuple):
    """The best units of each property, and in words which properties could not be searched for."""

    found: list[Found]
    skipped: list[str]


def search(
    recorded: Mapping[Place, Tensor],
    labels: Mapping[str, Given],
    *,
    top: int = TOP,
    shifts: int = SHIFTS,
    seed: int = 0,
    progress: Callable[[float], None] = lambda done: None,
) -> Search:
    """The `top` units that follow each property best, over all lines that were recorded.

    `recorded` has the values of a line after each symbol, (N, n), by layer and line; each is
    asked for once, so they need not all be in memory. `labels` has one number for each symbol, by
    the name of the property (`properties.labels_of`). `shifts` controls are made of each, moved
    by numbers drawn from the seed. `progress` is told how much is done, from 0 to 1.
    """
    kinds: dict[str, Kind] = {name: one.kind for name, one in PROPERTIES.items()}
    named = [_Label.of(name, values, kinds.get(name)) for name, values in labels.items()]
    problems = [label.problem() for label in named]
    wanted = [label for label, problem in zip(named, problems, strict=True) if not problem]
    found = _search(recorded, wanted, _Procedure(top, shifts, seed), progress)
    return Search(found, [problem for problem in problems if problem])


def find_units(
    activations: Tensor,
    labels: Given,
    *,
    kind: Kind | None = None,
    top: int = TOP,
    shifts: int = SHIFTS,
    seed: int = 0,
) -> list[Found]:
    """The same for one line (N, n) and one property that has no name.

    Without a `kind`, labels that are 0 and 1 alone are "yes/no", and others "number".
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind is one of {', '.join(KINDS)}, not {kind!r}")
    label = _Label.of("", labels, kind)
    if problem := label.problem():
        raise ValueError(problem)
    procedure = _Procedure(top, shifts, seed)
    return _search({(0, ""): activations}, [label], procedure, lambda done: None)


class _Procedure(NamedTuple):
    top: int
    shifts: int
    seed: int


class _Label(NamedTuple):
    name: str
    kind: Kind
    values: Tensor

    @classmethod
    def of(cls, name: str, given: Given, kind: Kind | None) -> "_Label":
        values = as_labels(given)
        label = cls(name, kind or kind_of(values.numpy()), values)
        if label.kind == "yes/no" and kind_of(values.numpy()) != "yes/no":
            raise ValueError(f"{label.title}: the labels of a yes/no property are 0 and 1")
        return label

    @property
    def title(self) -> str:
        return PROPERTIES[self.name].title if self.name in PROPERTIES else self.name or "the label"

    def problem(self) -> str:
        """Why no unit can be found: nothing can be told from a label that never changes."""
        for part, which in zip(_parts(len(self.values)), ("first", "second"), strict=True):
            values = self.values[part]
            if not len(values) or (values == values[0]).all():
                return f"{self.title}: it is the same everywhere in the {which} half of the text"
        return ""


def _search(
    recorded: Mapping[Place, Tensor],
    wanted: Sequence[_Label],
    procedure: _Procedure,
    progress: Callable[[float], None],
) -> list[Found]:
    if procedure.top < 1 or procedure.shifts < 1:
        raise ValueError(f"top and shifts are 1 or more; got {procedure.top}, {procedure.shifts}")
    if not wanted or not recorded:
        return []
    parts = _parts(len(wanted[0].values))
    draw = np.random.default_rng(procedure.seed)
    weights = [_with_controls(wanted, part, procedure.shifts, draw) for part in parts]
    units: list[tuple[Place, int]] = []
    lean: list[Tensor] = []
    for done, place in enumerate(recorded, 1):
        values = recorded[place]
        _check(values, wanted, place)
        pairs = zip(parts, weights, strict=True)
        lean.append(torch.stack([leans(values[part], way) for part, way in pairs]))
        units += [(place, unit) for unit in range(values.shape[1])]
        progress(done / len(recorded))
    # Halves, units, properties, and for each the labels themselves and their controls.
    table = torch.cat(lean, 1).view(2, len(units), len(wanted), -1)
    best = (_best(label, units, table[:, :, k], procedure.top) for k, label in enumerate(wanted))
    return [one for some in best for one in some]


def _parts(size: int) -> tuple[slice, slice]:
    """The half that chooses, and the half that tells."""
    return slice(0, size // 2), slice(size // 2, size)


def _with_controls(
    wanted: Sequence[_Label], part: slice, shifts: int, draw: np.random.Generator
) -> Weights:
    """Each property's weights, and after them those of its controls: the same, moved round by a
    quarter of the half to three quarters of it."""
    columns: list[Tensor] = []
    for label in wanted:
        own = weighed(label.values[part], label.kind)
        offsets = draw.integers(-(-len(own) // 4), 3 * len(own) // 4 + 1, size=shifts)
        columns += [own, *(own.roll(int(offset)) for offset in offsets)]
    divided = [label.kind == "number" for label in wanted for _ in range(1 + shifts)]
    return Weights(torch.stack(columns, 1), torch.tensor(divided))


def _best(
    label: _Label, units: Sequence[tuple[Place, int]], table: Tensor, top: int
) -> list[Found]:
    """The units that lean most in the first half, with what they do in the second.

    `table` is (halves, units, the labels and their controls).
    """
    falling = torch.sort(table[0].abs(), dim=0, descending=True, stable=True)
    order = falling.indices[:top]
    first, second = table.gather(1, order.expand(2, -1, -1))
    sign = torch.where(first < 0, -1.0, 1.0)
    chosen_on, score = score_of(label.kind, first * sign), score_of(label.kind, second * sign)
    control = float(score[0, 1:].max())
    size = len(label.values) - len(label.values) // 2
    found = []
    for k, unit in enumerate(order[:, 0].tolist()):
        (layer, line), number = units[unit]
        place = (label.name, label.kind, layer, line, number, int(sign[k, 0]))
        found.append(Found(*place, float(score[k, 0]), control, float(chosen_on[k, 0]), size))
    return found


def _check(values: Tensor, wanted: Sequence[_Label], place: Place) -> None:
    layer, line = place
    name = f"line {line} of layer {layer}" if line else "the line"
    for label in wanted:
        if values.dim() != 2 or len(values) != len(label.values):
            raise ValueError(
                f"{name} is {tuple(values.shape)}, and {label.title} has {len(label.values)} "
                "labels: give a row of activations and a label for each symbol"
            )
    if not values.isfinite().all():
        raise ValueError(f"{name} has activations that are not finite: they have no rank")
