"""Span schemes: tags such as B-PER I-PER O, read as spans and written in another scheme.

IOB2 begins every span with B-. IOB1 begins it with I-, and with B- only straight after a span of
the same type. BIOES also ends spans with E- and writes S- for a span of one word.
"""

from collections.abc import Iterable, Sequence

SCHEMES = ("IOB1", "IOB2", "BIOES")
OUTSIDE = "O"

Span = tuple[str, int, int]


def is_span_tag(tag: str) -> bool:
    """O, or one of B- I- E- S- and a type."""
    return tag == OUTSIDE or (len(tag) > 2 and tag[0] in "BIES" and tag[1] == "-")


def spans(tags: Sequence[str]) -> list[Span]:
    """(type, start, end) of each span, as conlleval reads tags: any scheme, and broken tags too.

    An I- or E- that cannot go on from the tag before it begins a span.
    """
    found: list[Span] = []
    type, start, before = "", -1, OUTSIDE  # the span that is open, if start is not -1
    for index, tag in enumerate(tags):
        if not is_span_tag(tag):
            raise ValueError(f"{tag!r} is not a span's tag: O, or B- I- E- S- and a type, expected")
        goes_on = tag[0] in "IE" and before in ("B", "I") and tag[2:] == type
        if start >= 0 and not goes_on:
            found.append((type, start, index))
            start = -1
        if tag != OUTSIDE and not goes_on:
            type, start = tag[2:], index
        before = tag[0]
    if start >= 0:
        found.append((type, start, len(tags)))
    return found


def write(spans: Iterable[Span], length: int, scheme: str) -> tuple[str, ...]:
    """The tags of a sentence with these spans, which are in order and do not overlap."""
    _check(scheme)
    tags = [OUTSIDE] * length
    before: tuple[str, int] | None = None  # type and end of the span before
    for type, start, end in spans:
        tags[start:end] = [f"I-{type}"] * (end - start)
        if scheme != "IOB1" or before == (type, start):
            tags[start] = f"B-{type}"
        if scheme == "BIOES":
            tags[end - 1] = f"E-{type}" if end - start > 1 else f"S-{type}"
        before = type, end
    return tuple(tags)


def convert(tags: Sequence[str], source: str, target: str) -> tuple[str, ...]:
    """The same spans in another scheme; tags that break the source's rules come out mended."""
    _check(source)
    return write(spans(tags), len(tags), target)


def detect(sequences: Iterable[Sequence[str]]) -> str | None:
    """The scheme of the tags, or None if some tag is not a span's tag, or there are no tags.

    Any E- or S- means BIOES. Sentences without spans fit IOB1 and IOB2 alike, and count as IOB2.
    So do tags that break the rules of both, for instance a few stray I- among B-.
    """
    sequences = [tuple(tags) for tags in sequences]
    distinct = set().union(*sequences)
    if not distinct or not all(map(is_span_tag, distinct)):
        return None
    if any(tag[0] in "ES" for tag in distinct):
        return "BIOES"
    fits = {
        scheme: all(write(spans(tags), len(tags), scheme) == tags for tags in sequences)
        for scheme in ("IOB1", "IOB2")
    }
    return "IOB1" if fits["IOB1"] and not fits["IOB2"] else "IOB2"


def _check(scheme: str) -> None:
    if scheme not in SCHEMES:
        raise ValueError(f"the schemes are {', '.join(SCHEMES)}; got {scheme!r}")
