"""The unrolled computational graph of a cell: what each step reads, and what it sends back.

Every line of every step is a node, pre-activations included, and so are the inputs, the states
and the parameters, which all steps share. An edge goes from what is read to what reads it. Along
it, backwards, flows what the derived backward step says: the gradient of the reader times the
local derivative. The chain rule is the sum of the products over all paths.
"""

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from operator import index
from typing import Any, Literal

from unspool.cells.cell import Bound, Cell, CellType
from unspool.equations.derivative import OUTPUT, adjoint, derive
from unspool.equations.explain import Explanation, Notation, Term, sum_over_steps
from unspool.equations.expr import (
    ONE,
    Apply,
    Expr,
    Name,
    Product,
    add,
    children,
    div,
    mul,
    names,
    neg,
    sub,
    total,
)
from unspool.equations.printing import Rename, ascii_expr, ascii_line
from unspool.equations.program import Equations
from unspool.equations.rewrite import free_name

Kind = Literal["input", "parameter", "line", "state", "output", "loss"]


@dataclass(frozen=True)
class Node:
    """A value: `name` is what the equations call it, and `step` None where it has no time.

    A new state is a "state" also where it is the output; "output" is an output of its own.
    """

    id: str
    label: str
    kind: Kind
    step: int | None
    name: str
    equation: str = ""


@dataclass(frozen=True)
class Edge:
    """`target` reads `source`, `through` these matrices, and sends a share of its gradient back.

    The shares add up. They are expressions over the values of the target's step (there `h` is
    the state before it) and the target's gradient, `adjoint(name)`. `sends` is the share in
    words, `derivative` is the share without the gradient; where it cannot be taken out as a
    factor, `·` stands for it.
    """

    source: str
    target: str
    through: tuple[str, ...]
    shares: tuple[Term, ...]
    sends: str
    derivative: str


@dataclass(frozen=True)
class Graph:
    """Nodes, each after all that it reads, and edges in the order of their targets."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def to_json(self) -> dict[str, Any]:
        edges = [
            {
                "source": edge.source,
                "target": edge.target,
                "through": list(edge.through),
                "sends": edge.sends,
                "derivative": edge.derivative,
            }
            for edge in self.edges
        ]
        return {"nodes": [asdict(node) for node in self.nodes], "edges": edges}


@dataclass(frozen=True)
class Paths:
    """How many paths there are between two nodes, and the first of them, as ids of nodes."""

    count: int
    listed: tuple[tuple[str, ...], ...]


def unrolled(cell: CellType | Cell | Bound | Equations, steps: int = 3, loss: bool = True) -> Graph:
    """The graph of a cell over so many steps, numbered from 1; states start at step 0.

    With `loss` each step's output goes into a loss L_t, and L is their sum.
    """
    eqs = cell if isinstance(cell, Equations) else getattr(cell, "equations", None)
    if not isinstance(eqs, Equations):
        raise ValueError(
            f"the graph is that of equations: give a cell, as us.cells.GRU or us.cell(text); "
            f"got {type(cell).__name__}"
        )
    if index(steps) < 1:
        raise ValueError(f"steps is the number of steps to unroll, 1 or more; got {steps}")
    return _Unroller(eqs).unroll(steps, loss)


class _Unroller:
    def __init__(self, eqs: Equations):
        # recorded, every line has a gradient, also one that no loss sees
        self.derived = derive(eqs, record=eqs.recordable)
        self.eqs, self.parameters = self.derived.forward, eqs.parameters
        self.rename: Rename = Notation(Explanation("", eqs)).rename
        self.state_of = {line: state for state, line in self.eqs.carried.items()}
        self.shares = self.all_shares()
        self.known: dict[tuple[str, str], tuple[str, str]] = {}
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []

    def all_shares(self) -> dict[tuple[str, str], tuple[Term, ...]]:
        """What each line sends back to each name that it reads, by (name, line)."""
        readers = {adjoint(line.name): line.name for line in self.eqs.lines}
        sums = {line.name[1:]: line.expr for line in self.derived.lines} | self.derived.vectors
        found: dict[tuple[str, str], list[Expr]] = {}
        for name, share in sums.items():
            for term in _terms(share):
                for seed in names(term) & readers.keys():  # none where it comes from outside
                    found.setdefault((name, readers[seed]), []).append(term)
        shares: dict[tuple[str, str], tuple[Term, ...]] = {
            edge: (Term(total(terms)),) for edge, terms in found.items()
        }
        for matrix, outers in self.derived.matrices.items():
            for outer in outers:
                (seed,) = names(outer.left) & readers.keys()
                edge = (matrix, readers[seed])
                shares[edge] = (*shares.get(edge, ()), Term(outer.left, outer.right))
        return shares

    def unroll(self, steps: int, loss: bool) -> Graph:
        for name in self.parameters:
            self.nodes.append(Node(name, name, "parameter", None, name))
        for state in self.eqs.states:
            self.nodes.append(Node(f"{state}@0", f"{state}_0", "state", 0, state))
        for t in range(1, steps + 1):
            self.step(t)
        if loss:
            self.losses(steps)
        return Graph(tuple(self.nodes), tuple(self.edges))

    def step(self, t: int) -> None:
        self.nodes.append(Node(f"x@{t}", f"x_{t}", "input", t, "x"))
        for line in self.eqs.lines:
            kind: Kind = "state" if line.name in self.state_of else "line"
            if line.name == self.eqs.output and kind == "line":
                kind = "output"
            name, id = self.state_of.get(line.name, line.name), self.at(line.name, t)
            self.nodes.append(Node(id, f"{name}_{t}", kind, t, line.name, ascii_line(line)))
            for read, through in _reads(line.expr).items():
                shares = self.shares[read, line.name]
                texts = self.texts(read, line.name)
                self.edges.append(Edge(self.at(read, t), id, through, shares, *texts))

    def texts(self, read: str, line: str) -> tuple[str, str]:
        """What an edge sends, and the derivative in it: the same in every step."""
        if (read, line) not in self.known:
            shares = self.shares[read, line]
            derivative = _derivative(shares, adjoint(line), self.rename)
            self.known[read, line] = _sends(shares, self.rename), derivative
        return self.known[read, line]

    def losses(self, steps: int) -> None:
        """A loss for each output, whose gradient is given, and their sum."""
        name = free_name("L", {*self.eqs.sizes, *self.eqs.matrices})
        labels = [f"{name}_{t}" for t in range(1, steps + 1)]
        for t, label in enumerate(labels, 1):
            self.nodes.append(Node(f"{name}@{t}", label, "loss", t, name))
            self.connect(self.at(self.eqs.output, t), f"{name}@{t}", Name(OUTPUT))
        equation = f"{name} = {' + '.join(labels)}"
        self.nodes.append(Node(name, name, "loss", None, name, equation))
        for t in range(1, steps + 1):
            self.connect(f"{name}@{t}", name, ONE)

    def at(self, name: str, t: int) -> str:
        """The id of the node that step t means by a name."""
        if name in self.parameters:
            return name
        if name in self.eqs.states:
            return f"{name}@{t - 1}"
        return f"{self.state_of.get(name, name)}@{t}"

    def connect(self, source: str, target: str, share: Expr) -> None:
        """An edge to a loss, whose own gradient is 1."""
        text = ascii_expr(share, self.rename)
        self.edges.append(Edge(source, target, (), (Term(share),), sends=text, derivative=text))


def _reads(expr: Expr) -> dict[str, tuple[str, ...]]:
    """Every name and matrix that an expression reads, with the matrices it is read through."""
    found: dict[str, dict[str, None]] = {}

    def visit(node: Expr, through: tuple[str, ...]) -> None:
        if isinstance(node, Name):
            found.setdefault(node.id, {}).update(dict.fromkeys(through))
        if isinstance(node, Product):
            found.setdefault(node.matrix, {})
            through = (*through, node.matrix)
        for child in children(node):
            visit(child, through)

    visit(expr, ())
    return {name: tuple(matrices) for name, matrices in found.items()}


def _terms(expr: Expr, minus: bool = False) -> Iterator[Expr]:
    """The terms of a sum, each with its sign."""
    match expr:
        case Apply(function="+" | "-" as sign, args=(left, right)):
            yield from _terms(left, minus)
            yield from _terms(right, minus != (sign == "-"))
        case Apply(function="neg", args=(arg,)):
            yield from _terms(arg, not minus)
        case _:
            yield neg(expr) if minus else expr


def _sends(shares: tuple[Term, ...], rename: Rename) -> str:
    """The shares as text: a vector, or outer products for a matrix."""
    if shares[0].right is None:
        return ascii_expr(shares[0].left, rename)
    return sum_over_steps(list(shares), lambda expr: ascii_expr(expr, rename), "({})", "^T")


def _derivative(shares: tuple[Term, ...], seed: str, rename: Rename) -> str:
    """The shares as text without the seed, or with a dot in its place."""
    text = _sends(shares, lambda name: "·" if name == seed else rename(name))
    if shares[0].right is not None:
        return text.removeprefix("· ")
    match shares[0].left:
        case Product(operand=Name(id=name)) if name == seed:
            return text.removesuffix(" @ ·")
        case share:
            factor = _factor(share, seed)
            return text if factor is None else ascii_expr(factor, rename)


def _factor(expr: Expr, seed: str) -> Expr | None:
    """What the seed is multiplied by, element by element; None where it is not just that."""
    match expr:
        case Name(id=name) if name == seed:
            return ONE
        case Apply(function="+" | "-" as sign, args=(a, b)):
            left, right = _factor(a, seed), _factor(b, seed)
            if left is None or right is None:
                return None
            return add(left, right) if sign == "+" else sub(left, right)
        case Apply(function="*", args=(a, b)):
            for one, other in ((a, b), (b, a)):  # it stands on one side alone
                inside = _factor(one, seed)
                if inside is not None:
                    return mul(inside, other)
            return None
        case Apply(function="/", args=(a, b)):
            inside = _factor(a, seed)
            return None if inside is None else div(inside, b)
        case Apply(function="neg", args=(a,)):
            inside = _factor(a, seed)
            return None if inside is None else neg(inside)
    return None


def paths(graph: Graph, source: str, target: str, limit: int = 20) -> Paths:
    """The paths that the chain rule sums over in d(target)/d(source), by id or label.

    Their number grows exponentially with the steps: they are all counted, and `limit` are listed.
    """
    start, end = _find(graph, source), _find(graph, target)
    readers: dict[str, list[str]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        readers[edge.source].append(edge.target)
    ways: dict[str, int] = {}
    for node in reversed(graph.nodes):
        ways[node.id] = int(node.id == end) or sum(ways[reader] for reader in readers[node.id])

    def listed() -> Iterator[tuple[str, ...]]:
        stack = [(start,)] if ways[start] else []
        while stack:
            path = stack.pop()
            if path[-1] == end:
                yield path
                continue
            stack += [(*path, reader) for reader in reversed(readers[path[-1]]) if ways[reader]]

    return Paths(ways[start], tuple(itertools.islice(listed(), limit)))


def _find(graph: Graph, wanted: str) -> str:
    """The id of a node that is given by id or by label."""
    ids = {node.label: node.id for node in graph.nodes} | {node.id: node.id for node in graph.nodes}
    if wanted not in ids:
        some = ", ".join(node.id for node in graph.nodes[:40])
        raise ValueError(f"{wanted!r} names no node; the nodes are {some} and so on over the steps")
    return ids[wanted]
