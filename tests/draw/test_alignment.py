import math
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unspool.draw import alignment

SPACE = "{http://www.w3.org/2000/svg}"


def cells(svg: str) -> list[ElementTree.Element]:
    """Those with a tooltip; the others explain the colours."""
    rects = ElementTree.fromstring(svg).iter(f"{SPACE}rect")
    return [rect for rect in rects if rect.find(f"{SPACE}title") is not None]


def test_every_weight_stands_in_its_row_and_column() -> None:
    source, target = ["a", "b", "c", "d"], ["x", "y", "z"]
    weights = torch.rand(3, 4, dtype=torch.float64).softmax(1)
    found = cells(alignment(source, target, weights))
    assert len(found) == 12
    xs = sorted({float(cell.attrib["x"]) for cell in found})
    ys = sorted({float(cell.attrib["y"]) for cell in found})
    assert (len(xs), len(ys)) == (4, 3)
    for cell in found:
        i, j = ys.index(float(cell.attrib["y"])), xs.index(float(cell.attrib["x"]))
        name, number = (cell.findtext(f"{SPACE}title") or "").split(": ")
        assert name == f"{source[j]} → {target[i]}"
        assert float(number) == pytest.approx(float(weights[i, j]), abs=5e-5)
        assert float(cell.attrib["fill-opacity"]) == pytest.approx(float(weights[i, j]), abs=0.006)


@given(st.text(st.characters(exclude_categories=())))
def test_hostile_tokens_stay_text(token: str) -> None:
    svg = alignment([token, "<script>"], ["]]>", token], [[1, 0], [0, 1]], title=token)
    tags = {child.tag.removeprefix(SPACE) for child in ElementTree.fromstring(svg.encode()).iter()}
    assert tags == {"svg", "title", "desc", "style", "rect", "g", "text"}
    assert len(cells(svg)) == 4


def test_labels_fit_into_the_picture_and_long_ones_have_tooltips() -> None:
    long = "Donaudampfschifffahrtsgesellschaft"
    tree = ElementTree.fromstring(alignment([long], ["漢" * 30], [[0.5]]))
    texts = {text.text: text.findtext(f"{SPACE}title") for text in tree.iter(f"{SPACE}text")}
    assert texts[long[:23] + "…"] == long
    assert texts["漢" * 11 + "…"] == "漢" * 30


def test_every_kind_of_matrix_gives_the_same_picture() -> None:
    weights = torch.tensor([[0.25, 0.75], [1.0, 0.0]], requires_grad=True)
    plain = weights.tolist()
    first = alignment("ab", "cd", weights)
    rows = [row.detach().numpy() for row in weights]
    array, half = weights.detach().numpy(), weights.bfloat16()
    for same in (plain, tuple(map(tuple, plain)), array, rows, half):
        assert alignment("ab", "cd", same) == first


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[0.5, 0.5]], r"shape \(1, 2\); expected \(2, 3\)"),
        ([[1, 0, 0], [1, 0]], r"shape \(2, 2 to 3\); expected \(2, 3\)"),
        ([0.5, 0.5], r"shape \(2,\); expected"),
        (0.5, r"shape \(\); expected"),
        (torch.zeros(2, 3, 1), r"shape \(2, 3, ...\); expected"),
        (torch.zeros(3, 2), r"shape \(3, 2\); expected \(2, 3\)"),
        ([[1, 0, 0], [0, 1.5, 0]], r"target token 1 \('e'\) for source token 1 \('b'\) is 1.5"),
        ([[1, 0, -0.5], [0, 1, 0]], "is -0.5"),
        ([[1, 0, 0], [math.nan, 1, 0]], "is nan"),
    ],
)
def test_what_is_no_alignment_is_refused(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        alignment("abc", "de", weights)


def test_there_is_something_on_each_side() -> None:
    with pytest.raises(ValueError, match="0 of the source and 1 of the target"):
        alignment([], ["a"], [[]])
