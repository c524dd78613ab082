"""The frame of a kernel in C: words in capitals are filled in."""

HEADER = (
    "T", "B", "together", "workers", "backwards", "ring", "fresh", "extra", "old", "new",
    "first_slot", "last_slot", "on", "red", "panel", "panel_size",
)  # fmt: skip

TAIL = """
APART void tail_LABEL(const Kernel *K, long t, long ip, long in, long w,
    long b0, long R, long j0, long J, const V *acc) {
  const long n = SIZE;
  LOOPS {
    const long b = b0 + r, j = (j0 + jj) * VL, count = n - j;
    const int on = !K->on || K->on[t * K->B + b];
    MASKS (void)on; (void)ip; (void)in; (void)w; (void)acc;
LINES
  }
}"""

NO_TILES = """
APART void level_LABEL(const Kernel *K, long t, long ip, long in, long w, long b0, long b1,
    long j0, long j1) {
  tail_LABEL(K, t, ip, in, w, b0, b1 - b0, j0, j1 - j0, 0);
}"""

COLUMN = """
static void column_LABEL(const Kernel *K, long t, long ip, long in, long w, long b0, long b1,
    long j) {
  for (long tiles = (b1 - b0 + HIGHEST - 1) / HIGHEST; tiles; tiles--) {
    const long height = (b1 - b0 + tiles - 1) / tiles; /* all of about the same height */
    switch (height) {
CASES
    }
    b0 += height;
  }
}"""

LEVEL = """
APART void level_LABEL(const Kernel *K, long t, long ip, long in, long w, long b0, long b1,
    long j0, long j1) {
  for (; j0 + WIDE <= j1; j0 += WIDE) column_LABEL_WIDE(K, t, ip, in, w, b0, b1, j0);
  for (; j0 < j1; j0++) column_LABEL_1(K, t, ip, in, w, b0, b1, j0);
}"""

ROWS = """
    for (long b0 = N * w / K->workers, b1, b2 = N * (w + 1) / K->workers; b0 < b2; b0 = b1) {
      b1 = b0 + CHUNK < b2 ? b0 + CHUNK : b2;
CALLS
    }"""

RUN = """
void run(const long *a) {
  volatile int gate[32] = {0};
  Kernel all = { FIELDS, .gate = gate + 16 };
#pragma omp parallel num_threads(all.together) if (all.together > 1)
  {
    Kernel own = all;
    const Kernel *K = &own;
    const long w = join(&own, all.together), N = K->T * K->B, t = 0, ip = K->old, in = K->new;
    (void)N; (void)t; (void)ip; (void)in;
    if (K->fresh) {
PACK
    }
ZERO
    if (!w) {
START
    }
#pragma omp barrier
BEFORE_ROWS
  }
#pragma omp parallel num_threads(all.workers) if (all.workers > 1)
  {
    Kernel own = all;
    const Kernel *K = &own;
    const long w = join(&own, all.workers);
    long turn = 0;
    for (long k = 0; k < K->T; k++) {
      const long t = K->backwards ? K->T - 1 - k : k;
      const long ip = K->ring ? (k & 1) : (K->backwards ? t + 1 : t);
      const long in = K->ring ? ((k + 1) & 1) : (K->backwards ? t : t + 1);
STEPS
END
    }
    (void)turn;
  }
#pragma omp parallel num_threads(all.together) if (all.together > 1)
  {
    Kernel own = all;
    const Kernel *K = &own;
    const long w = join(&own, all.together), N = K->T * K->B, t = 0, ip = K->old, in = K->new;
    (void)N; (void)t; (void)ip; (void)in;
    if (!w) {
STOP
    }
AFTER_ROWS
    if (K->extra) {
EXTRA_ROWS
    }
#pragma omp barrier
OUTERS
    if (!w) {
SUMS
    }
  }
}
"""
