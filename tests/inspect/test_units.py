"""Units: a search that finds what is there and nothing else, and says by how much."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.inspect.slow_scores import drawn, slow_auc, slow_correlation
from unspool.inspect import lean
from unspool.inspect.properties import Kind, in_quotes, labels_of
from unspool.inspect.units import Found, find_units, search


def drifting(steps: int, units: int, seed: int = 0) -> Tensor:
    """Noise that changes slowly, as states do: half lives of 1 to 200 steps."""
    noise = drawn(steps, units, seed=seed)
    keep = 0.5 ** (1 / torch.linspace(1, 200, units, dtype=torch.float64))
    for t in range(1, steps):
        noise[t] = keep * noise[t - 1] + (1 - keep**2).sqrt() * noise[t]
    return noise


def quoted_text(steps: int, seed: int = 0) -> str:
    """Words, some of them in quotes."""
    rng = np.random.default_rng(seed)
    words: list[str] = []
    while sum(map(len, words)) < steps:
        some = " ".join("x" * size for size in rng.integers(1, 9, size=rng.integers(1, 6)))
        words.append(f'"{some}" ' if rng.random() < 0.4 else f"{some} ")
    return "".join(words)[:steps]


def test_blocks_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    values, labels = drawn(60, 11), drawn(60, 1, levels=2)[:, 0].numpy()
    whole = find_units(values, labels, top=11)
    monkeypatch.setattr(lean, "BLOCK", 130)  # two units at once
    pieces = find_units(values, labels, top=11)
    assert [one.unit for one in pieces] == [one.unit for one in whole]
    assert [one.score for one in pieces] == pytest.approx([one.score for one in whole])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_planted_unit_is_found_and_the_control_is_not(sign: int) -> None:
    text = quoted_text(4000)
    labels = in_quotes(text)
    values = torch.cat((drawn(4000, 100), drifting(4000, 100)), 1)
    values[:, 57] = sign * torch.tensor(labels) + 0.2 * drawn(4000, 1, seed=7)[:, 0]
    best, second = find_units(values, labels, top=2)
    assert (best.unit, best.sign) == (57, sign)
    assert best.score >= 0.99
    assert best.score == pytest.approx(best.chosen_on, abs=0.01)
    assert best.control < 0.7
    assert second.score < 0.7


def test_a_planted_depth_is_found() -> None:
    depth = (drifting(3000, 1, seed=5)[:, 0] * 2).round().clamp(min=0).numpy()
    values = drawn(3000, 60)
    values[:, 20] = (-torch.tensor(depth) / 3).tanh() + 0.02 * values[:, 20]
    (best,) = find_units(values, depth, top=1)
    assert (best.kind, best.unit, best.sign) == ("number", 20, -1)
    assert best.score > 0.85
    assert abs(best.control) < 0.4


def test_labels_of_another_text_find_nothing() -> None:
    values = drifting(4000, 200)
    labels = in_quotes(quoted_text(4000, seed=3))
    found = find_units(values, labels, top=10)
    assert all(one.score < 0.65 for one in found)
    assert max(one.score for one in found) < found[0].control + 0.1


def test_a_unit_that_was_lucky_is_found_out() -> None:
    """It follows the label in the half that chooses and not in the other: the score says so."""
    labels = in_quotes(quoted_text(2000))
    values = drawn(2000, 30)
    values[:1000, 4] = torch.tensor(labels[:1000])
    (best,) = find_units(values, labels, top=1)
    assert best.unit == 4
    assert best.chosen_on == pytest.approx(1)
    assert best.score == pytest.approx(0.5, abs=0.1)


def test_a_score_is_that_of_the_second_half() -> None:
    values, labels = drawn(101, 6), drawn(101, 1, levels=2)[:, 0].numpy()
    for one in find_units(values, labels, top=6):
        halves = (values[:50, one.unit], labels[:50]), (values[50:, one.unit], labels[50:])
        chosen_on, score = (slow_correlation(v.tolist(), own.tolist()) for v, own in halves)
        assert (one.chosen_on, one.score) == pytest.approx((one.sign * chosen_on, one.sign * score))
        assert one.chosen_on >= 0
        assert one.n == 51


@pytest.mark.parametrize("kind", ["yes/no", "number"])
def test_the_control_is_the_same_search_over_moved_labels(
    kind: Kind,
) -> None:
    """Slowly: the labels of each half moved round, every unit scored, the best of one half kept."""
    values, labels = drawn(40, 5), (drawn(40, 1, levels=2)[:, 0] > 0).double().numpy()
    score = slow_auc if kind == "yes/no" else slow_correlation
    zero = 0.5 if kind == "yes/no" else 0.0
    (found,) = find_units(values, labels, kind=kind, top=1, shifts=3, seed=4)
    draw = np.random.default_rng(4)
    offsets = [draw.integers(5, 16, size=3) for _ in range(2)]
    reached = []
    for by in zip(*offsets, strict=True):
        halves = [
            [score(v.tolist(), np.roll(own, k).tolist()) - zero for v in part.t()]
            for part, own, k in zip(values.split(20), np.split(labels, 2), by, strict=True)
        ]
        best = max(range(5), key=lambda unit: abs(halves[0][unit]))
        reached.append(zero + np.sign(halves[0][best]) * halves[1][best])
    assert found.control == pytest.approx(max(reached))


def recorded_lines(text: str) -> dict[tuple[int, str], Tensor]:
    labels = labels_of(text)
    lines = {(0, "f"): drawn(len(text), 8), (0, "c"): drawn(len(text), 5, seed=1)}
    lines[1, "c"] = drawn(len(text), 6, seed=2)
    lines[0, "c"][:, 2] -= 9 * torch.tensor(labels["in_quotes"])
    lines[1, "c"][:, 3] += 5 * torch.tensor(labels["position_in_line"])
    return lines


def test_search_goes_over_lines_and_properties() -> None:
    text = "\n".join(quoted_text(40, seed=k).replace("x", "y") for k in range(30))
    labels: dict[str, Any] = labels_of(text)
    labels["mine"] = [k % 3 for k in range(len(text))]
    done: list[float] = []
    found, skipped = search(recorded_lines(text), labels, top=2, progress=done.append)
    by_name: dict[str, list[Found]] = {}
    for one in found:
        by_name.setdefault(one.property, []).append(one)
    assert {name: len(some) for name, some in by_name.items()} == dict.fromkeys(
        ("in_quotes", "position_in_line", "mine"), 2
    )
    quotes, place = by_name["in_quotes"][0], by_name["position_in_line"][0]
    assert (quotes.layer, quotes.line, quotes.unit, quotes.sign) == (0, "c", 2, -1)
    assert (place.layer, place.line, place.unit, place.sign) == (1, "c", 3, 1)
    assert min(quotes.score, place.score) > 0.95
    assert by_name["mine"][0].kind == "number"
    assert done == pytest.approx([1 / 3, 2 / 3, 1])
    assert len(skipped) == 4
    assert "inside a comment: it is the same everywhere in the first half of the text" in skipped


def test_one_property_does_not_change_another() -> None:
    text = quoted_text(600)
    labels = labels_of(text)
    lines = recorded_lines(text)
    together = search(lines, labels).found
    alone = search(lines, {"in_quotes": labels["in_quotes"]}).found
    both = [one for one in together if one.property == "in_quotes"]
    assert [(one.unit, one.score) for one in both] == [(one.unit, one.score) for one in alone]


def test_a_label_that_changes_in_one_half_only_is_skipped() -> None:
    text = "'a' " * 10 + "b   " * 10
    found, skipped = search({(0, "h"): drawn(80, 3)}, {"in_quotes": in_quotes(text)})
    assert found == []
    assert skipped == ["inside quotes: it is the same everywhere in the second half of the text"]
    assert search({}, {}) == ([], [])


def test_activations_of_other_types() -> None:
    values, labels = drawn(60, 4), drawn(60, 1, levels=2)[:, 0].numpy()
    rounded = values.bfloat16().requires_grad_()
    assert find_units(rounded, labels) == find_units(values.bfloat16().double(), labels)


def test_what_cannot_be_searched_is_said() -> None:
    values = drawn(10, 3)
    with pytest.raises(ValueError, match=r"the line is \(10, 3\), and the label has 9 labels"):
        find_units(values, [0, 1] * 4 + [0])
    with pytest.raises(ValueError, match=r"line h of layer 2 is \(10, 3\)"):
        search({(2, "h"): values}, {"mine": [0, 1] * 6})
    with pytest.raises(ValueError, match="activations that are not finite"):
        find_units(values / 0, [0, 1] * 5)
    with pytest.raises(ValueError, match="label 1 is nan: give a finite number"):
        find_units(values, [0, float("nan")] * 5)
    with pytest.raises(ValueError, match="labels of a yes/no property are 0 and 1"):
        find_units(values, [0, 2] * 5, kind="yes/no")
    with pytest.raises(ValueError, match="the same everywhere in the first half"):
        find_units(values, [0] * 5 + [1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match="kind is one of yes/no, number, not 'auc'"):
        find_units(values, [0, 1] * 5, kind="auc")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="top and shifts are 1 or more; got 3, 0"):
        find_units(values, [0, 1] * 5, shifts=0)
