"""Parts for training and testing: nothing lost, nothing twice, shares met."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.data.labelled import Labelled
from unspool.data.pairs import Pair
from unspool.data.split import sizes, split, split_groups, unique
from unspool.data.tagged import Tagged

Example = tuple[int, str]
EXAMPLES = st.lists(st.sampled_from("aaaaaaaabbbbcd"), max_size=80).map(
    lambda labels: list(enumerate(labels))
)
SHARES = st.lists(st.integers(1, 9), min_size=1, max_size=5).map(
    lambda numbers: [number / sum(numbers) for number in numbers]
)
SEEDS = st.integers(0, 5)


def label(example: Example) -> str:
    return example[1]


@given(EXAMPLES, SHARES, SEEDS, st.booleans())
def test_the_parts_make_up_the_whole(
    examples: list[Example], shares: list[float], seed: int, stratified: bool
) -> None:
    parts = split(examples, shares, seed, by=label if stratified else None)
    assert len(parts) == len(shares)
    assert sorted(example for part in parts for example in part) == examples
    assert all(part == sorted(part) for part in parts)
    assert parts == split(examples, shares, seed, by=label if stratified else None)


@given(EXAMPLES, SHARES, SEEDS)
def test_each_class_is_cut_in_the_same_shares(
    examples: list[Example], shares: list[float], seed: int
) -> None:
    parts = split(examples, shares, seed, by=label)
    for name, count in Counter(map(label, examples)).items():
        found = [sum(label(example) == name for example in part) for part in parts]
        if count >= len(shares):
            assert min(found) >= 1
        # Rounding moves a part by less than one, and filling empty ones takes at most one each.
        for size, share in zip(found, shares, strict=True):
            assert -len(shares) < size - count * share < 1 + 1e-9 or size == 1


@given(EXAMPLES, SHARES, SEEDS)
def test_a_group_is_never_torn(examples: list[Example], shares: list[float], seed: int) -> None:
    parts = split_groups(examples, shares, seed, by=label)
    assert sorted(example for part in parts for example in part) == examples
    assert all(part == sorted(part) for part in parts)
    groups = [{label(example) for example in part} for part in parts]
    assert sum(map(len, groups)) == len(set().union(*groups))
    # as many groups in each part as `split` gives it examples
    assert list(map(len, groups)) == [len(p) for p in split(range(sum(map(len, groups))), shares)]
    assert parts == split_groups(examples, shares, seed, by=label)


def test_other_seeds_put_groups_elsewhere() -> None:
    examples = [(k, str(k // 3)) for k in range(300)]
    one, other = (split_groups(examples, seed=seed, by=label) for seed in (0, 1))
    assert [len(part) for part in one] == [len(part) for part in other] == [240, 30, 30]
    assert one != other
    assert one[2] != examples[-30:]


@given(st.integers(0, 300), SHARES)
def test_rounding_is_by_largest_remainder(count: int, shares: list[float]) -> None:
    """Slowly: one at a time to whoever is furthest behind, where nobody is left empty."""
    exact = [Fraction(share).limit_denominator(100) for share in shares]
    found = sizes(count, exact)
    assert sum(found) == count
    slow = [count * share // 1 for share in exact]
    while sum(slow) < count:
        behind = [count * share - size for share, size in zip(exact, slow, strict=True)]
        slow[behind.index(max(behind))] += 1
    if 0 not in slow or count < len(shares):
        assert found == slow
    else:
        assert 0 not in found


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, [0, 0, 0]), (1, [1, 0, 0]), (2, [2, 0, 0]), (3, [1, 1, 1]), (4, [2, 1, 1]),
        (10, [8, 1, 1]), (14, [11, 2, 1]), (100, [80, 10, 10]), (30, [24, 3, 3]),
    ],
)  # fmt: skip
def test_the_usual_shares(count: int, expected: list[int]) -> None:
    assert [len(part) for part in split(range(count))] == expected


def test_a_tenth_is_a_tenth() -> None:
    """Ten times 0.1 is a little more than 1 in the sum of floats; the shares are taken as read."""
    assert [len(part) for part in split(range(10), [0.1] * 10)] == [1] * 10
    assert [len(part) for part in split(range(1000), (0.29, 0.71))] == [290, 710]
    assert [len(part) for part in split(range(9), [1 / 3] * 3)] == [3, 3, 3]
    # 4.5, 9 and 1.5: a tie, which floats would give to the last, as 0.3 is stored a little low.
    assert [len(part) for part in split(range(15), (0.3, 0.6, 0.1))] == [5, 9, 1]


def test_other_seeds_give_other_parts_of_the_same_sizes() -> None:
    one, other = split(range(200), seed=0), split(range(200), seed=1)
    assert [len(part) for part in one] == [len(part) for part in other]
    assert one != other


def test_parts_are_drawn_from_everywhere() -> None:
    (_, _, last) = split(range(1000))
    assert last != list(range(900, 1000))
    assert min(last) < 200 < 800 < max(last)


@pytest.mark.parametrize("shares", [(), (0.8, 0.1), (1.1, -0.1), (1.0, 0.0), (float("nan"), 0.5)])
def test_shares_that_make_no_whole_are_errors(shares: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="above 0 and sum to 1"):
        split(range(10), shares)


def test_unique_keeps_the_first_of_equals() -> None:
    a, again = Labelled("a", "x", "line 1"), Labelled("a", "x", "line 2")
    other, none = Labelled("a", "y", "line 3"), Labelled("a", None, "line 4")
    assert unique([a, again, other, none, again]) == [a, other, none]
    b, repeat = Tagged(("b",), ("N",), "line 1"), Tagged(("b",), ("N",), "line 2")
    assert unique([b, repeat, Tagged(("b",), None, "line 3")]) == [
        b,
        Tagged(("b",), None, "line 3"),
    ]
    c, same = Pair("c", "d", None, "line 1"), Pair("c", "d", None, "line 2")
    assert unique([c, same, Pair("c", "d", "fr", ""), Pair("c", "e", None, "")]) == [
        c,
        Pair("c", "d", "fr", ""),
        Pair("c", "e", None, ""),
    ]
    assert unique("banana") == ["b", "a", "n"]
    with pytest.raises(ValueError, match="Labelled, Tagged, Pair or hashable, not \\[1\\]"):
        unique([[1]])
