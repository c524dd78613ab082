"""A loss and its gradient ask the device for no numbers: whoever asks has to wait."""

from typing import Any

import pytest
import torch

from tests.counting import Counted
from unspool.data.builtin import builtin
from unspool.engine import call
from unspool.train import make_config
from unspool.train.tasks import find_task

# what must know numbers, or how many there are, before the host can go on
ASKING = {"_local_scalar_dense", "nonzero", "masked_select", "unique", "_unique2", "bincount"}


class _Asked(Counted):
    def note(self, name: str, args: Any) -> None:
        by_truth = name in ("index", "index_put", "index_put_") and any(
            one is not None and one.dtype in (torch.bool, torch.uint8) for one in args[1]
        )
        if name in ASKING or by_truth:
            super().note(name, args)


SMALL: dict[str, Any] = {"model": {"hidden": 8, "embedding": 8}, "train": {"batch": 200}}
DATA = {
    "translate": ("names:de:en", {"decoder_hidden": 16, "max_symbols": 300}),
    "tag": ("grammar", {}),
    "classify": ("words", {}),
    "lm": ("words", {"lines": True}),
}


@pytest.mark.parametrize("task", DATA)
def test_a_loss_and_its_gradient_ask_nothing(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # lengths on a CPU are held against the steps, which costs nothing there
    monkeypatch.setattr(call, "_lengths", lambda lengths, xs: lengths)
    name, own = DATA[task]
    config = make_config(task, SMALL, {"model": own})
    everything = builtin(name)
    examples = everything[:: len(everything) // 60]
    model = find_task(task).learn(config, examples)
    batch = find_task(task).batches(model, examples, config).epoch(0)[0]
    model.train()
    model.loss(batch).mean.backward()
    with _Asked() as asked:
        model.loss(batch).mean.backward()
    assert not asked.calls


def test_a_question_is_noticed() -> None:
    with _Asked() as asked:
        mask = torch.tensor([True, False])
        torch.ones(2)[mask].sum().item()
    assert asked.calls.total() >= 2
