"""Random cells, as text: every operator and function, every way to share a name."""

from collections.abc import Callable, Sequence
from typing import Any

SAFE = {  # forms that stay finite and differentiable whatever they are given
    "log": "log(1 + ({})**2)",
    "sqrt": "sqrt(0.5 + ({})**2)",
    "exp": "exp(tanh({}))",
    "softplus": "softplus({})",
    "sigmoid": "sigmoid({})",
    "tanh": "tanh({})",
    "relu": "relu({})",
    "abs": "abs({})",
    "sin": "sin({})",
    "cos": "cos({})",
    "layer_norm": "layer_norm({})",
    "power": "tanh({})**3",
    "inverse": "(1 + ({})**2)**-1.5",
    "neg": "-({})",
    "half": "0.5 * ({})",
    "one_minus": "1 - ({})",
}
PAIRS = ("({}) + ({})", "({}) - ({})", "({}) * ({})", "({}) / (1 + ({})**2)")
PAIRS += ("minimum({}, {})", "maximum({}, {})", "maximum({}, {}) - 0.25")
SIZES = ("input", "hidden", "extra")


def random_cell(choose: Callable[[Sequence[Any]], Any]) -> str:
    """The text of a cell with sizes input, hidden and, in most, extra; `choose` is chance."""
    known: dict[str, list[str]] = {size: [] for size in SIZES}
    known["input"].append("x")
    left = ["h", "c", "s"]
    states = [left.pop(left.index(choose(tuple(left)))) for _ in range(choose([1, 2, 3]))]
    sizes = {state: choose(["hidden", "hidden", "extra"]) for state in states}
    for state, size in sizes.items():
        known[size].append(state)
    parameters = 0
    matrices: dict[tuple[str, str], list[str]] = {}

    def fresh(kind: str) -> str:
        nonlocal parameters
        parameters += 1
        return f"{kind}{parameters}"

    def vector(size: str, depth: int) -> str:
        leaves = known[size] + [fresh("b")]
        if depth == 0:
            return choose(leaves)
        form = choose(["leaf", "one", "two", "product", "product", "sum"])
        if form == "leaf":
            return choose(leaves)
        if form == "one":
            return SAFE[choose(sorted(SAFE))].format(vector(size, depth - 1))
        if form == "two":
            pair = choose(PAIRS)
            return pair.format(vector(size, depth - 1), vector(size, depth - 1))
        if form == "sum":
            return f"{product(size)} + {product(size)} - {product(size)} + {fresh('b')}"
        return f"({product(size)})"

    def product(size: str) -> str:
        # an operand that starts with x or a state is never a constant
        sources = {name: one for one in SIZES for name in known[one]}
        operand = choose(sorted(sources))
        columns = sources[operand]
        form = choose(["name", "nested", "concat", "times"])
        if form == "nested":
            operand = f"tanh({fresh('M')} @ {operand})"
            return f"{fresh('M')} @ {operand}"
        if form == "concat":
            other = choose(sorted(sources))
            operand = f"concat({operand}, {other})"
            columns = f"{columns} and {sources[other]}"  # the other way round is another matrix
        if form == "times":
            operand = f"({operand} * {fresh('b')})"
        return f"{matrix(size, columns)} @ {operand}"

    def matrix(rows: str, columns: str) -> str:
        """A new one, or one that stands elsewhere already."""
        used = matrices.setdefault((rows, columns), [])
        if not used or choose([False, True]):
            used.append(fresh("M"))
        return choose(used)

    lines = [f"{state}: {size}" for state, size in sizes.items() if size == "extra"]
    for number in range(choose([0, 1, 2, 3])):
        size = choose(SIZES)
        lines += [f"v{number}: {size}", f"v{number} = {vector(size, 2)}"]
        known[size].append(f"v{number}")
    for state in states:
        lines.append(f"{state}' = {vector(sizes[state], 3)}")
        known[sizes[state]].append(state + "'")
    if "h" not in states or choose([False, True]):
        size = choose(SIZES)
        lines += [f"y: {size}", f"y = {vector(size, 2)}"]
    return "\n".join(lines)
