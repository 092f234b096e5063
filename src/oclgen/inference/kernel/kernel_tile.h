/* What all parts of the kernel are made of: vectors, the register tile `c += a b`, linear layers, norms, softmax.
 *
 * Everything here is compiled into each part that includes it, once per instruction set (kernel.c).
 */
#ifndef OCLGEN_KERNEL_TILE_H
#define OCLGEN_KERNEL_TILE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define GLUE(name, variant) name##_##variant
#define EXPAND(name, variant) GLUE(name, variant)
#define PUBLIC(name) EXPAND(name, VARIANT)
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define INLINE static inline __attribute__((always_inline))
#define SHARED static __attribute__((unused))

enum { LANES = 8, PANEL = 16, ROW_BLOCK = 48, AHEAD = 1024 };
#if defined(__AVX__) || defined(__aarch64__)
enum { TILE = 6 }; /* 12 sums, 2 operands and a broadcast fill the 16 registers of AVX2 */
#else
enum { TILE = 2 };
#endif

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t ivec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

/* ---- vectors -------------------------------------------------------------------------------------------------- */

INLINE vec splat(float value) { return (vec){value, value, value, value, value, value, value, value}; }

INLINE vec larger(vec a, vec b) {
    ivec mask = a > b;
    return (vec)(((ivec)a & mask) | ((ivec)b & ~mask));
}

INLINE float sum_of(vec v) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }

/* e^x to 2 units in the last place, x clamped to where the result is a normal number. */
INLINE vec exponential(vec x) {
    x = larger(x, splat(-87.0f));
    x = -larger(-x, splat(-88.0f));
    const vec magic = splat(12582912.0f); /* adding 1.5 * 2^23 rounds to an integer */
    vec shifted = x * 1.44269504f + magic;
    vec n = shifted - magic;
    vec f = x - n * 0.693359375f + n * 2.12194440e-4f;
    vec p = splat(1.9875691500e-4f);
    p = p * f + 1.3981999507e-3f;
    p = p * f + 8.3334519073e-3f;
    p = p * f + 4.1665795894e-2f;
    p = p * f + 1.6666665459e-1f;
    p = p * f + 5.0000001201e-1f;
    p = p * f * f + f + 1.0f;
    ivec exponent = ((ivec)shifted - (ivec)magic + 127) << 23;
    return p * (vec)exponent;
}

/* GPT-2's gelu: x (1 + tanh(u)) / 2 = x / (1 + e^(-2u)). */
INLINE vec gelu_tanh(vec x) {
    vec u = 0.79788456080f * (x + 0.044715f * x * x * x);
    return x / (1.0f + exponential(-2.0f * u));
}

/* BERT's gelu: x (1 + erf(x / sqrt 2)) / 2, with Abramowitz and Stegun 7.1.26 (error 1.5e-7). */
INLINE vec gelu_erf(vec x) {
    vec z = larger(x, -x) * 0.70710678119f;
    vec t = 1.0f / (1.0f + 0.3275911f * z);
    vec p = splat(1.061405429f);
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    vec tail = 0.5f * p * t * exponential(-z * z); /* 1 - Phi(|x|) */
    ivec negative = x < splat(0.0f);
    return x * (vec)(((ivec)tail & negative) | ((ivec)(1.0f - tail) & ~negative));
}

/* ---- the tile ------------------------------------------------------------------------------------------------- */

/* c[r][16 panels] += a[r][depth] b[depth][16 panels], where a[r] and c[r] are rows anywhere in memory; `rows` and
 * `panels` are constants at every call. */
INLINE void tile(const int rows, const int panels, int depth, const float *const *a, const float *b, ptrdiff_t b_stride,
                 ptrdiff_t panel_stride, float *const *c, ptrdiff_t column) {
    vec sum[TILE][2 * 4];
    const float *left[TILE];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        left[r] = a[r];
#pragma GCC unroll 8
        for (int j = 0; j < 2 * panels; j++)
            sum[r][j] = *(const vec *)(c[r] + column + j * LANES);
    }
    for (int k = 0; k < depth; k++, b += b_stride) {
        __builtin_prefetch(b + AHEAD); /* weights and caches come from far away, in order */
        vec right[2 * 4];
#pragma GCC unroll 8
        for (int j = 0; j < 2 * panels; j++)
            right[j] = *(const vec *)(b + (j / 2) * panel_stride + (j % 2) * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            vec factor = splat(left[r][k]);
#pragma GCC unroll 8
            for (int j = 0; j < 2 * panels; j++)
                sum[r][j] += factor * right[j];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int j = 0; j < 2 * panels; j++)
            *(vec *)(c[r] + column + j * LANES) = sum[r][j];
}

/* Few rows take several panels at once: otherwise each product would wait for the one before it. */
INLINE void wide_tiles(const int rows, const int wide, int panels, int depth, const float *const *a, const float *b,
                       ptrdiff_t b_stride, ptrdiff_t panel_stride, float *const *c) {
    int p = 0;
    for (; p + wide <= panels; p += wide)
        tile(rows, wide, depth, a, b + p * panel_stride, b_stride, panel_stride, c, p * PANEL);
    for (; wide > 2 && p + 2 <= panels; p += 2)
        tile(rows, 2, depth, a, b + p * panel_stride, b_stride, panel_stride, c, p * PANEL);
    for (; p < panels; p++)
        tile(rows, 1, depth, a, b + p * panel_stride, b_stride, panel_stride, c, p * PANEL);
}

/* c[r][16 panels] += a[r] b for at most TILE rows. */
SHARED void scattered_strip(int rows, int panels, int depth, const float *const *a, const float *b, ptrdiff_t b_stride,
                            ptrdiff_t panel_stride, float *const *c) {
#define CASE(count, wide)                                                                                              \
    case count:                                                                                                        \
        wide_tiles(count, wide, panels, depth, a, b, b_stride, panel_stride, c);                                       \
        return;
    switch (rows) {
        CASE(1, 4)
        CASE(2, 2)
#if defined(__AVX__) || defined(__aarch64__)
        CASE(3, 2)
        CASE(4, 1)
        CASE(5, 1)
        CASE(6, 1)
#endif
    }
#undef CASE
}

/* The same with rows at equal distances. */
SHARED void strip(int rows, int panels, int depth, const float *a, ptrdiff_t a_stride, const float *b,
                  ptrdiff_t b_stride, ptrdiff_t panel_stride, float *c, ptrdiff_t c_stride) {
    const float *left[TILE];
    float *sums[TILE];
    for (int r = 0; r < rows; r++) {
        left[r] = a + r * a_stride;
        sums[r] = c + r * c_stride;
    }
    scattered_strip(rows, panels, depth, left, b, b_stride, panel_stride, sums);
}

/* Rows of the next strip when `left` remain: strips of even height, so that none is left with a single row. */
INLINE int strip_height(int left) {
    int strips = (left + TILE - 1) / TILE;
    return (left + strips - 1) / strips;
}

/* y[rows][outputs] += x[rows][inputs] w, with w in panels; few rows: each panel is read once for all strips. */
SHARED void multiply(int rows, int inputs, int outputs, const float *x, const float *w, float *y) {
    if (rows <= TILE) {
        strip(rows, outputs / PANEL, inputs, x, inputs, w, PANEL, (ptrdiff_t)inputs * PANEL, y, outputs);
        return;
    }
    for (int p = 0; p < outputs; p += PANEL, w += (ptrdiff_t)inputs * PANEL)
        for (int r = 0, height; r < rows; r += height) {
            height = strip_height(rows - r);
            strip(height, 1, inputs, x + (ptrdiff_t)r * inputs, inputs, w, PANEL, 0, y + (ptrdiff_t)r * outputs + p,
                  outputs);
        }
}

SHARED void linear(int rows, int inputs, int outputs, const float *x, const float *w, const float *bias, float *y) {
    for (int r = 0; r < rows; r++)
        memcpy(y + (ptrdiff_t)r * outputs, bias, sizeof(float) * outputs);
    multiply(rows, inputs, outputs, x, w, y);
}

/* y += x w + bias: the residual stream. */
SHARED void add_linear(int rows, int inputs, int outputs, const float *x, const float *w, const float *bias, float *y) {
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < outputs; j += LANES)
            *(vec *)(y + (ptrdiff_t)r * outputs + j) += *(const vec *)(bias + j);
    multiply(rows, inputs, outputs, x, w, y);
}

/* ---- rows ----------------------------------------------------------------------------------------------------- */

INLINE int whole_panels(int length) { return (length + PANEL - 1) / PANEL * PANEL; }

INLINE void hide(float *scores, int from, int to) {
    for (int j = from; j < to; j++)
        scores[j] = -1e30f;
}

/* Exponentials of scores against the largest; returns one over their sum. */
SHARED float soften(float *scores, int count) {
    vec largest = *(vec *)scores, total = splat(0.0f);
    for (int j = LANES; j < count; j += LANES)
        largest = larger(largest, *(vec *)(scores + j));
    float top = largest[0];
    for (int j = 1; j < LANES; j++)
        top = largest[j] > top ? largest[j] : top;
    for (int j = 0; j < count; j += LANES) {
        vec e = exponential(*(vec *)(scores + j) - top);
        *(vec *)(scores + j) = e;
        total += e;
    }
    return 1.0f / sum_of(total);
}

#endif
