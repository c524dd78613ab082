"""Matrix gradients in C: sums of outer products over all steps, by tiles of six rows."""


def outer_functions(registers: int) -> list[str]:
    """Tiles of each width that the registers allow, and the walk over both sides."""
    widest = registers // 6
    call = "(k, L, from, to, more, count); break;"
    cases = [f"            case {n}: micro_{n}{call}" for n in range(1, widest + 1)]
    text = OUTERS.replace("CASES", "\n".join(cases)).replace("VECTORS", str(widest))
    return [*(_micro(width) for width in range(1, widest + 1)), text]


def _micro(width: int) -> str:
    """One tile of a matrix gradient: six rows of it, `width` vectors."""
    every = [(i, v) for i in range(6) for v in range(width)]
    body = [
        f"    const V r{v} = *(const V *)(R + k * {width} * VL + {v} * VL);" for v in range(width)
    ]
    for i in range(6):
        adds = " ".join(f"c{i}_{v} += l * r{v};" for v in range(width))
        body.append(f"    {{ const V l = splat(L[k * 6 + {i}]); {adds} }}")
    ends = [f"  add_to(to[{i}], more[{i}], {v} * VL, count, c{i}_{v});" for i, v in every]
    return "\n".join([
        f"APART void micro_{width}(long rows, const real *L, const real *R, real **to,",
        "    const int *more, long count) {",
        *(f"  V c{i}_{v} = splat(0);" for i, v in every),
        "  for (long k = 0; k < rows; k++) {", *body, "  }", *ends, "}",
    ])  # fmt: skip


OUTERS = """
/* Matrix gradients: for each row of each left side and all right sides, the sum over all steps.
   Some columns of the right sides are laid out close together, then six rows go over them. */
static void outers(const Kernel *K, long w, const Side *left, long lefts, const Side *right,
                   long rights, const Target *target) {
  const long N = K->T * K->B, block = N < BLOCK ? N : BLOCK, wide = VECTORS * VL;
  long total = 0, rows[BLOCK];
  for (long i = 0; i < lefts; i++) total += left[i].n;
  const long sixes = (total + 5) / 6, end = sixes * (w + 1) / K->workers;
  real *R = K->panel + w * K->panel_size, *L = R + K->panel_size - 6 * block;
  for (long j = 0, c = 0; j < rights;) {
    struct { long j, c, vectors; } panel[PANELS];
    long panels = 0;
    for (; panels < PANELS && j < rights; panels++) {
      const long still = right[j].n - c;
      panel[panels].j = j, panel[panels].c = c;
      panel[panels].vectors = still < wide ? BLOCKS(still) : VECTORS;
      if ((c += wide) >= right[j].n) j++, c = 0;
    }
    for (long n0 = 0, later = 0; n0 < N; later = 1) {
      long k = 0;
      for (; n0 < N && k < block; n0++) if (!K->on || K->on[n0]) rows[k++] = n0;
      for (long q = 0; q < panels; q++) {
        const Side *one = &right[panel[q].j];
        real *to = R + q * wide * block;
        for (long i = 0; i < k; i++)
          for (long v = 0; v < panel[q].vectors; v++, to += VL) {
            const long at = panel[q].c + v * VL;
            *(V *)to = load(one->p + rows[i] * one->stride + at, one->n - at);
          }
      }
      for (long six = sixes * w / K->workers; six < end; six++) {
        long which[6], a[6];
        for (long i = 0; i < 6; i++) {
          a[i] = six * 6 + i, which[i] = 0;
          while (which[i] < lefts && a[i] >= left[which[i]].n) a[i] -= left[which[i]++].n;
        }
        if (which[0] == which[5] && which[0] < lefts) {
          const real *from = left[which[0]].p + a[0];
          const long stride = left[which[0]].stride;
          for (long r = 0; r < k; r++) memcpy(L + r * 6, from + rows[r] * stride, 6 * sizeof(real));
        } else {
          for (long i = 0; i < 6; i++)
            for (long r = 0; r < k; r++) {
              const Side *one = &left[which[i]];
              L[r * 6 + i] = which[i] < lefts ? one->p[rows[r] * one->stride + a[i]] : 0;
            }
        }
        for (long q = 0; q < panels; q++) {
          const long at = panel[q].j, c = panel[q].c, count = right[at].n - c;
          const real *from = R + q * wide * block;
          real *to[6];
          int more[6];
          for (long i = 0; i < 6; i++) {
            const Target *one = &target[which[i] * rights + at];
            to[i] = which[i] < lefts ? one->to + a[i] * one->ld + c : 0;
            more[i] = which[i] < lefts && (one->add || later);
          }
          switch (panel[q].vectors) {
CASES
          }
        }
      }
    }
  }
}"""
