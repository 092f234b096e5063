/* Transformer blocks on one thread: everything is one register tile, `c += a b`, over operands already in tile order.
 *
 * Weights are packed once into panels of 16 outputs, [outputs / 16][inputs][16]. Keys are cached in the same form, 16
 * positions a panel, values as plain rows, so attention uses the same tile as the linear layers. Every sum runs in one
 * fixed order, therefore a row's result does not depend on the rows that share its batch. All sizes are multiples of 16
 * (the caller pads with zeros); only lengths of sequences are free. Nothing is global: calls may run in parallel.
 *
 * Compiled once per instruction set, with the name of the set in VARIANT.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GLUE(name, variant) name##_##variant
#define EXPAND(name, variant) GLUE(name, variant)
#define PUBLIC(name) EXPAND(name, VARIANT)
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define INLINE static inline __attribute__((always_inline))

enum { LANES = 8, PANEL = 16, ROW_BLOCK = 48, AHEAD = 1024 };
#if defined(__AVX__) || defined(__aarch64__)
enum { TILE = 6 }; /* 12 sums, 2 operands and a broadcast fill the 16 registers of AVX2 */
#else
enum { TILE = 2 };
#endif

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t ivec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

typedef struct {
    const float *norm1_weight, *norm1_bias, *attention_weight, *attention_bias, *projection_weight, *projection_bias;
    const float *norm2_weight, *norm2_bias, *up_weight, *up_bias, *down_weight, *down_bias;
} block;

typedef struct {
    const block *blocks;
    int32_t layers, heads, width, inner;
    int32_t norm_width; /* width before padding */
    int32_t encoder;    /* 1: BERT (norms after, exact gelu, caches hold one layer only); 0: GPT-2 */
    float epsilon;
} model;

/* Consecutive rows of the batch that extend one cache. A cache is [layers][keys, values][heads][capacity * head]. */
typedef struct {
    const float *prefix; /* cache that these rows see before their own */
    float *own;          /* cache to which they are appended */
    int32_t prefix_length, prefix_capacity, own_capacity;
    int32_t start, rows; /* position in the own cache of the first row; number of rows */
} segment;

typedef struct {
    float *normed, *attention, *attended, *hidden, *scores;
    ptrdiff_t score_stride;
    const segment **owners; /* of each row */
    int32_t *limits;        /* how many positions of its own cache each row sees */
} workspace;

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

/* c[rows][16 panels] += a[rows][depth] b[depth][16 panels]; `rows` and `panels` are constants at every call. */
INLINE void tile(const int rows, const int panels, int depth, const float *a, ptrdiff_t a_stride, const float *b,
                 ptrdiff_t b_stride, ptrdiff_t panel_stride, float *c, ptrdiff_t c_stride) {
    vec sum[TILE][2 * 4];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int j = 0; j < 2 * panels; j++)
            sum[r][j] = *(const vec *)(c + r * c_stride + j * LANES);
    for (int k = 0; k < depth; k++, b += b_stride) {
        __builtin_prefetch(b + AHEAD); /* weights and caches come from far away, in order */
        vec right[2 * 4];
#pragma GCC unroll 8
        for (int j = 0; j < 2 * panels; j++)
            right[j] = *(const vec *)(b + (j / 2) * panel_stride + (j % 2) * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            vec left = splat(a[r * a_stride + k]);
#pragma GCC unroll 8
            for (int j = 0; j < 2 * panels; j++)
                sum[r][j] += left * right[j];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int j = 0; j < 2 * panels; j++)
            *(vec *)(c + r * c_stride + j * LANES) = sum[r][j];
}

/* Few rows take several panels at once: otherwise each product would wait for the one before it. */
INLINE void wide_tiles(const int rows, const int wide, int panels, int depth, const float *a, ptrdiff_t a_stride,
                       const float *b, ptrdiff_t b_stride, ptrdiff_t panel_stride, float *c, ptrdiff_t c_stride) {
    int p = 0;
    for (; p + wide <= panels; p += wide)
        tile(rows, wide, depth, a, a_stride, b + p * panel_stride, b_stride, panel_stride, c + p * PANEL, c_stride);
    for (; wide > 2 && p + 2 <= panels; p += 2)
        tile(rows, 2, depth, a, a_stride, b + p * panel_stride, b_stride, panel_stride, c + p * PANEL, c_stride);
    for (; p < panels; p++)
        tile(rows, 1, depth, a, a_stride, b + p * panel_stride, b_stride, panel_stride, c + p * PANEL, c_stride);
}

/* c[rows][16 panels] += a b for at most TILE rows. */
static void strip(int rows, int panels, int depth, const float *a, ptrdiff_t a_stride, const float *b,
                  ptrdiff_t b_stride, ptrdiff_t panel_stride, float *c, ptrdiff_t c_stride) {
#define CASE(count, wide)                                                                                              \
    case count:                                                                                                        \
        wide_tiles(count, wide, panels, depth, a, a_stride, b, b_stride, panel_stride, c, c_stride);                   \
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

/* Rows of the next strip when `left` remain: strips of even height, so that none is left with a single row. */
INLINE int strip_height(int left) {
    int strips = (left + TILE - 1) / TILE;
    return (left + strips - 1) / strips;
}

/* y[rows][outputs] += x[rows][inputs] w, with w in panels; few rows: each panel is read once for all strips. */
static void multiply(int rows, int inputs, int outputs, const float *x, const float *w, float *y) {
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

static void linear(int rows, int inputs, int outputs, const float *x, const float *w, const float *bias, float *y) {
    for (int r = 0; r < rows; r++)
        memcpy(y + (ptrdiff_t)r * outputs, bias, sizeof(float) * outputs);
    multiply(rows, inputs, outputs, x, w, y);
}

/* y += x w + bias: the residual stream. */
static void add_linear(int rows, int inputs, int outputs, const float *x, const float *w, const float *bias, float *y) {
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < outputs; j += LANES)
            *(vec *)(y + (ptrdiff_t)r * outputs + j) += *(const vec *)(bias + j);
    multiply(rows, inputs, outputs, x, w, y);
}

/* ---- one block ------------------------------------------------------------------------------------------------ */

/* Padding columns are zero and stay so: their weight and bias are zero, and the variance leaves them out. */
static void layer_norm(const model *m, int rows, const float *x, const float *weight, const float *bias, float *y) {
    const int width = m->width, padding = m->width - m->norm_width;
    for (int r = 0; r < rows; r++, x += width, y += width) {
        vec total = splat(0.0f), squares = splat(0.0f);
        for (int j = 0; j < width; j += LANES)
            total += *(const vec *)(x + j);
        const float mean = sum_of(total) / (float)m->norm_width;
        for (int j = 0; j < width; j += LANES) {
            vec centred = *(const vec *)(x + j) - mean;
            squares += centred * centred;
        }
        const float variance = (sum_of(squares) - (float)padding * mean * mean) / (float)m->norm_width;
        const float scale = 1.0f / sqrtf(variance + m->epsilon);
        for (int j = 0; j < width; j += LANES)
            *(vec *)(y + j) =
                (*(const vec *)(x + j) - mean) * scale * *(const vec *)(weight + j) + *(const vec *)(bias + j);
    }
}

static ptrdiff_t layer_offset(const model *m, int layer, int capacity) {
    return m->encoder ? 0 : (ptrdiff_t)layer * 2 * m->width * capacity;
}

/* Append the keys and values of a segment's rows to its own cache. */
static void append(const model *m, const segment *s, int layer, const float *attention) {
    const int width = m->width, head = width / m->heads;
    const ptrdiff_t per_head = (ptrdiff_t)head * s->own_capacity;
    float *keys = s->own + layer_offset(m, layer, s->own_capacity), *values = keys + per_head * m->heads;
    for (int r = 0; r < s->rows; r++, attention += 3 * width) {
        const int position = s->start + r;
        for (int h = 0; h < m->heads; h++) {
            float *key = keys + h * per_head + (ptrdiff_t)(position / PANEL) * head * PANEL + position % PANEL;
            for (int d = 0; d < head; d++)
                key[d * PANEL] = attention[width + h * head + d];
            memcpy(values + h * per_head + (ptrdiff_t)position * head, attention + 2 * width + h * head,
                   sizeof(float) * head);
        }
    }
}

INLINE int whole_panels(int length) { return (length + PANEL - 1) / PANEL * PANEL; }

/* Rows of one strip that look at the first `length` positions of one cache; their scores begin at `column`. */
typedef struct {
    const float *keys, *values;
    ptrdiff_t per_head;
    int first, rows, length, column;
} span;

static span look_at(const model *m, int layer, const float *cache, int capacity, int length, int first, int rows) {
    const ptrdiff_t per_head = (ptrdiff_t)m->width / m->heads * capacity;
    const float *keys = cache + layer_offset(m, layer, capacity);
    return (span){keys, keys + per_head * m->heads, per_head, first, rows, length, 0};
}

/* What a strip looks at: the prefix that its rows share, if any, then each own cache. Returns the number of spans. */
static int find_spans(const model *m, int layer, int rows, const segment *const *owners, const int32_t *limits,
                      span *spans) {
    const segment *s = owners[0];
    int count = 0;
    if (s->prefix_length)
        spans[count++] = look_at(m, layer, s->prefix, s->prefix_capacity, s->prefix_length, 0, rows);
    for (int first = 0, last; first < rows; first = last) {
        s = owners[first];
        int length = 0;
        for (last = first; last < rows && owners[last] == s; last++)
            length = limits[last] > length ? limits[last] : length;
        spans[count] = look_at(m, layer, s->own, s->own_capacity, length, first, last - first);
        spans[count++].column = whole_panels(s->prefix_length);
    }
    return count;
}

INLINE void hide(float *scores, int from, int to) {
    for (int j = from; j < to; j++)
        scores[j] = -1e30f;
}

static void score(const model *m, const span *s, int h, const float *queries, const workspace *w) {
    const int head = m->width / m->heads, columns = whole_panels(s->length);
    float *scores = w->scores + s->first * w->score_stride + s->column;
    for (int r = 0; r < s->rows; r++)
        memset(scores + r * w->score_stride, 0, sizeof(float) * columns);
    strip(s->rows, columns / PANEL, head, queries + (ptrdiff_t)s->first * 3 * m->width + h * head, 3 * m->width,
          s->keys + h * s->per_head, PANEL, (ptrdiff_t)head * PANEL, scores, w->score_stride);
    for (int r = 0; r < s->rows; r++)
        hide(scores + r * w->score_stride, s->length, columns);
}

static void mix(const model *m, const span *s, int h, float *out, const workspace *w) {
    const int head = m->width / m->heads;
    strip(s->rows, head / PANEL, s->length, w->scores + s->first * w->score_stride + s->column, w->score_stride,
          s->values + h * s->per_head, head, PANEL, out + (ptrdiff_t)s->first * m->width + h * head, m->width);
}

/* Exponentials of scores against the largest; returns one over their sum. */
static float soften(float *scores, int count) {
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

/* Attention of at most TILE rows with a common prefix. */
static void attend_strip(const model *m, int layer, int rows, const segment *const *owners, const int32_t *limits,
                         const float *queries, float *out, const workspace *w) {
    span spans[TILE + 1];
    const int count = find_spans(m, layer, rows, owners, limits, spans), head = m->width / m->heads;
    memset(out, 0, sizeof(float) * rows * m->width);
    for (int h = 0; h < m->heads; h++) {
        float inverse[TILE];
        for (int i = 0; i < count; i++)
            score(m, &spans[i], h, queries, w);
        for (int i = owners[0]->prefix_length > 0; i < count; i++)
            for (int r = spans[i].first; r < spans[i].first + spans[i].rows; r++) {
                float *scores = w->scores + r * w->score_stride;
                hide(scores + spans[i].column, limits[r], spans[i].length);
                inverse[r] = soften(scores, spans[i].column + whole_panels(spans[i].length));
            }
        for (int i = 0; i < count; i++)
            mix(m, &spans[i], h, out, w);
        for (int r = 0; r < rows; r++)
            for (int j = h * head; j < (h + 1) * head; j += LANES)
                *(vec *)(out + (ptrdiff_t)r * m->width + j) *= inverse[r];
    }
}

/* Rows are taken together where they look at the same positions: behind one prefix, or in one cache. */
INLINE int same_strip(const segment *a, const segment *b) {
    return a == b || (a->prefix_length && a->prefix == b->prefix);
}

static void attend(const model *m, int layer, int rows, const workspace *w) {
    const segment *const *owners = (const segment *const *)w->owners;
    for (int first = 0, last; first < rows; first = last) {
        for (last = first + 1; last < rows && same_strip(owners[first], owners[last]); last++)
            ;
        for (int height; first < last; first += height) {
            height = strip_height(last - first);
            attend_strip(m, layer, height, owners + first, w->limits + first, w->attention + (ptrdiff_t)first * 3 * m->width,
                         w->attended + (ptrdiff_t)first * m->width, w);
        }
    }
}

/* The two linear layers, a block of rows at a time so that what lies between them stays in the cache. */
static void feed_forward(const model *m, const block *b, int rows, const float *x, float *y, float *hidden) {
    for (int r = 0; r < rows; r += ROW_BLOCK) {
        const int count = rows - r < ROW_BLOCK ? rows - r : ROW_BLOCK;
        linear(count, m->width, m->inner, x + (ptrdiff_t)r * m->width, b->up_weight, b->up_bias, hidden);
        for (ptrdiff_t j = 0; j < (ptrdiff_t)count * m->inner; j += LANES) {
            vec value = *(vec *)(hidden + j);
            *(vec *)(hidden + j) = m->encoder ? gelu_erf(value) : gelu_tanh(value);
        }
        add_linear(count, m->inner, m->width, hidden, b->down_weight, b->down_bias, y + (ptrdiff_t)r * m->width);
    }
}

/* Only row wanted[i] of each segment goes on, as row i. */
static void select_rows(const model *m, int count, const int32_t *wanted, float *x, const workspace *w) {
    const ptrdiff_t width = m->width;
    for (int i = 0; i < count; i++) {
        memmove(x + i * width, x + wanted[i] * width, sizeof(float) * width);
        memmove(w->attention + i * 3 * width, w->attention + wanted[i] * 3 * width, sizeof(float) * 3 * width);
        w->owners[i] = w->owners[wanted[i]];
        w->limits[i] = w->limits[wanted[i]];
    }
}

static void attend_and_project(const model *m, const block *b, int layer, int rows, float *x, const workspace *w) {
    attend(m, layer, rows, w);
    add_linear(rows, m->width, m->width, w->attended, b->projection_weight, b->projection_bias, x);
    if (m->encoder) {
        layer_norm(m, rows, x, b->norm1_weight, b->norm1_bias, x);
        memcpy(w->normed, x, sizeof(float) * rows * m->width);
    } else {
        layer_norm(m, rows, x, b->norm2_weight, b->norm2_bias, w->normed);
    }
}

/* One block; after the last one only the wanted rows are left, if any are named. */
static void run_block(const model *m, int layer, int rows, float *x, const segment *segments, int count,
                      const int32_t *wanted, const workspace *w) {
    const block *b = &m->blocks[layer];
    if (!m->encoder)
        layer_norm(m, rows, x, b->norm1_weight, b->norm1_bias, w->normed);
    linear(rows, m->width, 3 * m->width, m->encoder ? x : w->normed, b->attention_weight, b->attention_bias,
           w->attention);
    const float *attention = w->attention;
    for (int i = 0; i < count; attention += (ptrdiff_t)segments[i].rows * 3 * m->width, i++)
        append(m, &segments[i], layer, attention);
    if (wanted && layer == m->layers - 1) {
        select_rows(m, count, wanted, x, w);
        rows = count;
    }
    attend_and_project(m, b, layer, rows, x, w);
    feed_forward(m, b, rows, w->normed, x, w->hidden);
    if (m->encoder)
        layer_norm(m, rows, x, b->norm2_weight, b->norm2_bias, x);
}

/* ---- what the caller sees ------------------------------------------------------------------------------------- */

static void run_all(const model *m, ptrdiff_t rows, float *x, const segment *segments, int count,
                    const int32_t *limits, const int32_t *wanted, workspace *w) {
    w->attention = w->normed + rows * m->width;
    w->attended = w->attention + rows * 3 * m->width;
    w->hidden = w->attended + rows * m->width;
    w->scores = w->hidden + (ptrdiff_t)ROW_BLOCK * m->inner;
    memcpy(w->limits, limits, sizeof(int32_t) * rows);
    for (int i = 0, row = 0; i < count; i++)
        for (int r = 0; r < segments[i].rows; r++)
            w->owners[row++] = &segments[i];
    for (int layer = 0; layer < m->layers; layer++)
        run_block(m, layer, (int)rows, x, segments, count, wanted, w);
}

/* Runs x, embedded rows in the order of their segments, through all blocks, in place; row i sees its prefix and the
 * first limits[i] positions of its own cache, itself among them. If `wanted` names one row for each segment, only
 * these are finished, and become the first rows of x. Returns 0, or 1 when there is no memory. */
EXPORT int PUBLIC(forward)(const model *m, float *x, const segment *segments, int32_t count, const int32_t *limits,
                           const int32_t *wanted) {
    ptrdiff_t rows = 0, columns = PANEL;
    for (int i = 0; i < count; i++) {
        const segment *s = &segments[i];
        const ptrdiff_t needed = whole_panels(s->prefix_length) + whole_panels(s->start + s->rows);
        columns = needed > columns ? needed : columns;
        rows += s->rows;
    }
    workspace w = {.score_stride = columns};
    w.normed = malloc(sizeof(float) * (rows * 5 * m->width + (ptrdiff_t)ROW_BLOCK * m->inner + TILE * columns));
    w.owners = malloc(sizeof(segment *) * (rows + 1));
    w.limits = malloc(sizeof(int32_t) * (rows + 1));
    const int failed = !w.normed || !w.owners || !w.limits;
    if (!failed)
        run_all(m, rows, x, segments, count, limits, wanted, &w);
    free(w.normed);
    free(w.owners);
    free(w.limits);
    return failed;
}

EXPORT void PUBLIC(layer_norm)(const model *m, int32_t rows, const float *x, const float *weight, const float *bias,
                               float *y) {
    layer_norm(m, rows, x, weight, bias, y);
}

EXPORT void PUBLIC(linear)(int32_t rows, int32_t inputs, int32_t outputs, const float *x, const float *w,
                           const float *bias, float *y) {
    linear(rows, inputs, outputs, x, w, bias, y);
}

/* Turns weights as torch keeps them, [outputs][inputs], into panels. */
EXPORT void PUBLIC(pack)(int32_t outputs, int32_t inputs, const float *weight, float *panels) {
    for (ptrdiff_t o = 0; o < outputs; o++)
        for (ptrdiff_t i = 0; i < inputs; i++)
            panels[(o / PANEL * inputs + i) * PANEL + o % PANEL] = weight[o * inputs + i];
}

/* Each row of logits becomes probabilities over its first `count` entries, or those of them that `allowed` marks. */
EXPORT void PUBLIC(normalise)(int32_t rows, int32_t count, int32_t stride, const uint8_t *allowed, float *logits) {
    for (int r = 0; r < rows; r++, logits += stride) {
        hide(logits, count, stride);
        for (int j = 0; allowed && j < count; j++)
            if (!allowed[(ptrdiff_t)r * count + j])
                logits[j] = -1e30f;
        const float inverse = soften(logits, stride);
        for (int j = 0; j < stride; j++)
            logits[j] = logits[j] * inverse < 1e-30f ? 0.0f : logits[j] * inverse;
    }
}

/* Draws one entry per row from probability^(1 / temperature) (the most likely one at temperature 0) with the row's
 * number in [0, 1); `chosen` gets its probability at temperature 1. */
EXPORT void PUBLIC(draw)(int32_t rows, int32_t count, int32_t stride, float temperature, const float *probabilities,
                         const float *uniform, int32_t *tokens, float *chosen) {
    for (int r = 0; r < rows; r++, probabilities += stride) {
        int best = 0;
        for (int j = 1; j < count; j++)
            best = probabilities[j] > probabilities[best] ? j : best;
        const float top = probabilities[best];
        double total = 0.0, seen = 0.0;
        int token = best;
        if (temperature > 0.0f) {
            for (int j = 0; j < count; j++)
                total += temperature == 1.0f ? probabilities[j] : powf(probabilities[j] / top, 1.0f / temperature);
            const double target = uniform[r] * total;
            for (int j = 0; j < count && seen <= target; j++) {
                const float weight =
                    temperature == 1.0f ? probabilities[j] : powf(probabilities[j] / top, 1.0f / temperature);
                seen += weight;
                token = weight > 0.0f ? j : token;
            }
        }
        tokens[r] = token;
        chosen[r] = probabilities[token];
    }
}
