"""Pictures: SVG from one small writer, and text for the terminal."""

from unspool.draw.alignment import alignment
from unspool.draw.curves import curves
from unspool.draw.svg import Element, element, picture, render
from unspool.draw.text import alignment_text

__all__ = ["Element", "alignment", "alignment_text", "curves", "element", "picture", "render"]
