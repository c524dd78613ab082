"""A search that can be looked at: every candidate it weighed, and what became of it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from unspool.decode.normalise import Normalise

Fate = Literal["kept", "pruned", "finished", "cut"]


@dataclass(frozen=True)
class Node:
    """One token said after those of its parents.

    `total` is the log-probability of all up to here, `score` is that normalised. Its fate:
    "kept", it was continued; "pruned", it was among its parent's likeliest tokens but not among
    the best of the beam; "finished", it is END; "cut", it was alive when the search stopped.
    """

    id: int
    parent: int | None
    token: int
    step: int
    log_prob: float
    total: float
    score: float
    fate: Fate


@dataclass(frozen=True)
class Tree:
    """The search of one sentence. Node 0 is the root, the token that came first; ids count up."""

    nodes: list[Node]

    def path(self, id: int) -> list[Node]:
        """From the root, left out, to this node."""
        found, at = [], self.nodes[id]
        while at.parent is not None:
            found.append(at)
            at = self.nodes[at.parent]
        return found[::-1]

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(node) for node in self.nodes]


class Recorder:
    """Grows a tree for each sentence while the search goes on."""

    def __init__(self, first: Sequence[int], rule: Normalise, end: int | None):
        self.rule, self.end = rule, end
        self.nodes = [[Node(0, None, token, 0, 0.0, 0.0, 0.0, "kept")] for token in first]
        self.slots = [[0] for _ in first]  # the nodes that stand in the slots of the beam

    def add(
        self, sentence: int, candidates: Iterable[tuple[int, int, float, float]], room: int
    ) -> None:
        """A step of a sentence whose beam has `room` for so many of the candidates.

        They come best first, as (slot of the parent, token, log_prob, total).
        """
        nodes, parents = self.nodes[sentence], self.slots[sentence]
        step, slots = nodes[parents[0]].step + 1, []
        for rank, (slot, token, log_prob, total) in enumerate(candidates):
            fate: Fate = "finished" if token == self.end else "kept"
            if rank >= room:
                fate = "pruned"
            score = self.rule.score(total, step)
            slots.append(len(nodes))
            nodes.append(Node(len(nodes), parents[slot], token, step, log_prob, total, score, fate))
        self.slots[sentence] = slots

    def trees(self) -> list[Tree]:
        """What stands in the beam now was cut off."""
        for nodes, slots in zip(self.nodes, self.slots, strict=True):
            for at in slots:
                if nodes[at].fate == "kept":
                    nodes[at] = replace(nodes[at], fate="cut")
        return [Tree(nodes) for nodes in self.nodes]
