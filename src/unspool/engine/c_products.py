"""Products of a kernel in C: tiles of several heights, operands, packed matrices."""

from collections.abc import Callable

from unspool.engine.c_spec import Group, Kernel, Spec
from unspool.engine.c_templates import COLUMN, LEVEL
from unspool.engine.items import Accumulate, Term
from unspool.equations.sizes import Size

Place = Callable[[str], tuple[str, str]]  # of a name: a pointer and a stride


class Products:
    def __init__(self, spec: Spec, out: Kernel, registers: int, place: Place):
        """`registers`: accumulators of a tile."""
        self.spec, self.out, self.registers, self.place = spec, out, registers, place

    def tiles(self, label: str, size: Size, sums: list[Accumulate], half: bool) -> str:
        """Tiles of several heights, and the walk of a worker over its units and rows."""
        by_operand: dict[str, list[tuple[int, Term]]] = {}
        for k, item in enumerate(sums):
            for term in item.terms:
                by_operand.setdefault(term.operand, []).append((k, term))
        first = len(self.out.groups)
        for operand, terms in by_operand.items():
            self.out.groups.append(Group(size, operand, tuple(terms), half))
        groups = list(enumerate(self.out.groups))[first:]
        wide = max(1, 4 // len(sums))
        highest = max(1, min(6, self.registers // (len(sums) * wide)))
        text = []
        for J in sorted({wide, 1}):
            heights = range(1, highest + 1)
            text += [self.tile(label, groups, len(sums), height, J) for height in heights]
            cases = [
                f"      case {h}: tile_{label}_{h}_{J}(K, t, ip, in, w, b0, j); break;"
                for h in heights
            ]
            column = COLUMN.replace("LABEL", f"{label}_{J}").replace("HIGHEST", str(highest))
            text.append(column.replace("CASES", "\n".join(cases)))
        return "\n".join([*text, LEVEL.replace("LABEL", label).replace("WIDE", str(wide))])

    def tile(
        self, label: str, groups: list[tuple[int, Group]], sums: int, height: int, J: int
    ) -> str:
        """Sums of products for `height` rows and J vectors of units, all in registers."""
        every = [(k, jj, r) for k in range(sums) for jj in range(J) for r in range(height)]
        text = [
            f"APART void tile_{label}_{height}_{J}(const Kernel *K, long t, long ip, long in,",
            "    long w, long b0, long j0) {",
            *(f"  V c{k}_{jj}_{r} = splat(0);" for k, jj, r in every),
        ]
        patterns: dict[tuple[int, ...], list[tuple[int, Group]]] = {}
        for g, group in groups:
            patterns.setdefault(tuple(k for k, _ in group.terms), []).append((g, group))
        for accumulators, alike in patterns.items():
            count = len(accumulators)
            multiply = "add_pairs" if alike[0][1].half else "add_product"
            sides = [f"{{ {self.operand(g, group)} }}" for g, group in alike]
            text += [
                f"  {{ const Operand operands[] = {{ {', '.join(sides)} }};",
                f"    for (long g = 0; g < {len(alike)}; g++) {{",
                "      const long lda = operands[g].stride, m = operands[g].n;",
                f"      const long block = m * {count} * VL;",
                "      const real *a = operands[g].p + b0 * lda;",
                "      const real *at = operands[g].packed + j0 * block;",
                f"      for (long k = 0; k < m; k++, at += {count} * VL) {{",
                *(f"        const V a{r} = every(a + {r} * lda + k);" for r in range(height)),
            ]
            for jj in range(J):
                for i, k in enumerate(accumulators):
                    weight = f"*(const V *)(at + {jj} * block + {i} * VL)"
                    sums_at = [f"c{k}_{jj}_{r}" for r in range(height)]
                    adds = " ".join(
                        f"{c} = {multiply}({c}, weight, a{r});" for r, c in enumerate(sums_at)
                    )
                    text.append(f"        {{ const V weight = {weight}; {adds} }}")
            text += ["      }", "    }", "  }"]
        values = ", ".join(f"c{k}_{jj}_{r}" for k, jj, r in every)
        text += [f"  const V acc[] = {{ {values} }};"]
        return "\n".join(
            [*text, f"  tail_{label}(K, t, ip, in, w, b0, {height}, j0, {J}, acc);", "}"]
        )

    def operand(self, g: int, group: Group) -> str:
        (pointer, stride), m = self.place(group.operand), self.spec.sizes[group.operand]
        if group.half:
            pairs = f"PAIRS({self.out.size(m)})"
            return f"K->half[{g}] + w * K->B * {pairs}, K->packed[{g}], {pairs}, {pairs}"
        return f"{pointer}, K->packed[{g}], {stride}, {self.out.size(m)}"

    def halving(self, g: int, group: Group) -> str:
        """Each worker has the vectors that it reads as pairs of bfloat16."""
        (pointer, stride), m = self.place(group.operand), self.spec.sizes[group.operand]
        n = self.out.size(m)
        return f"halve({pointer}, {stride}, K->B, {n}, K->half[{g}] + w * K->B * PAIRS({n}));"

    def packing(self) -> str:
        calls, matrix = [], 0
        for g, group in enumerate(self.out.groups):
            n, m = self.out.size(group.size), self.out.size(self.spec.sizes[group.operand])
            for i, (_, term) in enumerate(group.terms):
                where = f"K->m[{matrix}], K->rs[{matrix}], K->cs[{matrix}], {term.sign}"
                into = f"K->packed[{g}], {len(group.terms)}, {i}"
                pack = "pack_pairs" if group.half else "pack"
                calls.append(f"    {pack}({into}, {where}, {n}, {m}, w, K->workers);")
                matrix += 1
        return "\n".join(calls)
