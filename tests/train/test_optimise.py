"""Gradients that are cut, rates that fall, weights that are averaged."""

import math

import pytest
import torch
from torch import nn

from unspool.train.average import Average, weights_of
from unspool.train.optimise import clip_norm, clip_value, make_optimiser, rate
from unspool.train.settings import Training


def with_gradients(scale: float) -> list[nn.Parameter]:
    found = [nn.Parameter(torch.zeros(3, 4)), nn.Parameter(torch.zeros(5))]
    for p in found:
        p.grad = scale * torch.randn(p.shape)
    return found


def flat(parameters: list[nn.Parameter]) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in parameters if p.grad is not None]).double()


def test_a_long_gradient_is_cut_to_the_limit_and_keeps_its_direction() -> None:
    parameters = with_gradients(100.0)
    before = flat(parameters)
    assert clip_norm(parameters, 2.0).item() == pytest.approx(before.norm().item(), rel=1e-6)
    torch.testing.assert_close(flat(parameters), before * (2.0 / before.norm()), rtol=1e-6, atol=0)


def test_a_short_gradient_stays_and_0_is_off() -> None:
    parameters = with_gradients(0.01)
    before = flat(parameters)
    for limit in (2.0, 0.0):
        clip_norm(parameters, limit)
        assert flat(parameters).equal(before)


def test_what_is_no_number_can_still_be_found() -> None:
    parameters = with_gradients(3.0)
    assert parameters[1].grad is not None
    parameters[1].grad[0] = torch.nan
    assert clip_norm(parameters, 1.0).isnan()
    assert parameters[0].grad is not None
    assert parameters[0].grad.isfinite().all()
    assert clip_norm([], 1.0).item() == 0.0


def test_sparse_gradients_are_cut_too() -> None:
    table = nn.Embedding(10, 3, sparse=True)
    (table(torch.tensor([1, 2, 1])) * 10).sum().backward()
    before = clip_norm(table.parameters(), 1.0)
    assert table.weight.grad is not None
    assert before > 1.0
    assert table.weight.grad.coalesce().values().norm().item() == pytest.approx(1.0, abs=1e-5)


def test_values_are_cut_one_by_one() -> None:
    parameters = with_gradients(3.0)
    before = flat(parameters)
    clip_value(parameters, 0.5)
    assert flat(parameters).equal(before.clamp(-0.5, 0.5))


def test_the_shapes_of_the_schedules() -> None:
    def at(done: float, step: int = 10**6, falls: int = 0, **settings: object) -> float:
        return rate(Training(lr=1.0, epochs=10, **settings), done, step, falls)  # type: ignore[arg-type]

    assert at(0.7, schedule="constant") == 1.0
    assert [at(d, schedule="cosine") for d in (0.0, 0.5, 1.0)] == pytest.approx([1.0, 0.5, 0.0])
    steps = [at(e / 10, schedule="step", every=4, decay=0.5) for e in range(10)]
    assert steps == [1.0] * 4 + [0.5] * 4 + [0.25] * 2
    assert at(0.2, falls=3, schedule="plateau", decay=0.5) == 0.125
    warm = [at(0.0, step, schedule="constant", warmup=4) for step in range(6)]
    assert warm == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_vectors_are_not_decayed() -> None:
    model = nn.Linear(3, 2)
    groups = make_optimiser(model, Training(weight_decay=0.1)).param_groups
    assert [(len(g["params"]), g["weight_decay"]) for g in groups] == [(1, 0.1), (1, 0.0)]


def test_nothing_to_train() -> None:
    with pytest.raises(ValueError, match="nothing to train"):
        make_optimiser(nn.Linear(2, 2).requires_grad_(False), Training())


def after(kind: str, steps: int, **settings: object) -> tuple[list[torch.Tensor], Average]:
    """Random weights after each step, two steps an epoch, never a gain."""
    model = nn.Linear(2, 1, bias=False)
    average = Average(Training(average=kind, **settings))  # type: ignore[arg-type]
    seen = []
    for step in range(steps):
        nn.init.normal_(model.weight)
        seen.append(weights_of(model)["weight"])
        average.after_step(model)
        if step % 2:
            average.after_epoch(model)
            average.after_dev(stalled=step // 2)
    return seen, average


def test_the_moving_average_is_its_definition() -> None:
    seen, average = after("ema", 40, average_decay=0.9)
    expected = seen[0]
    for count, weight in enumerate(seen[1:], 2):
        share = max(0.1, 1 / count)
        expected = (1 - share) * expected + share * weight
    found = average.weights()
    assert found is not None
    torch.testing.assert_close(found["weight"], expected)


def test_the_mean_of_the_last_epochs() -> None:
    seen, average = after("epochs", 10, average_epochs=3)
    found = average.weights()
    assert found is not None
    torch.testing.assert_close(found["weight"], torch.stack(seen[5::2]).mean(0))


def test_the_trigger_starts_the_mean_after_some_epochs_without_gain() -> None:
    seen, average = after("trigger", 4, average_epochs=2)
    assert average.weights() is None
    seen, average = after("trigger", 12, average_epochs=2)  # stalled = 2 after step 5
    found = average.weights()
    assert found is not None
    torch.testing.assert_close(found["weight"], torch.stack(seen[6:]).mean(0))
    assert Average(Training(optimiser="asgd")).kind == "trigger"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "train.epochs is at least 1"),
        ({"lr": 0.0}, "train.lr is above 0"),
        ({"lr": math.nan}, "train.lr is above 0"),
        ({"clip": -1.0}, "train.clip is 0 or more"),
        ({"optimiser": "adam"}, "one of adamw, sgd, asgd"),
        ({"momentum": 0.9}, "momentum is for sgd"),
        ({"seed": -1}, "train.seed is 0 or more"),
        ({"optimiser": "asgd", "average": "ema"}, "has an average of its own"),
        ({"optimiser": "asgd", "patience": 5}, "would stop before averaging begins"),
    ],
)
def test_impossible_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Training(**settings)  # type: ignore[arg-type]
