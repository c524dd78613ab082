/* What every kernel starts with: vectors, their functions, and the place where workers meet.
   No fast-math: it would fold the range reduction of exp away. */
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#define SPINS 60000 /* longer than an ordinary step, or workers would sleep in each */
#ifdef _OPENMP
#include <omp.h>
#endif
typedef REAL real; /* float or double: -DREAL=... */
#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define VL ((long)(BYTES / sizeof(real)))
typedef real V __attribute__((vector_size(BYTES), aligned(sizeof(real)), may_alias));
/* A compiler gets through functions quickly one by one, and slowly where they grow together. */
#define APART static __attribute__((noinline))
#define IS_FLOAT (sizeof(real) == 4)
typedef int32_t VI __attribute__((vector_size(BYTES), aligned(4), may_alias));
typedef struct {
  long T, B, together, workers, backwards, ring, fresh, extra, old, new, first_slot, last_slot;
  const unsigned char *on; real *red, *panel; long panel_size;
  const long *n, *ms;
  real **p, **s, **first, **last;
  real **m; const long *rs, *cs;
  real **packed, **half, **sum, **vec, **grad; const long *gs;
  volatile int *gate;
} Kernel;
/* A vector that a product reads at some step, and the matrix laid out for it. */
typedef struct { const real *p, *packed; long stride, n; } Operand;
/* A vector over all steps, and a matrix that outer products of two such are added up for. */
typedef struct { const real *p; long stride, n; } Side;
typedef struct { real *to; long ld; int add; } Target;
#define PAIRS(n) (((n) + 1) / 2)
#define BLOCKS(n) (((n) + VL - 1) / VL)
#define SLICE(n) BLOCKS(n) * w / K->workers, BLOCKS(n) * (w + 1) / K->workers
enum { CHUNK = 48, BLOCK = 256, PANELS = 8 }; /* rows and columns that are taken at a time */
static inline V splat(real x) { return x - (V){0}; }
static inline V every(const real *p) { return splat(*p); } /* a copy of the bits, pairs too */
static inline V add_product(V sum, V a, V b) { return sum + a * b; }
APART V load_some(const real *p, long count) {
  V v = splat(0);
  for (long i = 0; i < count; i++) v[i] = p[i];
  return v;
}
APART void store_some(real *p, V v, long count) {
  for (long i = 0; i < count; i++) p[i] = v[i];
}
static inline V load(const real *p, long count) {
  return count >= VL ? *(const V *)p : load_some(p, count);
}
static inline void store(real *p, V v, long count) {
  if (count >= VL) *(V *)p = v;
  else store_some(p, v, count);
}
static inline V pick(__typeof__((V){0} < (V){0}) mask, V a, V b) {
  typedef __typeof__(mask) M;
  return (V)(((M)a & mask) | ((M)b & ~mask));
}
/* Everybody waits here for everybody: a counter that only grows, so that no turn is mistaken.
   Who has waited long goes to sleep: another process may need the core, or the very worker that
   everybody waits for. */
#ifdef __linux__
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
static void doze(volatile int *gate, volatile int *asleep, int seen) {
  __atomic_add_fetch(asleep, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, gate, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  __atomic_sub_fetch(asleep, 1, __ATOMIC_SEQ_CST);
}
static void rouse(volatile int *gate, volatile int *asleep) {
  if (__atomic_load_n(asleep, __ATOMIC_SEQ_CST))
    syscall(SYS_futex, gate, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
#else
static void doze(volatile int *gate, volatile int *asleep, int seen) { sched_yield(); }
static void rouse(volatile int *gate, volatile int *asleep) {}
#endif
static void meet(const Kernel *K, long *turn) {
  if (K->workers == 1) return;
  const int goal = (int)(++*turn * K->workers);
  if (__atomic_add_fetch(K->gate, 1, __ATOMIC_SEQ_CST) - goal >= 0) {
    rouse(K->gate, K->gate - 16);
    return;
  }
  for (int seen, spins = 0; (seen = __atomic_load_n(K->gate, __ATOMIC_SEQ_CST)) - goal < 0; spins++)
    if (spins > SPINS) doze(K->gate, K->gate - 16, seen);
}
#ifdef HALF
/* Two bfloat16 stand in the place of a float; their products are added up in float. */
#include <immintrin.h>
static inline V add_pairs(V sum, V a, V b) {
  return (V)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
}
static inline uint32_t to_half(float x) { /* to the nearest, ties to even */
  uint32_t bits;
  memcpy(&bits, &x, 4);
  if (x != x) return bits >> 16 | 64;
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}
static void halve(const real *p, long stride, long rows, long n, real *to) {
  for (long b = 0; b < rows; b++, p += stride, to += PAIRS(n)) {
    uint32_t *pairs = (uint32_t *)to;
    for (long k = 0; k < n / 2; k++) pairs[k] = to_half(p[2 * k]) | to_half(p[2 * k + 1]) << 16;
    if (n & 1) pairs[n / 2] = to_half(p[n - 1]);
  }
}
static void pack_pairs(real *to, long count, long i, const real *m, long rs, long cs, real sign,
                       long n, long columns, long w, long workers) {
  for (long j = BLOCKS(n) * w / workers; j < BLOCKS(n) * (w + 1) / workers; j++)
    for (long k = 0; k < columns; k += 2) {
      uint32_t *pairs = (uint32_t *)(to + ((j * PAIRS(columns) + k / 2) * count + i) * VL);
      for (long l = 0; l < VL; l++) {
        const long row = j * VL + l;
        const real *at = m + row * rs + k * cs;
        const uint32_t low = row < n ? to_half(sign * at[0]) : 0;
        pairs[l] = low | (row < n && k + 1 < columns ? to_half(sign * at[cs]) << 16 : 0);
      }
    }
}
#endif
/* A worker's number; there may be fewer workers than were asked for. */
static long join(Kernel *K, long asked) {
  K->workers = 1;
#ifdef _OPENMP
  if (asked > 1) {
    K->workers = omp_get_num_threads();
    return omp_get_thread_num();
  }
#endif
  return 0;
}
APART void add_to(real *row, int more, long at, long count, V v) {
  if (!row) return;
  if (more) v = v + load(row + at, count - at);
  store(row + at, v, count - at);
}
static void zero_sum(const Kernel *K, real *sum, long n, long w) {
  for (; w < K->together; w += K->workers)
    for (long j = 0; j < n + VL; j++) sum[w * (n + VL) + j] = 0;
}
static void finish_sum(const Kernel *K, const real *sum, real *to, long n) {
  for (long j = 0; j < n; j++) {
    real all = 0;
    for (long w = 0; w < K->together; w++) all += sum[w * (n + VL) + j];
    to[j] = all;
  }
}
#define EACH(x, f) \
  ({ V _x = (x), _y; for (int _i = 0; _i < VL; _i++) _y[_i] = (real)f(_x[_i]); _y; })
/* e^r - 1 times 2^n, and 2^n: range reduction by rounding to a whole number of ln 2 */
static inline void split_exp(V x, V *scaled, V *two_n) {
  const V shift = splat((real)12582912.0);
  V k = x * splat((real)1.44269504088896341) + shift;
  const VI bits = (VI)k;
  k = k - shift;
  V r = x - k * splat((real)0.693359375);
  r = r - k * splat((real)-2.12194440e-4);
  V y = splat((real)1.9875691500e-4);
  y = y * r + splat((real)1.3981999507e-3);
  y = y * r + splat((real)8.3334519073e-3);
  y = y * r + splat((real)4.1665795894e-2);
  y = y * r + splat((real)1.6666665459e-1);
  y = y * r + splat((real)5.0000001201e-1);
  y = y * r * r + r;
  *two_n = (V)((bits - 0x4B400000 + 127) << 23);
  *scaled = y * *two_n;
}
/* Between low and high; NaN stays NaN. The builtins are one instruction each, where the general
   form is four; their header would double the time that a kernel takes to compile. */
static inline V clamp(V x, real low, real high) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (IS_FLOAT) {
    typedef float F __attribute__((vector_size(64)));
    const F above = __builtin_ia32_maxps512_mask((F)splat(low), (F)x, (F)x, -1, 4);
    return (V)__builtin_ia32_minps512_mask((F)splat(high), above, above, -1, 4);
  }
#endif
  x = pick(x < splat(low), splat(low), x);
  return pick(x > splat(high), splat(high), x);
}
static inline V fast_exp(V x) {
  V y, two_n;
  split_exp(clamp(x, (real)-87.3, (real)88.3), &y, &two_n);
  return y + two_n;
}
static inline V fast_expm1(V x) {
  V y, two_n;
  split_exp(x, &y, &two_n);
  return y + (two_n - splat(1));
}
static inline V f_exp(V x) {
  if (!IS_FLOAT) return EACH(x, exp);
  V y = fast_exp(x);
  y = pick(x > splat((real)88.3), EACH(x, expf), y);
  return pick(x < splat((real)-87.3), splat(0), y);
}
static inline V f_sigmoid(V x) {
  if (!IS_FLOAT) { V e = EACH(-x, exp); return splat(1) / (splat(1) + e); }
  return splat(1) / (splat(1) + fast_exp(-x));
}
static inline V f_tanh(V x) {
  if (!IS_FLOAT) return EACH(x, tanh);
  V e = fast_expm1(clamp(x + x, (real)-20, (real)20));
  return e / (e + splat(2));
}
static inline V f_relu(V x) { return pick(x <= splat(0), splat(0), x); }
static inline V f_abs(V x) { return pick(x < splat(0), -x, x); }
static inline V f_log(V x) { return IS_FLOAT ? EACH(x, logf) : EACH(x, log); }
static inline V f_sqrt(V x) { return IS_FLOAT ? EACH(x, sqrtf) : EACH(x, sqrt); }
static inline V f_sin(V x) { return IS_FLOAT ? EACH(x, sinf) : EACH(x, sin); }
static inline V f_cos(V x) { return IS_FLOAT ? EACH(x, cosf) : EACH(x, cos); }
static inline V f_softplus(V x) {
  V e = f_exp(-f_abs(x));
  V l = IS_FLOAT ? EACH(e, log1pf) : EACH(e, log1p);
  return pick(x > splat(0), x, splat(0)) + l;
}
static inline V f_minimum(V a, V b) { return pick((a < b) | (a != a), a, b); }
static inline V f_maximum(V a, V b) { return pick((a > b) | (a != a), a, b); }
static inline V f_step(V x) { return pick(x > splat(0), splat(1), splat(0)); }
static inline V f_sign(V x) {
  return pick(x > splat(0), splat(1), pick(x < splat(0), splat(-1), splat(0)));
}
static inline V f_below(V a, V b) {
  return pick(a < b, splat(1), pick(a == b, splat((real)0.5), splat(0)));
}
static inline V f_power2(V x) { return x * x; }
static inline V f_power3(V x) { return x * x * x; }
static inline V f_power(double k, V x) {
  V y;
  for (int i = 0; i < VL; i++)
    y[i] = IS_FLOAT ? (real)powf((float)x[i], (float)k) : (real)pow(x[i], k);
  return y;
}
/* The mean of n numbers, and of their squared distance from a centre: lanes add up side by side. */
static real mean_of(const real *p, long n, real centre, int squared) {
  V all = splat(0);
  for (long j = 0; j < n; j += VL) {
    V d = load(p + j, n - j) - splat(centre);
    if (n - j < VL)
      for (long l = n - j; l < VL; l++) d[l] = 0;
    if (squared) d = d * d;
    all = all + d;
  }
  double sum = 0;
  for (long l = 0; l < VL; l++) sum += all[l];
  return (real)(sum / n);
}
APART void reduce_mean(const real *p, long stride, long b0, long b1, long n, real *out) {
  for (long b = b0; b < b1; b++) out[b] = mean_of(p + b * stride, n, 0, 0);
}
APART void reduce_rstd(const real *p, long stride, long b0, long b1, long n, real *out) {
  for (long b = b0; b < b1; b++) {
    const real mean = mean_of(p + b * stride, n, 0, 0);
    out[b] = (real)(1 / sqrt(mean_of(p + b * stride, n, mean, 1) + LAYER_NORM_EPS));
  }
}
#if defined(__GNUC__) && !defined(__clang__)
/* A square of VL x VL numbers, transposed: halves change places, then quarters, and so on. */
static void turn(const real *from, long rows_apart, real *to, long apart, real sign) {
  typedef __typeof__((V){0} < (V){0}) M;
  V a[VL];
  for (long i = 0; i < VL; i++) a[i] = splat(sign) * *(const V *)(from + i * rows_apart);
  for (long h = VL / 2; h; h /= 2) {
    M low, high;
    for (long i = 0; i < VL; i++) {
      low[i] = i & h ? VL + i - h : i;
      high[i] = i & h ? VL + i : i + h;
    }
    for (long i = 0; i < VL; i++)
      if (!(i & h)) {
        const V x = a[i], y = a[i + h];
        a[i] = __builtin_shuffle(x, y, low), a[i + h] = __builtin_shuffle(x, y, high);
      }
  }
  for (long i = 0; i < VL; i++) *(V *)(to + i * apart) = a[i];
}
#define TURNS 1
#else
#define TURNS 0
#define turn(...) ((void)0)
#endif
/* One of `count` matrices side by side: for each VL units, for each column, VL weights of each. */
static void pack(real *to, long count, long i, const real *m, long rs, long cs, real sign, long n,
                 long columns, long w, long workers) {
  for (long j = BLOCKS(n) * w / workers; j < BLOCKS(n) * (w + 1) / workers; j++) {
    real *d = to + (j * columns * count + i) * VL;
    const real *from = m + j * VL * rs;
    if (rs == 1) {
      for (long k = 0; k < columns; k++)
        *(V *)(d + k * count * VL) = splat(sign) * load(from + k * cs, n - j * VL);
      continue;
    }
    const long rows = n - j * VL < VL ? n - j * VL : VL;
    long k = 0;
    if (TURNS && cs == 1 && rows == VL)
      for (; k + VL <= columns; k += VL) turn(from + k, rs, d + k * count * VL, count * VL, sign);
    for (; k < columns; k++) {
      real *to_k = d + k * count * VL;
      for (long l = 0; l < rows; l++) to_k[l] = sign * from[l * rs + k * cs];
      for (long l = rows; l < VL; l++) to_k[l] = 0;
    }
  }
}
