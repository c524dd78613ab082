"""The unrolled graph: run backwards edge by edge, and path by path, it is autograd."""

import itertools
import json
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

import unspool as us
from tests.conformance.table import IDS, TABLE, build, inputs
from tests.equations.random_cells import cells
from unspool.cells.cell import Bound
from unspool.equations.derivative import OUTPUT, adjoint, derive
from unspool.equations.evaluate import evaluate, run
from unspool.equations.explain import Explanation, explain_text
from unspool.equations.roles import equations
from unspool.inspect.graph import Edge, Graph, Node, paths, unrolled

every_cell = pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)


class Numbers:
    """A graph with numbers: one row of data, and the values of every step."""

    def __init__(self, cell: us.Cell, steps: int):
        self.graph, self.cell = unrolled(cell, steps), cell
        self.xs, self.state = inputs(cell, T=steps, B=1)
        self.ys, _ = us.unfold(cell, self.xs, self.state, backend="reference")
        self.d_ys = torch.randn_like(self.ys)
        self.nodes = {node.id: node for node in self.graph.nodes}
        forward = derive(cell.equations).forward
        self.bound = Bound(forward, cell.sizes, cell.bind().tensors)
        self.steps: list[dict[str, Any]] = []
        values: dict[str, Any] = dict(zip(forward.states, self.state, strict=True))
        for x, d_y in zip(self.xs, self.d_ys, strict=True):
            env: dict[str, Any] = {**self.bound.tensors, **values, "x": x}
            run(forward.lines, env, x, self.bound.size_of)
            self.steps.append({**env, OUTPUT: d_y})
            values = {state: env[line] for state, line in forward.carried.items()}

    def share(self, edge: Edge, seed: Tensor) -> Tensor:
        """What the target sends back to the source when its gradient is `seed` (rows, n)."""
        target = self.nodes[edge.target]
        if target.kind == "loss":
            env = {} if target.step is None else self.steps[target.step - 1]
            (term,) = edge.shares
            return seed * evaluate(term.left, env, self.bound.size_of)
        assert target.step is not None
        env = self.steps[target.step - 1] | {adjoint(target.name): seed}
        found = []
        for term in edge.shares:
            left = torch.as_tensor(evaluate(term.left, env, self.bound.size_of))
            if term.right is not None:
                right = torch.as_tensor(evaluate(term.right, env, self.bound.size_of))
                left = left.T @ right.expand(len(left), -1)
            found.append(left)
        return sum(found[1:], found[0])

    def gradients(self) -> dict[str, Tensor]:
        """dL/d(node) of every node, from the last to the first."""
        total = {self.graph.nodes[-1].id: torch.ones(1, 1, dtype=torch.float64)}
        for edge in reversed(self.graph.edges):
            if edge.target in total:
                share = self.share(edge, total[edge.target])
                total[edge.source] = total.get(edge.source, torch.zeros(())) + share
        return total

    def wanted(self) -> dict[str, Tensor]:
        """The nodes that autograd knows by tensors of its own, and dL/d of them."""
        eqs = self.cell.equations
        leaves = {f"{name}@0": value for name, value in zip(eqs.states, self.state, strict=True)}
        leaves |= {name: self.cell.parameter(name) for name in eqs.parameters}
        loss = (self.ys * self.d_ys).sum()
        found = torch.autograd.grad(loss, [self.xs, *leaves.values()], allow_unused=True)
        d_xs = torch.zeros_like(self.xs) if found[0] is None else found[0]
        rows = {f"x@{t}": d_x for t, d_x in enumerate(d_xs, 1)}
        pairs = zip(leaves.items(), found[1:], strict=True)
        return rows | {n: torch.zeros_like(v) if d is None else d for (n, v), d in pairs}


def check_gradients(cell: us.Cell, steps: int) -> None:
    numbers = Numbers(cell, steps)
    ours = numbers.gradients()
    for id, theirs in numbers.wanted().items():
        if id not in ours:  # nothing that the loss sees depends on it
            assert not theirs.any(), id
            continue
        got = ours[id].sum(0) if theirs.dim() == 1 else ours[id]  # a vector gathers rows
        assert got.shape == theirs.shape
        assert (got - theirs).norm() <= 1e-10 * max(theirs.norm().item(), 1.0), id


@every_cell
def test_edge_by_edge_it_is_autograd(kind: us.CellType, sizes: dict[str, int]) -> None:
    check_gradients(build(kind, sizes), steps=4)


@settings(max_examples=40)
@given(cells())
def test_edge_by_edge_it_is_autograd_for_any_cell(text: str) -> None:
    kind = us.CellType(equations(text), "random")
    numbers = {"input": 2, "hidden": 3, "extra": 4}
    sizes = {name: numbers[name] for name in kind.equations.named_sizes}
    check_gradients(build(kind, sizes), steps=3)


@pytest.mark.parametrize("kind", [us.cells.Elman, us.cells.GRU, us.cells.LSTM])
def test_the_chain_rule_is_a_sum_over_paths(kind: us.CellType) -> None:
    """dL/dh_0 as products of Jacobians along each path, one after the other."""
    numbers = Numbers(build(kind, {"input": 2, "hidden": 3}), steps=2)
    edges = {(edge.source, edge.target): edge for edge in numbers.graph.edges}
    found = paths(numbers.graph, "h_0", "L", limit=1000)
    assert found.count == len(found.listed) > 1
    total = torch.zeros(1, 3, dtype=torch.float64)
    for path in found.listed:
        sent = torch.ones(1, 1, dtype=torch.float64)
        for step in reversed(list(itertools.pairwise(path))):
            sent = numbers.share(edges[step], sent)
        total += sent
    torch.testing.assert_close(total, numbers.wanted()["h@0"])


def slow_paths(graph: Graph, source: str, target: str) -> list[tuple[str, ...]]:
    if source == target:
        return [(source,)]
    readers = [edge.target for edge in graph.edges if edge.source == source]
    return [(source, *rest) for reader in readers for rest in slow_paths(graph, reader, target)]


@pytest.mark.parametrize("kind", [us.cells.Elman, us.cells.OldStateOutput, us.cells.GRU])
def test_paths_against_a_walk_over_all_of_them(kind: us.CellType) -> None:
    graph = unrolled(kind, steps=2)
    for source, target in itertools.product(graph.nodes, repeat=2):
        slow = slow_paths(graph, source.id, target.id)
        found = paths(graph, source.id, target.id, limit=10**6)
        assert found.count == len(slow)
        assert list(found.listed) == slow
        assert paths(graph, source.id, target.id, limit=2).listed == tuple(slow[:2])


def test_paths_are_counted_that_nobody_could_list() -> None:
    """From h_0 to h_t of a GRU: 4 ways a step, straight on or through r, z or n."""
    graph = unrolled(us.cells.GRU, steps=200, loss=False)
    found = paths(graph, "h_0", "h_200", limit=3)
    assert found.count == 4**200
    assert len(found.listed) == 3
    assert paths(graph, "h_200", "h_0").count == 0
    # what leads nowhere is not walked: there is an end to this
    assert paths(graph, "h_0", "r_1").listed == (("h@0", "a_r@1", "r@1"),)


@every_cell
def test_nodes_and_edges_are_those_of_the_equations(
    kind: us.CellType, sizes: dict[str, int]
) -> None:
    graph, eqs = unrolled(kind, steps=3), kind.equations
    place = {node.id: n for n, node in enumerate(graph.nodes)}
    assert len(place) == len(graph.nodes)
    assert all(place[edge.source] < place[edge.target] for edge in graph.edges)
    assert len({(edge.source, edge.target) for edge in graph.edges}) == len(graph.edges)
    kinds: dict[str, list[Node]] = {}
    for node in graph.nodes:
        kinds.setdefault(node.kind, []).append(node)
    assert [node.label for node in kinds["input"]] == ["x_1", "x_2", "x_3"]
    assert tuple(node.label for node in kinds.get("parameter", [])) == eqs.parameters
    states = {f"{state}_{t}" for state in eqs.states for t in range(4)}
    assert {node.label for node in kinds["state"]} == states
    assert [node.label for node in kinds["loss"]][-1] == "L"
    assert ("output" in kinds) == (eqs.output not in eqs.carried.values())
    for name in eqs.parameters:
        steps = {edge.target.split("@")[1] for edge in graph.edges if edge.source == name}
        assert steps == {"1", "2", "3"}
    assert {m for edge in graph.edges for m in edge.through} == set(eqs.matrices)
    assert not any(n.kind == "loss" for n in unrolled(kind, loss=False).nodes)


def test_labels_and_matrices_of_a_gru() -> None:
    graph = unrolled(us.cells.GRU, steps=2)
    found = {(edge.source, edge.target): edge for edge in graph.edges}
    text = {ends: (edge.through, edge.derivative) for ends, edge in found.items()}
    assert text["x@2", "a_r@2"] == (("W_r",), "W_r.T")
    assert text["h@1", "a_z@2"] == (("U_z",), "U_z.T")
    assert text["U_z", "a_z@2"] == ((), "h^T")
    assert text["U_n", "a_n@2"] == ((), "(r * h)^T")
    assert text["b_n", "a_n@2"] == ((), "1")
    assert text["a_r@2", "r@2"] == ((), "r * (1 - r)")
    assert text["r@2", "a_n@2"] == (("U_n",), "(U_n.T @ ·) * h")
    assert text["z@2", "h@2"] == ((), "h - n")
    assert text["h@1", "h@2"] == ((), "z")
    assert text["h@2", "L@2"] == ((), "dys")
    assert text["L@2", "L"] == ((), "1")
    equations = {node.id: node.equation for node in graph.nodes}
    assert equations["h@2"] == "h' = z * h + (1 - z) * n"
    assert equations["L"] == "L = L_1 + L_2"


def test_what_cannot_be_taken_out_as_a_factor_keeps_a_dot() -> None:
    graph = unrolled(us.cell("h' = h - U @ h + V @ x - V @ layer_norm(x)"), steps=1)
    text = {(edge.source, edge.target): edge.derivative for edge in graph.edges}
    assert text["h@0", "h@1"] == "· - U.T @ ·"
    assert text["V", "h@1"] == "(· x^T + (-·) a_h^T)"
    assert text["a_h@1", "h@1"] == "-(V.T @ ·)"


@pytest.mark.parametrize("kind", us.cells.named().values(), ids=lambda kind: kind.name)
def test_what_is_sent_is_what_explain_prints(kind: us.CellType) -> None:
    eqs = kind.equations
    explained = explain_text(Explanation("", eqs))
    own_output = eqs.output not in eqs.carried.values()  # explain writes dys for dy there
    for edge in unrolled(eqs, steps=1).edges:
        sends = edge.sends.replace("dy ", "dys ") if own_output else edge.sends
        assert sends.removeprefix("-") in explained, edge


def test_names_that_would_clash() -> None:
    """A cell may have lines called L and dh, and a parameter called h_1."""
    graph = unrolled(us.cell("L = W @ x + h_1\ndh = U @ h\nh' = tanh(L + dh)"), steps=2)
    assert len({node.id for node in graph.nodes}) == len(graph.nodes)
    assert [node.id for node in graph.nodes if node.kind == "loss"] == ["L2@1", "L2@2", "L2"]
    assert "d_h'" in "".join(edge.sends for edge in graph.edges)
    assert paths(graph, "h_1", "L2").count == 3  # the id of the parameter, not the label of h@1
    assert paths(graph, "h@1", "L2").count == 2


def test_it_becomes_json() -> None:
    graph = unrolled(us.cells.LSTM(3, 4), steps=2)
    plain = json.loads(json.dumps(graph.to_json()))
    assert [node["id"] for node in plain["nodes"]] == [node.id for node in graph.nodes]
    assert plain["edges"][0] == {
        "source": "W_i",
        "target": "a_i@1",
        "through": [],
        "sends": "da_i x^T",
        "derivative": "x^T",
    }


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="got str"):
        unrolled("gru")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="got 0"):
        unrolled(us.cells.GRU, steps=0)
    graph = unrolled(us.cells.GRU)
    with pytest.raises(ValueError, match=r"'q_1' names no node.*h@0"):
        paths(graph, "q_1", "L")
