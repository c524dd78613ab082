"""From statements to equations: each name gets its role, in the order of the lines, and a size."""

from collections import Counter

from unspool.equations import elsewhere, limits
from unspool.equations.errors import EquationError, Span
from unspool.equations.expr import Expr, Line, Name, Product, names, products, walk
from unspool.equations.functions import CALLABLE
from unspool.equations.parse import Assignment, Declaration, parse
from unspool.equations.program import Equations
from unspool.equations.sizes import HIDDEN, INPUT, Size, SizeClash, Solver, size_of, unknown

RESERVED = {"training": "torch modules have a flag of that name"}
RESERVED_SIZES = ("self", "input_size", "hidden_size")


def equations(text: str) -> Equations:
    """The text of a cell, read, checked and sized."""
    if not isinstance(text, str):
        raise EquationError(f"a cell is written as text, not as {type(text).__name__}")
    return _Reader(text.replace("\r\n", "\n").replace("\r", "\n")).read()


class _Reader:
    def __init__(self, text: str):
        self.text = text
        statements = parse(text)
        self.lines = [s for s in statements if isinstance(s, Assignment)]
        self.declared = [s for s in statements if isinstance(s, Declaration)]
        self.named = {item.name for item in self.declared}
        self.assigned = {line.name for line in self.lines}
        self.states = {name[:-1] for name in self.assigned if name.endswith("'")}
        self.vectors: dict[str, Span | None] = {}
        self.matrices: dict[str, tuple[Size, Size]] = {}
        self.sizes: dict[str, Size] = {"x": INPUT}
        self.solver = Solver()

    def error(self, problem: str, span: Span | None, hint: str) -> EquationError:
        return EquationError(problem, self.text, span, hint)

    def read(self) -> Equations:
        self.check_reserved()
        self.check_targets()
        self.check_limits()
        self.check_uses()
        self.check_declarations()
        output = self.find_output()
        self.infer_sizes()
        self.check_pieces()
        final = self.solver.final
        states = [line.name for line in self.lines if line.name.endswith("'")]
        states.sort(key=lambda name: name != output)
        return Equations(
            text=self.text,
            lines=tuple(Line(line.name, line.expr) for line in self.lines),
            carried={name[:-1]: name for name in states},
            output=output,
            matrices={
                m: (final(rows), final(columns)) for m, (rows, columns) in self.matrices.items()
            },
            vectors=tuple(self.vectors),
            sizes={name: final(size) for name, size in self.sizes.items()},
            constraints=tuple(self.solver.constraints),
        )

    def check_reserved(self) -> None:
        for line in self.lines:
            found: list[tuple[str, Span | None]] = [(line.name.removesuffix("'"), line.span)]
            for node in walk(line.expr):
                if isinstance(node, Name | Product):
                    name = node.id if isinstance(node, Name) else node.matrix
                    found.append((name.removesuffix("'"), node.span))
            for name, span in found:
                if name in RESERVED:
                    problem = f"{name} cannot be a name: {RESERVED[name]}"
                    raise self.error(problem, span, "use another one")
        for item in self.declared:
            if item.size in RESERVED_SIZES:
                hint = "input and hidden are the two sizes that every cell may use"
                raise self.error(f"a size cannot be called {item.size}", item.span, hint)

    def check_targets(self) -> None:
        seen: dict[str, int] = {}
        for line in self.lines:
            name, base = line.name, line.name.removesuffix("'")
            if base == "x":
                hint = "give the result another name"
                raise self.error("x is the input: no line assigns it", line.span, hint)
            if name in seen:
                hint = "every name is assigned once: give one of them another name"
                first = seen[name] + 1
                raise self.error(
                    f"{name} is assigned twice (first on line {first})", line.span, hint
                )
            if (base if name.endswith("'") else name + "'") in seen:
                hint = f"{base}' makes {base} a state and {base} its previous value: rename one"
                raise self.error(f"both {base} and {base}' are assigned", line.span, hint)
            seen[name] = line.span.line
        if not self.states:
            hint = "a cell carries at least one state: assign a primed name, for example h' = ..."
            span = self.lines[0].span if self.lines else None
            for line in self.lines:
                base, step = elsewhere.step_in_name(line.name) or (line.name, "t")
                if line.name == "h" or (base != line.name and step == "t"):
                    span = line.span
                    hint = (
                        f"write {base}' = ...: {base}' is the new state, {base} the one before it"
                    )
                    break
            raise self.error("no state is updated", span, hint)

    def check_limits(self) -> None:
        hint = "no cell needs as many: write it with fewer"
        if len(self.states) > limits.STATES:
            problem = f"there are {len(self.states)} states; {limits.STATES} are allowed"
            raise EquationError(problem, hint=hint)
        uses: Counter[str] = Counter()
        for line in self.lines:
            for node in walk(line.expr):
                if isinstance(node, Name | Product):
                    name = node.id if isinstance(node, Name) else node.matrix
                    uses[name] += 1
                    if uses[name] > limits.USES:
                        problem = f"{name} stands over {limits.USES} times, more than is allowed"
                        raise self.error(problem, node.span, hint)
        if uses.total() > limits.OPERANDS:
            problem = f"there are {uses.total():,} operands; {limits.OPERANDS:,} are allowed"
            raise EquationError(problem, hint=hint)
        parameters = len(uses.keys() - self.assigned - self.states)
        if parameters > limits.PARAMETERS:
            problem = f"there are {parameters} parameters; {limits.PARAMETERS} are allowed"
            raise EquationError(problem, hint=hint)

    def check_pieces(self) -> None:
        """Each line may double what the one before it has joined: a short text, a vast vector."""
        for line in self.lines:
            size = self.solver.final(self.sizes[line.name])
            if sum(size.copies.values()) > limits.PIECES or size.constant > limits.SIZE:
                problem = f"{line.name} joins over {limits.PIECES:,} vectors, more than are allowed"
                raise self.error(problem, line.span, "join fewer with concat")

    def check_uses(self) -> None:
        """Every name is the input, a state, an earlier line or a parameter."""
        ready = {"x"} | self.states
        for line in self.lines:
            for node in walk(line.expr):
                if isinstance(node, Product):
                    self.check_matrix(node)
                elif (
                    isinstance(node, Name) and node.id not in ready and node.id not in self.vectors
                ):
                    self.check_parameter(node, line.name)
            for node in products(line.expr):
                read = names(node.operand)
                if not read & ready:
                    hint = "if a name in it is a state, update it on a line of its own: name' = ..."
                    meant = [n for n in sorted(ready) if n in {name.lower() for name in read}]
                    hint = f"write {meant[0]}, in small letters" if meant else hint
                    problem = "this product never changes: no input, state or line is in it"
                    raise self.error(problem, node.span, hint)
            ready.add(line.name)

    def check_matrix(self, node: Product) -> None:
        name = node.matrix
        if name in self.vectors:
            hint = "use two names for the two parameters"
            problem = f"{name} is used as a matrix here and as a vector elsewhere"
            raise self.error(problem, node.span, hint)
        if name == "x" or name.removesuffix("'") in self.states or name in self.assigned:
            hint = "multiply two vectors element by element with `*`"
            problem = f"the left of `@` is a matrix parameter, and {name} is a vector"
            raise self.error(problem, node.span, hint)
        if name.endswith("'"):
            hint = f"write {name[:-1]} @ ...; a transposed matrix is a parameter of another name"
            raise self.error("a matrix has no prime", node.span, hint)
        self.matrices.setdefault(name, (unknown(f"{name}.rows"), unknown(f"{name}.columns")))

    def check_parameter(self, node: Name, line: str) -> None:
        """A name that nothing so far explains: a vector parameter, unless it looks like a slip."""
        name, span = node.id, node.span
        if name in self.assigned:
            hint = "assign it on an earlier line"
            if name.endswith("'"):
                hint += f"; the state's previous value is {name[:-1]}"
            elif name == line:
                hint = f"make it a state, {name}' = ..., or give the result another name"
            raise self.error(f"{name} is used before it is assigned", span, hint)
        if name.endswith("'") or name == "h":
            state = name.removesuffix("'")
            hint = f"add a line `{state}' = ...`"
            raise self.error(f"the state {state} is never updated", span, hint)
        found = elsewhere.step_in_name(name)
        if found and found[0] in self.states | {"x"} and name not in self.named:
            problem = f"{name} would be a trained parameter, not a value of {found[0]}"
            raise self.error(problem, span, elsewhere.about_step(*found))
        if name in self.matrices:
            hint = "use two names for the two parameters"
            problem = f"{name} is used as a vector here and as a matrix elsewhere"
            raise self.error(problem, span, hint)
        if name in CALLABLE:
            raise self.error(f"{name} is a function", span, f"call it: {name}(...)")
        self.vectors[name] = span
        self.sizes[name] = unknown(name)

    def check_declarations(self) -> None:
        done: set[str] = set()
        for item in self.declared:
            if item.name in done:
                raise self.error(f"{item.name} is declared twice", item.span, "keep one of them")
            if item.name in self.matrices:
                hint = "its shape follows from the equations: declare the vector it gives instead"
                raise self.error(f"{item.name} is a matrix", item.span, hint)
            if item.name not in self.assigned | self.states | set(self.vectors) | {"x"}:
                hint = f"assign it, a state as {item.name}' = ..., or remove the declaration"
                raise self.error(f"no equation has {item.name}", item.span, hint)
            done.add(item.name)

    def find_output(self) -> str:
        if "y" in self.assigned:
            return "y"
        if "h" in self.states or len(self.states) == 1:
            return "h'" if "h" in self.states else next(iter(self.states)) + "'"
        listed = ", ".join(sorted(self.states))
        hint = "add a line `y = ...` that says what the cell puts out"
        if "y" in self.states:
            hint = "name the state that is the output h', or compute it on a line of its own"
        raise EquationError(f"no line defines the output: the states are {listed}", hint=hint)

    def infer_sizes(self) -> None:
        for state in self.states:
            self.sizes[state] = HIDDEN
        for item in self.declared:
            size = Size((), item.size) if isinstance(item.size, int) else Size.of(item.size)
            if item.name == "x":
                self.equate(INPUT, size, Name("x", span=item.span), Name("x", span=item.span))
            self.sizes[item.name] = size
        for line in self.lines:
            found = size_of(
                line.expr, self.sizes.__getitem__, self.matrices.__getitem__, self.equate
            )
            found = unknown(line.name) if found is None else found
            expected = self.sizes.get(line.name.removesuffix("'"), found)
            self.equate(expected, found, Name(line.name, span=line.span), line.expr)
            self.sizes[line.name] = expected
        try:
            self.solver.finish()
        except SizeClash as clash:
            hint = "check what concat joins and what its result is added to"
            raise self.error("the sizes of this line cannot agree", clash.span, hint) from None

    def equate(self, a: Size, b: Size, first: Expr, second: Expr) -> None:
        span = first.span if second.span is None else second.span
        try:
            self.solver.equate(a, b, span)
        except SizeClash:
            one, two = self.solver.final(a), self.solver.final(b)
            hint = "element-wise operators need equal sizes; a matrix, M @ v, changes a size"
            problem = f"sizes cannot agree: {two} here, {one} beside it"
            raise self.error(problem, span, hint) from None
