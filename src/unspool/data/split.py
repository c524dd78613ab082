"""Parts for training, validation and testing."""

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import TypeVar

from unspool.data.examples import Labelled, Pair, Tagged

T = TypeVar("T")


def split(
    examples: Sequence[T],
    shares: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
    by: Callable[[T], Hashable] | None = None,
) -> list[list[T]]:
    """One list per share, drawn at random; each keeps the order of `examples`.

    With `by`, such as `lambda example: example.label`, each class is cut on its own; without,
    all examples are one class. A class of n is cut so: each part gets n x share, rounded down;
    what is left over goes one by one to the parts that lost most by rounding, the earlier first
    where two lost the same. Then, if n is at least the number of parts, each part that is still
    empty takes one from the largest. So a class of one or two is in the first of three usual
    parts only, and any larger class in all three.

    Equal examples may fall into different parts: take `unique` first where that matters.
    """
    exact = _exact(shares)
    classes: dict[Hashable, list[int]] = {}
    for index, example in enumerate(examples):
        classes.setdefault(by(example) if by else None, []).append(index)
    rng = random.Random(seed)
    parts: list[list[int]] = [[] for _ in exact]
    for members in classes.values():
        rng.shuffle(members)
        start = 0
        for part, size in zip(parts, sizes(len(members), exact), strict=True):
            part += members[start : start + size]
            start += size
    return [[examples[index] for index in sorted(part)] for part in parts]


def split_groups(
    examples: Sequence[T],
    shares: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
    *,
    by: Callable[[T], Hashable],
) -> list[list[T]]:
    """One list per share, where examples with the same `by` stand in the same list.

    So nothing that is measured by was seen in training in another guise: the same date in another
    language, the same word with another pronunciation. The shares are of groups, drawn as `split`
    draws examples; each list keeps the order of `examples`.
    """
    groups: dict[Hashable, list[int]] = {}
    for index, example in enumerate(examples):
        groups.setdefault(by(example), []).append(index)
    parts = split(list(groups.values()), shares, seed)
    return [[examples[k] for k in sorted(k for group in part for k in group)] for part in parts]


def sizes(count: int, shares: Sequence[Fraction]) -> list[int]:
    """How many of `count` each part gets; the rounding is told in `split`."""
    found = [int(count * share) for share in shares]
    lost = [count * share - size for share, size in zip(shares, found, strict=True)]
    by_loss = sorted(range(len(found)), key=lambda part: -lost[part])
    for part in by_loss[: count - sum(found)]:
        found[part] += 1
    if count >= len(found):
        while 0 in found:
            found[found.index(max(found))] -= 1
            found[found.index(0)] += 1
    return found


def unique(examples: Iterable[T]) -> list[T]:
    """The examples without exact repeats, wherever they stand; the first stays."""
    found: dict[Hashable, T] = {}
    for example in examples:
        found.setdefault(_content(example), example)
    return list(found.values())


def _exact(shares: Sequence[float]) -> list[Fraction]:
    """0.1 as one tenth, so that no rounding hangs on how floats are stored."""
    if not shares or not all(0 < share <= 1 for share in shares) or abs(sum(shares) - 1) > 1e-6:
        given = ", ".join(str(share) for share in shares) or "none"
        raise ValueError(f"shares are above 0 and sum to 1, such as 0.8, 0.1, 0.1; got {given}")
    exact = [Fraction(repr(float(share))) for share in shares]
    return [share / sum(exact) for share in exact]


def _content(example: object) -> Hashable:
    if isinstance(example, Labelled):
        return example.text, example.label
    if isinstance(example, Tagged):
        return example.words, example.tags
    if isinstance(example, Pair):
        return example.source, example.target, example.tag
    if isinstance(example, Hashable):
        return example
    raise ValueError(f"examples to compare are Labelled, Tagged, Pair or hashable, not {example!r}")
