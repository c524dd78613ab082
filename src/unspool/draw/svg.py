"""A small writer of SVG: a tree of elements, and the tree as text.

Whatever stands in a text or an attribute stays text: it is escaped, and characters that XML
does not allow become U+FFFD.
"""

import re
from dataclasses import dataclass

from unspool.draw.numbers import coordinate
from unspool.draw.theme import SCOPE, style

Value = str | float

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
# What XML 1.0 forbids (control characters, halves of surrogate pairs), and the C1 controls.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = _TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


@dataclass(frozen=True)
class Element:
    """A node of the tree; a child is another one, or text."""

    tag: str
    attributes: dict[str, Value]
    children: "tuple[Element | str, ...]"


def element(tag: str, *children: Element | str | None, **attributes: Value | None) -> Element:
    """`element("text", "a < b", x=3, text_anchor="end", class_="ink")`.

    An underscore in a name stands for a hyphen, one at its end for nothing. Children and
    attributes that are None are left out.
    """
    names = {name: name.rstrip("_").replace("_", "-") for name in attributes}
    for name in (tag, *names.values()):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of an element or attribute: use a-z, 0-9 and -")
    kept = {names[name]: value for name, value in attributes.items() if value is not None}
    return Element(tag, kept, tuple(child for child in children if child is not None))


def render(node: Element | str) -> str:
    """The tree as text, a line for each element of a group."""
    if isinstance(node, str):
        return _FORBIDDEN.sub("\ufffd", node).translate(_TEXT)
    head = node.tag + "".join(f' {name}="{_value(v)}"' for name, v in node.attributes.items())
    if not node.children:
        return f"<{head}/>"
    # White space between these elements is not drawn; inside a text it would be.
    gap = "\n" if node.tag in ("svg", "g") else ""
    inside = gap.join(render(child) for child in node.children)
    return f"<{head}>{gap}{inside}{gap}</{node.tag}>"


def picture(
    width: float, height: float, *children: Element | None, title: str, description: str
) -> str:
    """A whole SVG document, with a name and a description for those who do not see it.

    It carries its own colours for light and dark, and can stand in a file or inside a page.
    """
    root = element(
        "svg",
        element("title", title),
        element("desc", description),
        element("style", style()),
        element("rect", class_="paper", width=width, height=height),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
        class_=SCOPE,
    )
    return render(root) + "\n"


def _value(value: Value) -> str:
    if isinstance(value, str):
        return _FORBIDDEN.sub("\ufffd", value).translate(_ATTRIBUTE)
    return coordinate(value)
