"""The scores of what translators said: see quality_translate.py."""

import json
from pathlib import Path
from typing import Any

from quality_translate import cmudict, multi30k

from unspool.data.pairs import Pair
from unspool.draw import curves
from unspool.metrics import bleu, contrast_groups, error_rates, paired_bootstrap

TEST = "test_2016_flickr"
NAMES = {"en": "German to English", "de": "English to German"}
BINS = (8, 10, 12, 14, 17)  # words of the source: edges between groups of about the same size


def score(data: Path, out: Path) -> None:
    """Prints all, and draws OUT/bleu-by-length.svg."""
    found = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(out.glob("*.json"))}
    for job, said in found.items():
        minutes = said["seconds"] / 60
        print(f"{job}: {said['parameters'] / 1e6:.1f} million parameters, {minutes:.0f} minutes")
        if job == "cmudict":
            sounds(data, said)
        else:
            for part in ("val", TEST):
                sentences(data, part, said)
    if {"german", "german-none"} <= set(found):
        with_and_without(data, found, out)


def texts(pairs: list[Pair], said: list[list[str]]) -> list[str]:
    """What was said for each pair."""
    found: dict[Any, str] = {(source, tag): text for source, tag, text in said}
    return [found[pair.source, pair.tag] for pair in pairs]


def sentences(data: Path, part: str, said: dict[str, Any]) -> None:
    said_tags = {tag for _, tag, _ in said[f"{part}, beam"]}
    for tag, name in NAMES.items():
        if tag not in said_tags:
            continue
        pairs = [pair for pair in multi30k(data, part) if pair.tag == tag]
        for how in ("greedy", "beam"):
            answers = texts(pairs, said[f"{part}, {how}"])
            result = bleu([p.target or "" for p in pairs], answers, tokenize="none")
            print(f"    {part}, {name}, {how}: BLEU {result.score:.2f}  {result.signature}")


def sounds(data: Path, said: dict[str, Any]) -> None:
    right: dict[str, list[str]] = {}
    for pair in cmudict(data, "dev"):
        right.setdefault(pair.source, []).append(pair.target or "")
    for how in ("greedy", "beam"):
        answers = {source: text for source, _, text in said[f"dev, {how}"]}
        rates = error_rates(list(right.values()), [answers[word] for word in right])
        print(f"    dev, {how}: words {rates.whole:.2%} wrong, sounds {rates.words:.2%}")


def with_and_without(data: Path, found: dict[str, Any], out: Path) -> None:
    """What attention is worth, and whether it is worth more where sentences are long."""
    pairs = [pair for pair in multi30k(data, TEST) if pair.tag == "en"]
    right = [pair.target or "" for pair in pairs]
    ours, theirs = (texts(pairs, found[job][f"{TEST}, beam"]) for job in ("german", "german-none"))
    print(f"attention: {paired_bootstrap(right, ours, theirs, tokenize='none')}")
    lengths = [len(pair.source.split()) for pair in pairs]
    order = sorted(range(len(pairs)), key=lambda k: lengths[k])
    third = len(order) // 3
    kept = [*order[:third], *order[-third:]]
    inside = [k >= third for k in range(len(kept))]
    parts = [[side[k] for k in kept] for side in (right, ours, theirs)]
    more = contrast_groups(parts[0], parts[1], parts[2], inside, tokenize="none")
    print(f"longest third less shortest: {more}")
    groups = [sum(length > edge for edge in BINS) for length in lengths]
    lines: dict[str, list[tuple[float, float]]] = {"with attention": [], "without": []}
    for group in range(len(BINS) + 1):
        here = [k for k in range(len(pairs)) if groups[k] == group]
        mean = sum(lengths[k] for k in here) / len(here)
        for line, side in zip(lines.values(), (ours, theirs), strict=True):
            value = bleu([right[k] for k in here], [side[k] for k in here], tokenize="none")
            line.append((mean, value.score))
    picture = curves(lines, "words in the source", "BLEU", title="BLEU by length of the source")
    (out / "bleu-by-length.svg").write_text(picture, encoding="utf-8")
    print(f"drawn: {out / 'bleu-by-length.svg'}")
