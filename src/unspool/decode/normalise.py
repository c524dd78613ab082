"""How long hypotheses and short ones are made comparable."""

import math
from dataclasses import dataclass

RULES = ("none", "mean", "gnmt")
ALPHA = 0.6


@dataclass(frozen=True)
class Normalise:
    """score = log p / divisor(length), END counted in the length.

    The divisor is, by `rule`: "none" 1; "mean" the length; "gnmt" ((5 + length) / 6)^alpha (Wu
    et al. 2016), which goes from "none" at alpha 0 to nearly "mean" at 1.

    No divisor falls as the length grows, and what is yet to be said adds at most 0 to a log p that
    is at most 0. So no continuation to at most `limit` steps scores above log p / divisor(limit).
    """

    rule: str = "mean"
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"normalise is one of {', '.join(RULES)}, not {self.rule!r}")
        if not 0 <= self.alpha < math.inf:
            raise ValueError(f"alpha is 0 (no normalisation) or above, not {self.alpha}")

    def divisor(self, length: int) -> float:
        if self.rule == "none":
            return 1.0
        if self.rule == "mean":
            return float(max(1, length))  # nothing said yet scores 0
        return ((5 + length) / 6) ** self.alpha

    def score(self, log_prob: float, length: int) -> float:
        return log_prob / self.divisor(length)
