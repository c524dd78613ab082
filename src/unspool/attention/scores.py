"""All scores by name. A new one is one file, one row here, and one row in its test's table."""

from unspool.attention.additive import Additive
from unspool.attention.cosine import Cosine
from unspool.attention.dot import Dot
from unspool.attention.general import General
from unspool.attention.location import Location
from unspool.attention.protocol import Score
from unspool.attention.reduced_rank import ReducedRank
from unspool.attention.scaled_dot import ScaledDot

SCORES: dict[str, type[Score]] = {
    "additive": Additive,
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "general": General,
    "reduced_rank": ReducedRank,
    "cosine": Cosine,
    "location": Location,
}
