"""Batches: everything once, within the budget, in an order that the seed decides."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from unspool.data.batches import Bucketed, in_order
from unspool.data.streams import Streams

LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=300)


def batches(lengths: list[int], tokens: int, seed: int, epoch: int) -> list[list[int]]:
    places = list(range(len(lengths)))
    return list(Bucketed(places, lengths, list, tokens=tokens, seed=seed).epoch(epoch))


@given(LENGTHS, st.integers(1, 100), st.integers(0, 5), st.integers(0, 3))
def test_each_example_once_and_no_batch_above_its_budget(
    lengths: list[int], tokens: int, seed: int, epoch: int
) -> None:
    found = batches(lengths, tokens, seed, epoch)
    assert sorted(k for batch in found for k in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(lengths[k] for k in batch) <= tokens
    assert found == batches(lengths, tokens, seed, epoch)


def test_epochs_and_seeds_differ() -> None:
    lengths = [k % 7 + 1 for k in range(50)]
    orders = [batches(lengths, 20, seed, epoch) for seed, epoch in ((0, 0), (0, 1), (1, 0))]
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_there_is_little_padding() -> None:
    lengths = torch.randint(1, 60, (3000,)).tolist()
    found = batches(lengths, 1000, 0, 0)
    padded = sum(len(batch) * max(lengths[k] for k in batch) for batch in found)
    assert padded < 1.1 * sum(lengths)


@given(LENGTHS, st.integers(1, 100))
def test_predictions_find_their_places(lengths: list[int], tokens: int) -> None:
    examples = [f"example {k}" for k in range(len(lengths))]
    found = {}
    for places, some in in_order(examples, lengths, tokens):
        found |= zip(places, some, strict=True)
    assert [found[k] for k in range(len(examples))] == examples


SIZES = (st.integers(2, 200), st.integers(1, 9), st.integers(1, 30))


@given(*SIZES, st.integers(0, 3))
def test_a_stream_goes_on_where_it_ended(length: int, rows: int, steps: int, epoch: int) -> None:
    streams = Streams(torch.arange(length), rows=rows, steps=steps, seed=1)
    pieces = list(streams.epoch(epoch))
    inputs = torch.cat([piece.inputs for piece in pieces])
    targets = torch.cat([piece.targets for piece in pieces])
    assert targets.equal(inputs + 1)
    assert (inputs[1:] == inputs[:-1] + 1).all()
    assert all(len(piece.inputs) == steps for piece in pieces[:-1])
    assert inputs.unique().numel() == inputs.numel()
    # At most one piece and what does not fill the rows is left out.
    assert inputs.numel() >= length - 1 - min(steps, length // streams.rows) - streams.rows


@given(*SIZES)
def test_without_shift_every_token_is_predicted_once(length: int, rows: int, steps: int) -> None:
    streams = Streams(torch.arange(length), rows=rows, steps=steps, shift=False)
    targets = torch.cat([piece.targets.flatten() for piece in streams.epoch(0)])
    assert sorted(targets[targets >= 0].tolist()) == list(range(1, length))
