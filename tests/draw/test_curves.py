import math
import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.draw import curves
from unspool.draw.curves import spread

SPACE = "{http://www.w3.org/2000/svg}"
NAN = math.nan


def paths(svg: str, kind: str) -> list[ElementTree.Element]:
    tree = ElementTree.fromstring(svg.encode())
    return [p for p in tree.iter(f"{SPACE}path") if p.attrib["class"].startswith(kind)]


def tip(node: ElementTree.Element) -> str:
    return node.findtext(f"{SPACE}title") or ""


def strokes(svg: str) -> dict[str, str]:
    return {tip(path): path.attrib["d"] for path in paths(svg, "line") if tip(path)}


def markers(svg: str) -> dict[str, tuple[float, float]]:
    found = {}
    for path in paths(svg, "fill"):
        place = re.match(r"M(\S+) (\S+?)m", path.attrib["d"])
        if tip(path) and place:
            found[tip(path)] = (float(place[1]), float(place[2]))
    return found


def test_points_stand_where_their_numbers_are() -> None:
    points = [(1, 3.25), (2, 1.5), (4, 2.0)]
    svg = curves({"loss": points}, "epoch", "nats")
    places = markers(svg)
    assert list(places) == ["loss: 1, 3.25", "loss: 2, 1.5", "loss: 4, 2"]
    (x1, y1), (x2, y2), (x4, y4) = places.values()
    assert (x4 - x2) / (x2 - x1) == pytest.approx(2, abs=0.01)
    assert (y2 - y1) / (y2 - y4) == pytest.approx(1.75 / 0.5, abs=0.05)
    line = [tuple(map(float, place.split())) for place in strokes(svg)["loss"][1:].split("L")]
    assert line == list(places.values())


def test_a_logarithmic_axis_turns_ratios_into_distances() -> None:
    svg = curves({"a": [(0, 0.5), (1, 5), (2, 50)]}, "x", "y", log_y=True)
    first, second, third = (y for _, y in markers(svg).values())
    assert first - second == pytest.approx(second - third, abs=0.02)


@pytest.mark.parametrize("gap", [NAN, math.inf, -math.inf])
@pytest.mark.parametrize("many", [0, 100])
def test_what_is_not_finite_is_a_gap(gap: float, many: int) -> None:
    ys = [1, 2, gap, 3, gap, gap, 4, 5, 6, *([7] * many), gap]
    svg = curves({"a": list(enumerate(ys))}, "x", "y")
    stretches = strokes(svg)["a"].split(" M")
    assert [stretch.count("L") + 1 for stretch in stretches] == [2, 3 + many]
    # The point between two gaps has no line to be seen by.
    assert "a: 3, 3" in markers(svg)
    assert len(markers(svg)) == (1 if many else 6)
    assert "nan" not in svg
    assert "inf" not in svg.replace("infinite", "").replace("finite", "")


def test_lines_differ_without_their_colours() -> None:
    svg = curves({f"line {k}": [(0, k), (1, k)] for k in range(20)}, "x", "y")
    looks = set()
    for path in paths(svg, "line"):
        if tip(path):
            looks.add((path.attrib["class"], path.attrib.get("stroke-dasharray")))
    assert len(looks) == 20
    texts = [t.text for t in ElementTree.fromstring(svg).iter(f"{SPACE}text")]
    assert all(texts.count(f"line {k}") == 2 for k in range(20))  # the legend, and the line's end


@pytest.mark.parametrize("intervals", ["band", "bars"])
def test_intervals_reach_from_low_to_high(intervals: Any) -> None:
    line = [(0, 5, 4, 8), (1, 5, 3, 6), (2, NAN, 1, 9), (3, 5, NAN, 6), (4, 7, 7, 7.5)]
    svg = curves({"a": line}, "x", "y", intervals=intervals)
    assert "a: 0, 5 (4 to 8)" in markers(svg)
    assert "a: 3, 5" in markers(svg)
    shapes = [p for p in (*paths(svg, "line"), *paths(svg, "fill")) if not tip(p)]
    bands = [p.attrib["d"] for p in shapes if "fill-opacity" in p.attrib]
    bars = [p.attrib["d"] for p in shapes if "V" in p.attrib["d"]]
    assert (len(bands), len(bars)) == ((1, 1) if intervals == "band" else (0, 3))
    five, seven = (markers(svg)[name][1] for name in ("a: 0, 5 (4 to 8)", "a: 4, 7 (7 to 7.5)"))
    unit = (five - seven) / 2
    if intervals == "band":
        corners = [float(place.split()[1]) for place in bands[0][1:-1].split("L")]
        expected = [8, 6, 3, 4]
    else:
        ends = [re.match(r"M\S+ (\S+?)V([^M]+)M", bar) for bar in bars]
        corners = [float(end[k]) for end in ends[:2] if end for k in (1, 2)]
        expected = [8, 4, 6, 3]
    assert corners == pytest.approx([five - (y - 5) * unit for y in expected], abs=0.05)


def test_hostile_names_stay_text_and_apart() -> None:
    names = ["<script>", "]]>", "\x00", "\x01", "e\u0301" * 40, "漢" * 40, ""]
    svg = curves({name: [(0, 1), (1, 2)] for name in names}, "<b>", "&", title="\u202e<i>")
    tags = {child.tag.removeprefix(SPACE) for child in ElementTree.fromstring(svg).iter()}
    assert tags == {"svg", "title", "desc", "style", "rect", "g", "text", "path", "line"}
    assert len([path for path in paths(svg, "line") if "L" in path.attrib["d"]]) == 7


def test_a_run_that_diverged_at_once_has_a_picture_too() -> None:
    svg = curves({"a": [(0, NAN)], "b": []}, "x", "y", log_y=True)
    texts = [text.text for text in ElementTree.fromstring(svg).iter(f"{SPACE}text")]
    assert "no finite points" in texts


@given(st.lists(st.floats(0, 100), max_size=11))
def test_names_at_line_ends_do_not_overlap(wanted: list[float]) -> None:
    places = spread(wanted, 10, 0, 100)
    ordered = sorted(places)
    assert all(b - a >= 10 - 1e-9 for a, b in pairwise(ordered))
    assert all(-1e-9 <= place <= 100 for place in places)
    # Names stand in the order of their lines, and stay where they are if they can.
    assert [place for _, place in sorted(zip(wanted, places, strict=True))] == ordered
    if all(b - a >= 10 for a, b in pairwise(sorted(wanted))):
        assert places == wanted


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ({}, "no lines to draw"),
        ({"a": [(1, 2, 3)]}, "'a' has 3 numbers"),
        ({"a": [(1, 2, 3, 1)]}, "from 3.0 to 1.0: the lower end comes first"),
        ({"a": [(1, 0)]}, "leave log_y out"),
        ({"a": [(1, 2, -1, 3)]}, "leave log_y out"),
    ],
)
def test_what_cannot_be_drawn_is_refused(lines: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        curves(lines, "x", "y", log_y=True)


def test_intervals_are_of_two_kinds() -> None:
    kind: Any = "box"
    with pytest.raises(ValueError, match="'band' or 'bars', not 'box'"):
        curves({"a": [(1, 2)]}, "x", "y", intervals=kind)
