/* The kernel's transformer blocks, as its parts share them. */
#ifndef OCLGEN_KERNEL_H
#define OCLGEN_KERNEL_H

#include "kernel_tile.h"

enum { GPT2 = 0, BERT = 1, RELATIONAL = 2 };
enum { STEPS = 33 }; /* numbers of steps between two objects that have a bias of their own */

typedef struct {
    const float *norm1_weight, *norm1_bias, *attention_weight, *attention_bias, *projection_weight, *projection_bias;
    const float *norm2_weight, *norm2_bias, *up_weight, *up_bias, *down_weight, *down_bias;
    const float *distance; /* [heads][STEPS], added to the scores of attention; or null */
} block;

typedef struct {
    const block *blocks;
    int32_t layers, heads, width, inner;
    int32_t norm_width; /* width before padding */
    int32_t network;    /* BERT: norms after, exact gelu; caches of BERT and RELATIONAL hold one layer only */
    float epsilon;
} model;

/* Consecutive rows of the batch that extend one cache. A cache is [layers][keys, values][heads][capacity * head]. */
typedef struct {
    const float *prefix;     /* cache that these rows see before their own */
    float *own;              /* cache to which they are appended */
    const int8_t *distances; /* [rows][rows] steps between the rows of a whole sequence; or null */
    int32_t prefix_length, prefix_capacity, own_capacity;
    int32_t start, rows; /* position in the own cache of the first row; number of rows */
} segment;

typedef struct {
    float *normed, *attention, *attended, *hidden, *scores;
    ptrdiff_t score_stride;
    const segment **owners; /* of each row */
    const int8_t **steps;   /* from each row to the others of its segment; or null */
    int32_t *limits;        /* how many positions of its own cache each row sees */
} workspace;

int PUBLIC(open_workspace)(const model *m, const segment *segments, int count, const int32_t *limits, workspace *w);
void PUBLIC(close_workspace)(workspace *w);
void PUBLIC(run_block)(const model *m, int layer, int rows, float *x, const segment *segments, int count,
                       const int32_t *wanted, const workspace *w);
void PUBLIC(append_rows)(const model *m, const segment *s, int layer, const float *keys_and_values, ptrdiff_t stride);
EXPORT int PUBLIC(forward)(const model *m, float *x, const segment *segments, int32_t count, const int32_t *limits,
                           const int32_t *wanted);
EXPORT void PUBLIC(normalise)(int32_t rows, int32_t count, int32_t stride, const uint8_t *allowed, float *logits);
EXPORT void PUBLIC(draw)(int32_t rows, int32_t count, int32_t stride, float temperature, const float *probabilities,
                         const float *uniform, int32_t *tokens, float *chosen);

/* Padding columns are zero and stay so: their weight and bias are zero, and the variance leaves them out. */
SHARED void layer_norm(const model *m, int rows, const float *x, const float *weight, const float *bias, float *y) {
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

#endif
