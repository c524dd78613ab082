"""A loss and its gradient ask the device for no numbers: whoever asks has to wait."""

import sys
from typing import Any

import pytest
import torch

from tests.counting import Counted
from unspool.data.builtin import builtin
from unspool.engine import call
from unspool.train import make_config
from unspool.train.tasks import find_task

# what must know numbers, or how many there are, before the host can go on
ASKING = {
    "_local_scalar_dense", "nonzero", "masked_select", "unique", "_unique2", "bincount", "equal",
    "repeat_interleave", "_pack_padded_sequence",
}  # fmt: skip
TAKING = ("tolist", "numpy", "cpu")  # what takes numbers without an operator that says so


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
    "lm of streams": ("words", {}),
}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which methods have taken numbers from a device."""
    found: list[str] = []
    for name in TAKING:
        own = getattr(torch.Tensor, name)

        def asked(self: torch.Tensor, *given: Any, own: Any = own, **how: Any) -> Any:
            if not sys._getframe(1).f_code.co_filename.endswith("engine/cpu.py"):  # no device there
                found.append(own.__name__)
            return own(self, *given, **how)

        monkeypatch.setattr(torch.Tensor, name, asked)
    return found


@pytest.mark.parametrize("case", DATA)
def test_a_loss_and_its_gradient_ask_nothing(
    case: str, taken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # lengths on a CPU are held against the steps, which costs nothing there
    monkeypatch.setattr(call, "_lengths", lambda lengths, xs: lengths)
    task, (name, own) = case.split()[0], DATA[case]
    config = make_config(task, SMALL, {"model": own})
    everything = builtin(name)
    examples = everything[:: len(everything) // 60]
    model = find_task(task).learn(config, examples)
    batch = find_task(task).batches(model, examples, config).epoch(0)[0]
    model.train()
    model.loss(batch).mean.backward()
    taken.clear()
    with _Asked() as asked:
        model.loss(batch).mean.backward()
    assert not asked.calls
    assert not taken


def test_a_question_is_noticed(taken: list[str]) -> None:
    assert torch.ones(2).tolist() == [1.0, 1.0]
    assert taken == ["tolist"]
    with _Asked() as asked:
        mask = torch.tensor([True, False])
        torch.ones(2)[mask].sum().item()
    assert asked.calls.total() >= 2
