"""JSONL, one object a line: labelled texts, pairs, and sentences as tokens and tags."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unspool.data.examples import (
    SCORE,
    TAG,
    Fields,
    Labelled,
    Pair,
    PairFields,
    Tagged,
    labelled,
    pair,
)
from unspool.data.files import DataError, at
from unspool.data.json_line import Member, as_json, members, put, scalar, string

TOKENS, TAGS = "tokens", "tags"
BETWEEN = "|"  # stands between the labels of one example


@dataclass(frozen=True)
class JsonLabelLayout:
    """The lines, and for those that are examples the label as it stood."""

    texts: Sequence[str]
    before: dict[int, Any]
    key: str

    def lines(self, labels: Sequence[str], scores: Sequence[str] | None) -> list[str]:
        """The objects with their labels, of the kind that stood there, and scores, as numbers where
        they are."""
        out = list(self.texts)
        for number, (index, before) in enumerate(self.before.items()):
            changes = {self.key: _label_json(labels[number], before)}
            if scores is not None:
                changes[SCORE] = as_json(scores[number], like=0)
            out[index] = put(out[index], changes)
        return out


@dataclass(frozen=True)
class JsonTagLayout:
    """The lines, and for those that are sentences the tags as they stood."""

    texts: Sequence[str]
    before: dict[int, Any]
    key: str

    def lines(
        self, tags: Sequence[Sequence[str]], scores: Sequence[Sequence[str]] | None
    ) -> list[str]:
        """The objects with their tags, and scores as numbers."""
        out = list(self.texts)
        for number, (index, before) in enumerate(self.before.items()):
            like = before[0] if before else ""
            changes = {self.key: _list_json(tags[number], like)}
            if scores is not None:
                changes[SCORE + "s"] = _list_json(scores[number], 0)
            out[index] = put(out[index], changes)
        return out


def read_labelled_jsonl(
    path: str | Path, lines: Sequence[str], fields: Fields
) -> tuple[list[Labelled], JsonLabelLayout]:
    """Objects with a text and a label, under the keys that `fields` names."""
    examples, before = [], {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = at(path, number)
        found = members(line, where)
        text = string(_needed(found, fields.text, where).value, f"{fields.text!r}", where)
        label = None
        if fields.needed or fields.label in found:
            label = _label_text(_needed(found, fields.label, where), fields.label, where)
        before[number - 1] = found[fields.label].value if fields.label in found else None
        examples.append(labelled(text, label, where, fields.needed))
    return examples, JsonLabelLayout(lines, before, fields.label)


def read_pairs_jsonl(path: str | Path, lines: Sequence[str], fields: PairFields) -> list[Pair]:
    """Objects with a source, a target and perhaps a tag; without targets blank lines count too."""
    examples: list[Pair | None] = []
    for number, line in enumerate(lines, 1):
        where = at(path, number)
        if not line.strip():
            examples.append(pair("", None, None, (where, where), fields.needed))
            continue
        found = members(line, where)
        source = string(_needed(found, fields.source, where).value, f"{fields.source!r}", where)
        target = _side(found, fields.target, where, fields.needed)
        tag = _side(found, fields.tag, where, fields.tag != TAG)
        examples.append(pair(source, target, tag, (where, where), fields.needed))
    return [example for example in examples if example is not None]


def read_tagged_jsonl(
    path: str | Path, lines: Sequence[str], key: str, need_tags: bool
) -> tuple[list[Tagged], JsonTagLayout]:
    """Objects with lists of tokens and of tags; one without tokens is no example."""
    examples, before = [], {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = at(path, number)
        found = members(line, where)
        words = tuple(
            string(word, "a token", where)
            for word in _list(_needed(found, TOKENS, where).value, TOKENS, where)
        )
        if not all(map(str.strip, words)):
            raise DataError(f"{where}: a token is empty")
        tags = None
        if need_tags or (key in found and found[key].value is not None):
            tags = tuple(
                scalar(tag, json.dumps(tag), "a tag", where)
                for tag in _list(_needed(found, key, where).value, key, where)
            )
            if len(tags) != len(words):
                raise DataError(f"{where}: {len(words)} tokens and {len(tags)} {key}")
        if words:
            examples.append(Tagged(words, tags, where))
            before[number - 1] = found[key].value if key in found else None
    return examples, JsonTagLayout(lines, before, key)


def _needed(found: dict[str, Member], key: str, where: str) -> Member:
    if key not in found:
        keys = ", ".join(repr(key[:40]) for key in [*found][:20]) or "nothing"
        raise DataError(f"{where}: the key {key!r} is missing; the object holds {keys}")
    return found[key]


def _side(found: dict[str, Member], key: str, where: str, needed: bool) -> str | None:
    if not needed and key not in found:
        return None
    member = _needed(found, key, where)
    return None if member.value is None else scalar(member.value, member.raw, f"{key!r}", where)


def _list(value: Any, key: str, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise DataError(f"{where}: {key!r} is a list, not {json.dumps(value)[:40]}")
    return value


def _label_text(member: Member, key: str, where: str) -> str | None:
    if member.value is None:
        return None
    if not isinstance(member.value, list):
        return scalar(member.value, member.raw, f"{key!r}", where).strip() or None
    labels = [scalar(item, json.dumps(item), "a label", where) for item in member.value]
    bad = next((label for label in labels if BETWEEN in label or not label.strip()), None)
    if bad is not None:
        raise DataError(f"{where}: {bad!r} cannot be one of several labels: it holds a {BETWEEN!r}"
                        " or nothing")  # fmt: skip
    return BETWEEN.join(label.strip() for label in labels)


def _label_json(label: str, before: Any) -> str:
    if not isinstance(before, list):
        return as_json(label, before)
    return _list_json(label.split(BETWEEN) if label else [], before[0] if before else "")


def _list_json(values: Sequence[str], like: Any) -> str:
    return "[" + ", ".join(as_json(value, like) for value in values) + "]"
