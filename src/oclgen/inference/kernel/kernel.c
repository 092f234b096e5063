/* Transformer blocks on one thread: everything is one register tile, `c += a b`, over operands already in tile order.
 *
 * Weights are packed once into panels of 16 outputs, [outputs / 16][inputs][16]. Keys are cached in the same form, 16
 * positions a panel, values as plain rows, so attention uses the same tile as the linear layers. Every sum runs in one
 * fixed order, therefore a row's result does not depend on the rows that share its batch. All sizes are multiples of 16
 * (the caller pads with zeros); only lengths of sequences are free. Nothing is global: calls may run in parallel.
 *
 * Compiled once per instruction set, with the name of the set in VARIANT.
 */
#include "kernel.h"

/* ---- one block ------------------------------------------------------------------------------------------------ */

static ptrdiff_t layer_offset(const model *m, int layer, int capacity) {
    return m->network != GPT2 ? 0 : (ptrdiff_t)layer * 2 * m->width * capacity;
}

/* Append the keys and values of a segment's rows, side by side in each row, to its own cache. */
void PUBLIC(append_rows)(const model *m, const segment *s, int layer, const float *keys_and_values, ptrdiff_t stride) {
    const int width = m->width, head = width / m->heads;
    const ptrdiff_t per_head = (ptrdiff_t)head * s->own_capacity;
    float *keys = s->own + layer_offset(m, layer, s->own_capacity), *values = keys + per_head * m->heads;
    for (int r = 0; r < s->rows; r++, keys_and_values += stride) {
        const int position = s->start + r;
        for (int h = 0; h < m->heads; h++) {
            float *key = keys + h * per_head + (ptrdiff_t)(position / PANEL) * head * PANEL + position % PANEL;
            for (int d = 0; d < head; d++)
                key[d * PANEL] = keys_and_values[h * head + d];
            memcpy(values + h * per_head + (ptrdiff_t)position * head, keys_and_values + width + h * head,
                   sizeof(float) * head);
        }
    }
}

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

/* scores[j] = biases[steps[j]]. */
static void look_up(const float *biases, const int8_t *steps, int length, float *scores) {
    int j = 0;
#if defined(__AVX2__)
    /* four tables of eight, chosen by the bits of the number of steps; the last entry has a bit of its own */
    const __m256 near = _mm256_loadu_ps(biases), middle = _mm256_loadu_ps(biases + 8);
    const __m256 far = _mm256_loadu_ps(biases + 16), farther = _mm256_loadu_ps(biases + 24);
    const __m256 last = _mm256_set1_ps(biases[STEPS - 1]);
    for (; j + LANES <= length; j += LANES) {
        const __m256i at = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(steps + j)));
        const __m256 bit3 = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28));
        const __m256 bit4 = _mm256_castsi256_ps(_mm256_slli_epi32(at, 27));
        const __m256 bit5 = _mm256_castsi256_ps(_mm256_slli_epi32(at, 26));
        const __m256 low = _mm256_blendv_ps(_mm256_permutevar8x32_ps(near, at),
                                            _mm256_permutevar8x32_ps(middle, at), bit3);
        const __m256 high = _mm256_blendv_ps(_mm256_permutevar8x32_ps(far, at),
                                             _mm256_permutevar8x32_ps(farther, at), bit3);
        _mm256_storeu_ps(scores + j, _mm256_blendv_ps(_mm256_blendv_ps(low, high, bit4), last, bit5));
    }
#endif
    for (; j < length; j++)
        scores[j] = biases[steps[j]];
}

/* Scores begin at the bias of their distances, or at zero. */
static void begin_scores(const float *biases, const int8_t *steps, int length, int columns, float *scores) {
    if (!biases || !steps) {
        memset(scores, 0, sizeof(float) * columns);
        return;
    }
    look_up(biases, steps, length, scores);
    memset(scores + length, 0, sizeof(float) * (columns - length));
}

static void score(const model *m, const float *biases, const span *s, int h, const float *queries,
                  const int8_t *const *steps, const workspace *w) {
    const int head = m->width / m->heads, columns = whole_panels(s->length);
    float *scores = w->scores + s->first * w->score_stride + s->column;
    for (int r = 0; r < s->rows; r++)
        begin_scores(biases, steps[s->first + r], s->length, columns, scores + r * w->score_stride);
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

/* Attention of at most TILE rows with a common prefix, from row `row` of the batch on. */
static void attend_strip(const model *m, int layer, int row, int rows, const workspace *w) {
    const segment *const *owners = (const segment *const *)w->owners + row;
    const int32_t *limits = w->limits + row;
    const float *queries = w->attention + (ptrdiff_t)row * 3 * m->width, *biases = m->blocks[layer].distance;
    float *out = w->attended + (ptrdiff_t)row * m->width;
    span spans[TILE + 1];
    const int count = find_spans(m, layer, rows, owners, limits, spans), head = m->width / m->heads;
    memset(out, 0, sizeof(float) * rows * m->width);
    for (int h = 0; h < m->heads; h++) {
        float inverse[TILE];
        for (int i = 0; i < count; i++)
            score(m, biases ? biases + h * STEPS : NULL, &spans[i], h, queries, w->steps + row, w);
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
            attend_strip(m, layer, first, height, w);
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
            *(vec *)(hidden + j) = m->network == BERT ? gelu_erf(value) : gelu_tanh(value);
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
        w->steps[i] = w->steps[wanted[i]];
    }
}

static void attend_and_project(const model *m, const block *b, int layer, int rows, float *x, const workspace *w) {
    attend(m, layer, rows, w);
    add_linear(rows, m->width, m->width, w->attended, b->projection_weight, b->projection_bias, x);
    if (m->network == BERT) {
        layer_norm(m, rows, x, b->norm1_weight, b->norm1_bias, x);
        memcpy(w->normed, x, sizeof(float) * rows * m->width);
    } else {
        layer_norm(m, rows, x, b->norm2_weight, b->norm2_bias, w->normed);
    }
}

/* One block; after the last one only the wanted rows are left, if any are named. */
void PUBLIC(run_block)(const model *m, int layer, int rows, float *x, const segment *segments, int count,
                       const int32_t *wanted, const workspace *w) {
    const block *b = &m->blocks[layer];
    if (m->network != BERT)
        layer_norm(m, rows, x, b->norm1_weight, b->norm1_bias, w->normed);
    linear(rows, m->width, 3 * m->width, m->network == BERT ? x : w->normed, b->attention_weight, b->attention_bias,
           w->attention);
    const float *attention = w->attention;
    for (int i = 0; i < count; attention += (ptrdiff_t)segments[i].rows * 3 * m->width, i++)
        PUBLIC(append_rows)(m, &segments[i], layer, attention + m->width, 3 * m->width);
    if (wanted && layer == m->layers - 1) {
        select_rows(m, count, wanted, x, w);
        rows = count;
    }
    attend_and_project(m, b, layer, rows, x, w);
    feed_forward(m, b, rows, w->normed, x, w->hidden);
    if (m->network == BERT)
        layer_norm(m, rows, x, b->norm2_weight, b->norm2_bias, x);
}

/* ---- what the caller sees ------------------------------------------------------------------------------------- */

static void assign_rows(const segment *segments, int count, const int32_t *limits, workspace *w) {
    for (int i = 0, row = 0; i < count; i++)
        for (int r = 0; r < segments[i].rows; r++, row++) {
            w->owners[row] = &segments[i];
            w->steps[row] = segments[i].distances ? segments[i].distances + (ptrdiff_t)r * segments[i].rows : NULL;
            w->limits[row] = limits ? limits[row] : segments[i].rows;
        }
}

/* Memory for the rows of all segments; without `limits` each row sees its whole segment. Returns 1 when there is
 * none; close it in any case. */
int PUBLIC(open_workspace)(const model *m, const segment *segments, int count, const int32_t *limits, workspace *w) {
    ptrdiff_t rows = 0, columns = PANEL;
    for (int i = 0; i < count; i++) {
        const segment *s = &segments[i];
        const ptrdiff_t needed = whole_panels(s->prefix_length) + whole_panels(s->start + s->rows);
        columns = needed > columns ? needed : columns;
        rows += s->rows;
    }
    w->score_stride = columns;
    w->normed = malloc(sizeof(float) * (rows * 5 * m->width + (ptrdiff_t)ROW_BLOCK * m->inner + TILE * columns));
    w->owners = malloc(sizeof(segment *) * (rows + 1));
    w->steps = malloc(sizeof(int8_t *) * (rows + 1));
    w->limits = malloc(sizeof(int32_t) * (rows + 1));
    if (!w->normed || !w->owners || !w->steps || !w->limits)
        return 1;
    w->attention = w->normed + rows * m->width;
    w->attended = w->attention + rows * 3 * m->width;
    w->hidden = w->attended + rows * m->width;
    w->scores = w->hidden + (ptrdiff_t)ROW_BLOCK * m->inner;
    assign_rows(segments, count, limits, w);
    return 0;
}

void PUBLIC(close_workspace)(workspace *w) {
    free(w->normed);
    free(w->owners);
    free(w->steps);
    free(w->limits);
}

/* Runs x, embedded rows in the order of their segments, through all blocks, in place; row i sees its prefix and the
 * first limits[i] positions of its own cache, itself among them. If `wanted` names one row for each segment, only
 * these are finished, and become the first rows of x. Returns 0, or 1 when there is no memory. */
EXPORT int PUBLIC(forward)(const model *m, float *x, const segment *segments, int32_t count, const int32_t *limits,
                           const int32_t *wanted) {
    int rows = 0;
    for (int i = 0; i < count; i++)
        rows += segments[i].rows;
    workspace w;
    const int failed = PUBLIC(open_workspace)(m, segments, count, limits, &w);
    for (int layer = 0; layer < m->layers && !failed; layer++)
        PUBLIC(run_block)(m, layer, rows, x, segments, count, wanted, &w);
    PUBLIC(close_workspace)(&w);
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
