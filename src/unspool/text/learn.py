"""Codecs by the name of their units: learned from texts, or read again."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unspool.text.characters import Characters
from unspool.text.codec import Codec
from unspool.text.json_file import read_json
from unspool.text.subwords import Subwords, merges_from_json
from unspool.text.vocabulary import Vocabulary
from unspool.text.words import Words

UNITS = ("characters", "words", "subwords")


def learn_codec(
    units: str, texts: Iterable[str], *, min_count: int = 1, max_size: int | None = None
) -> Codec:
    """A codec that knows what these texts are made of.

    `max_size` limits the ordinary symbols; without it characters and words keep all that are
    seen `min_count` times, and there are 4,000 subwords.
    """
    _check_units(units)
    kinds = {"characters": Characters, "words": Words, "subwords": Subwords}
    return kinds[units].learn(texts, min_count=min_count, max_size=max_size)


def codec_from_json(value: Any) -> Codec:
    """The codec whose `to_json` gave this value."""
    if not isinstance(value, dict) or "units" not in value:
        raise ValueError('a codec is a JSON object with "units" and its symbols')
    units = value["units"]
    _check_units(units)
    content = "merges" if units == "subwords" else "symbols"
    if set(value) != {"units", content}:
        raise ValueError(
            f'a codec of {units} has "units" and "{content}"; this one has '
            + ", ".join(f'"{key}"' for key in value)
        )
    if units == "subwords":
        return Subwords(merges_from_json(value["merges"]))
    vocabulary = Vocabulary.from_json(value["symbols"])
    return Characters(vocabulary) if units == "characters" else Words(vocabulary)


def load_codec(path: str | Path) -> Codec:
    """The codec that was saved in this file."""
    value = read_json(path)
    try:
        return codec_from_json(value)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _check_units(units: Any) -> None:
    if units not in UNITS:
        raise ValueError(f"units are one of {', '.join(UNITS)}, not {units!r}")
