"""The frame of a chart: axes, ticks, and what they measure."""

from dataclasses import dataclass

from unspool.draw.scale import Scale
from unspool.draw.svg import Element, element


@dataclass(frozen=True)
class Frame:
    """Where a chart stands in its picture, and its scales; `whole`: x are whole numbers."""

    x: Scale
    y: Scale
    left: float
    right: float
    top: float
    bottom: float
    whole: bool
    empty: bool


def frame(plan: Frame, x_label: str, y_label: str) -> Element:
    """Grid lines at the ticks of y, an axis for x, labels; a word where there is nothing."""
    middle, height = (plan.left + plan.right) / 2, (plan.top + plan.bottom) / 2
    return element(
        "g",
        *_y_ticks(plan),
        *_x_ticks(plan),
        _line("axis", plan.left, plan.bottom, plan.right, plan.bottom),
        _centred(x_label, middle, plan.bottom + 36),
        element(
            "text",
            y_label,
            class_="faint",
            transform=f"translate(18 {height:.0f}) rotate(-90)",
            text_anchor="middle",
        ),
        _centred("no finite points", middle, height) if plan.empty else None,
    )


def _y_ticks(plan: Frame) -> list[Element]:
    parts = []
    for value, label in plan.y.ticks():
        y = plan.y(value)
        parts.append(_line("grid", plan.left, y, plan.right, y))
        parts.append(
            element("text", label, class_="faint", x=plan.left - 6, y=y + 4, text_anchor="end")
        )
    return parts


def _x_ticks(plan: Frame) -> list[Element]:
    parts = []
    for value, label in plan.x.ticks(whole=plan.whole):
        x, y = plan.x(value), plan.bottom
        parts.append(_line("axis", x, y, x, y + 4))
        parts.append(_centred(label, x, y + 17))
    return parts


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Element:
    return element("line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2)


def _centred(text: str, x: float, y: float) -> Element:
    return element("text", text, class_="faint", x=x, y=y, text_anchor="middle")
