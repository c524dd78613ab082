"""The colours of pictures, in light and in dark.

Each class paints one thing; every rule is bound to the pictures, because a style inside a page
speaks to the whole page.
"""

SCOPE = "unspool-picture"

# What a class paints, its colour in light, its colour in dark.
CLASSES = {
    "paper": ("fill", "#ffffff", "#15181c"),
    "floor": ("fill", "#f1f3f6", "#20252b"),
    "ink": ("fill", "#1f2328", "#e4e7eb"),
    "faint": ("fill", "#59636e", "#9ba5b0"),
    "grid": ("stroke", "#e3e7eb", "#2c3239"),
    "axis": ("stroke", "#8b949e", "#6b7580"),
    "heat": ("fill", "#0a4f9e", "#6cb6ff"),
}

# Lines that stand beside each other: dark enough to read on white, light enough on black, and
# in an order whose neighbours differ for colour-blind eyes too.
LINES = (
    ("#0a5fb4", "#6cb6ff"),
    ("#b84a00", "#ff9f5a"),
    ("#00785a", "#4fd1a5"),
    ("#a23b83", "#f09bd3"),
    ("#7a6100", "#e3c64a"),
    ("#4a4f57", "#c3c9d1"),
)
# As many as have no common factor with the colours: together they tell thirty lines apart.
DASHES = (None, "7 4", "2 3", "10 3 2 3", "14 4")


def line_class(index: int) -> str:
    """Of the strokes of the line with this number."""
    return f"line-{index % len(LINES)}"


def fill_class(index: int) -> str:
    """Of the markers, the band and the name of the line with this number."""
    return f"fill-{index % len(LINES)}"


def style() -> str:
    """The style sheet that every picture carries."""
    common = [
        f".{SCOPE}{{max-width:100%;height:auto}}",
        f".{SCOPE} text{{font-family:system-ui,-apple-system,sans-serif;font-size:12px}}",
        f".{SCOPE} .title{{font-size:14px;font-weight:600}}",
    ]
    dark = "@media (prefers-color-scheme:dark){"
    return "\n".join(["", *common, *_rules(1), dark, *_rules(2), "}", ""])


def _rules(theme: int) -> list[str]:
    rules = [(name, what[0], what[theme]) for name, what in CLASSES.items()]
    for index, colours in enumerate(LINES):
        rules.append((line_class(index), "stroke", colours[theme - 1]))
        rules.append((fill_class(index), "fill", colours[theme - 1]))
    return [f".{SCOPE} .{name}{{{what}:{colour}}}" for name, what, colour in rules]
