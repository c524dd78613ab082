"""The only time loops. `unfold` is the way in; the reference is the oracle of every other one."""

from unspool.engine.bptt import Gradients, bptt
from unspool.engine.call import CallError
from unspool.engine.graphs import eager, in_graph, is_traced, leaf, no_script
from unspool.engine.masks import Masks, draw_masks, expected_masks
from unspool.engine.say import SlowWarning
from unspool.engine.step import Stepper
from unspool.engine.unfold import unfold, unfold_directions
from unspool.engine.watch import Seen, unwatched, watching

__all__ = [
    "CallError", "Gradients", "Masks", "Seen", "SlowWarning", "Stepper", "bptt", "draw_masks",
    "eager",
    "expected_masks", "in_graph", "is_traced", "leaf", "no_script", "unfold", "unfold_directions",
    "unwatched", "watching",
]  # fmt: skip
