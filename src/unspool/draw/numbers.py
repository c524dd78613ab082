"""Numbers as a picture prints them: short, and the same on every machine."""

import math


def coordinate(value: float) -> str:
    """A place or a size in a drawing: two decimals at most."""
    if not math.isfinite(value):
        raise ValueError(f"a drawing has finite coordinates, not {value}")
    return plain(value, 2)


def plain(value: float, decimals: int) -> str:
    """With at most so many decimals, no zeros at the end, and no minus before zero."""
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def short(value: float, digits: int = 4) -> str:
    """A number to read: whole ones in full, others to so many digits that count."""
    if not math.isfinite(value):
        return str(float(value))
    if value == round(value) and abs(value) < 1e7:
        return str(int(value))
    if 1e-4 <= abs(value) < 1e7:
        return plain(value, max(0, digits - 1 - math.floor(math.log10(abs(value)))))
    return scientific(value, digits)


def scientific(value: float, digits: int) -> str:
    """`1.2e-5`: to so many digits that count, without zeros that say nothing."""
    mantissa, exponent = f"{value:.{max(digits, 1) - 1}e}".split("e")
    return f"{plain(float(mantissa), max(digits, 1) - 1)}e{int(exponent)}"
