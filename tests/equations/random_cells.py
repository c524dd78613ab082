"""Random cells, drawn by hypothesis."""

from hypothesis import strategies as st

from tests.equations.random_text import SIZES, random_cell

__all__ = ["SIZES", "cells"]


@st.composite
def cells(draw: st.DrawFn) -> str:
    return random_cell(lambda options: draw(st.sampled_from(options)))
