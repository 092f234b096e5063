/* The encoder of a relational model: messages along atoms, then a transformer block, layer by layer.
 *
 * The map of a relation, z = relu(in [h_1; ...; h_k]), o = out z, is taken apart by argument places: in_i h_i is
 * computed once for each row that occurs at place i, however many atoms share it, and so is out_i applied to the sum of
 * a row's z. Per atom only additions are left. Relations, places and atoms are summed in the order in which they are
 * given, so a state's result does not depend on the states that share its batch.
 */
#include "kernel.h"

typedef struct {
    const float *in, *in_bias;   /* [arity] panels of width x message, [message] */
    const float *out, *out_bias; /* [arity] panels of message x width, [arity][width] */
} relation;

typedef struct {
    const model *blocks;
    const relation *relations; /* [layers][count] */
    const float *norms;        /* [layers + 1][weight, bias][width]: before each layer's messages, and the last one */
    const int32_t *arities;
    int32_t count, message;
} encoder;

typedef struct {
    const int8_t *distances;
    const int32_t *atoms; /* relation by relation, as rows of this state */
    int32_t rows;
} state;

/* One argument place of one relation in a batch: the rows that occur there. */
typedef struct {
    int32_t *rows;  /* each once */
    float *times;   /* how often each occurs, divided by the root of its degree */
    int32_t *slots; /* of each atom: which of the rows */
    int32_t count;
} place;

typedef struct {
    place *places;  /* relation by relation */
    int32_t *atoms; /* of each relation: how many there are */
    int32_t *slots; /* memory of the places */
    float *times;
    int32_t *last;  /* of each row: its slot in the place that is being filled */
    float *scales;  /* of each row: one over the root of its degree */
    float *before, *after; /* of each row of a relation's places: in_i h, sum of z */
} incidences;

/* ---- which rows take part in what ------------------------------------------------------------------------------- */

static ptrdiff_t count_incidences(const encoder *e, int states, const int32_t *counts) {
    ptrdiff_t total = 0;
    for (int s = 0; s < states; s++)
        for (int i = 0; i < e->count; i++)
            total += (ptrdiff_t)counts[(ptrdiff_t)s * e->count + i] * e->arities[i];
    return total;
}

static void find_scales(const encoder *e, int count, const state *states, const int32_t *counts, int rows,
                        incidences *all) {
    memset(all->scales, 0, sizeof(float) * rows);
    float *degrees = all->scales;
    for (int s = 0; s < count; degrees += states[s++].rows) {
        const ptrdiff_t total = count_incidences(e, 1, counts + (ptrdiff_t)s * e->count);
        for (ptrdiff_t i = 0; i < total; i++)
            degrees[states[s].atoms[i]] += 1.0f;
    }
    for (int r = 0; r < rows; r++)
        all->scales[r] = all->scales[r] > 1.0f ? 1.0f / sqrtf(all->scales[r]) : 1.0f;
}

/* Enter the atoms of one state at one place; `first` is the state's first row in the batch. */
static void enter_atoms(const int32_t *atoms, int count, int arity, int first, int entered, place *p, incidences *all) {
    for (int a = 0; a < count; a++) {
        const int32_t row = first + atoms[(ptrdiff_t)a * arity];
        int32_t slot = all->last[row];
        if (slot < 0) {
            slot = all->last[row] = p->count++;
            p->rows[slot] = row;
            p->times[slot] = 0.0f;
        }
        p->times[slot] += all->scales[row];
        p->slots[entered + a] = slot;
    }
}

static int atoms_of(const int32_t *counts, int states, int relations, int i) {
    int total = 0;
    for (int s = 0; s < states; s++)
        total += counts[(ptrdiff_t)s * relations + i];
    return total;
}

/* Fill all places. `offsets` of each state: where the atoms of the relation begin. Returns the largest number of rows
 * that the places of one relation have together. */
static ptrdiff_t fill_places(const encoder *e, int count, const state *states, const int32_t *counts,
                             ptrdiff_t *offsets, incidences *all) {
    ptrdiff_t used = 0, largest = 0;
    place *p = all->places;
    memset(offsets, 0, sizeof(ptrdiff_t) * count);
    for (int i = 0; i < e->count; i++) {
        const int total = all->atoms[i] = atoms_of(counts, count, e->count, i);
        ptrdiff_t rows = 0;
        for (int k = 0; k < e->arities[i]; k++, p++, used += total) {
            *p = (place){all->slots + 2 * used, all->times + used, all->slots + 2 * used + total, 0};
            for (int s = 0, first = 0, entered = 0; s < count && total; first += states[s++].rows) {
                const int atoms = counts[(ptrdiff_t)s * e->count + i];
                enter_atoms(states[s].atoms + offsets[s] + k, atoms, e->arities[i], first, entered, p, all);
                entered += atoms;
            }
            for (int r = 0; r < p->count; r++)
                all->last[p->rows[r]] = -1;
            rows += p->count;
        }
        for (int s = 0; s < count; s++)
            offsets[s] += (ptrdiff_t)counts[(ptrdiff_t)s * e->count + i] * e->arities[i];
        largest = rows > largest ? rows : largest;
    }
    return largest;
}

/* Returns 1 when there is no memory; close it in any case. */
static int open_incidences(const encoder *e, int count, const state *states, const int32_t *counts, int rows,
                           incidences *all) {
    const ptrdiff_t total = count_incidences(e, count, counts);
    int places = 0;
    for (int i = 0; i < e->count; i++)
        places += e->arities[i];
    *all = (incidences){0};
    all->places = malloc(sizeof(place) * (places + 1));
    all->atoms = malloc(sizeof(int32_t) * (e->count + 1));
    all->slots = malloc(sizeof(int32_t) * (2 * total + 1));
    all->times = malloc(sizeof(float) * (total + 1));
    all->last = malloc(sizeof(int32_t) * (rows + 1));
    all->scales = malloc(sizeof(float) * (rows + 1));
    ptrdiff_t *offsets = malloc(sizeof(ptrdiff_t) * (count + 1));
    int failed = !all->places || !all->atoms || !all->slots || !all->times || !all->last || !all->scales || !offsets;
    if (!failed) {
        memset(all->last, -1, sizeof(int32_t) * rows);
        find_scales(e, count, states, counts, rows, all);
        const ptrdiff_t largest = fill_places(e, count, states, counts, offsets, all);
        all->before = malloc(sizeof(float) * (2 * largest * e->message + 1));
        all->after = all->before + largest * e->message;
        failed = !all->before;
    }
    free(offsets);
    return failed;
}

static void close_incidences(incidences *all) {
    free(all->places);
    free(all->atoms);
    free(all->slots);
    free(all->times);
    free(all->last);
    free(all->scales);
    free(all->before);
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

/* y[places of rows][outputs] += x[places of rows][inputs] w, w in panels; a null list of places means one after the
 * other. */
static void multiply_rows(int rows, int inputs, int outputs, const float *x, const int32_t *from, const float *w,
                          float *y, const int32_t *to) {
    const int panels = rows <= TILE ? outputs / PANEL : 1;
    for (int p = 0; p < outputs; p += panels * PANEL, w += (ptrdiff_t)panels * inputs * PANEL)
        for (int r = 0, height; r < rows; r += height) {
            const float *left[TILE];
            float *sums[TILE];
            height = strip_height(rows - r);
            for (int i = 0; i < height; i++) {
                left[i] = x + (ptrdiff_t)(from ? from[r + i] : r + i) * inputs;
                sums[i] = y + (ptrdiff_t)(to ? to[r + i] : r + i) * outputs + p;
            }
            scattered_strip(height, panels, inputs, left, w, PANEL, (ptrdiff_t)inputs * PANEL, sums);
        }
}

/* z of each atom, added to the sums of its rows. */
static void combine(int atoms, int arity, int message, const float *bias, const place *places, const float *before,
                    float *after) {
    for (int a = 0; a < atoms; a++) {
        ptrdiff_t rows[arity], base = 0;
        for (int k = 0; k < arity; k++) {
            rows[k] = (base + places[k].slots[a]) * message;
            base += places[k].count;
        }
        for (int j = 0; j < message; j += LANES) {
            vec z = *(const vec *)(bias + j);
            for (int k = 0; k < arity; k++)
                z += *(const vec *)(before + rows[k] + j);
            z = larger(z, splat(0.0f));
            for (int k = 0; k < arity; k++)
                *(vec *)(after + rows[k] + j) += z;
        }
    }
}

/* x[row] += out_i (sum of z) / root of the degree, bias included. */
static void deliver(const encoder *e, const relation *r, int k, const place *p, const float *scales, float *sums,
                    float *x) {
    const int width = e->blocks->width;
    const float *bias = r->out_bias + (ptrdiff_t)k * width;
    for (int i = 0; i < p->count; i++) {
        float *sum = sums + (ptrdiff_t)i * e->message, *row = x + (ptrdiff_t)p->rows[i] * width;
        for (int j = 0; j < e->message; j += LANES)
            *(vec *)(sum + j) *= scales[p->rows[i]];
        for (int j = 0; j < width; j += LANES)
            *(vec *)(row + j) += *(const vec *)(bias + j) * p->times[i];
    }
    const float *weight = r->out + (ptrdiff_t)k * e->message * width;
    multiply_rows(p->count, e->message, width, sums, NULL, weight, x, p->rows);
}

static void pass_messages(const encoder *e, int layer, const float *h, float *x, const incidences *all) {
    const int width = e->blocks->width;
    const place *p = all->places;
    for (int i = 0; i < e->count; p += e->arities[i++]) {
        const relation *r = &e->relations[(ptrdiff_t)layer * e->count + i];
        const int arity = e->arities[i];
        ptrdiff_t rows = 0;
        for (int k = 0; k < arity; k++)
            rows += p[k].count;
        memset(all->before, 0, sizeof(float) * rows * e->message);
        memset(all->after, 0, sizeof(float) * rows * e->message);
        rows = 0;
        for (int k = 0; k < arity; rows += p[k++].count)
            multiply_rows(p[k].count, width, e->message, h, p[k].rows, r->in + (ptrdiff_t)k * width * e->message,
                          all->before + rows * e->message, NULL);
        combine(all->atoms[i], arity, e->message, r->in_bias, p, all->before, all->after);
        rows = 0;
        for (int k = 0; k < arity; rows += p[k++].count)
            deliver(e, r, k, &p[k], all->scales, all->after + rows * e->message, x);
    }
}

/* ---- what the caller sees --------------------------------------------------------------------------------------- */

/* Each state is a segment with a cache of its own for one layer's keys and values. */
static int open_segments(const model *m, int count, const state *states, segment **segments, float **caches) {
    ptrdiff_t positions = 0;
    for (int s = 0; s < count; s++)
        positions += whole_panels(states[s].rows);
    *segments = calloc(count + 1, sizeof(segment));
    *caches = malloc(sizeof(float) * (2 * m->width * positions + 1));
    if (!*segments || !*caches)
        return 1;
    float *cache = *caches;
    for (int s = 0; s < count; s++) {
        const int capacity = whole_panels(states[s].rows);
        (*segments)[s] = (segment){
            .own = cache, .distances = states[s].distances, .own_capacity = capacity, .rows = states[s].rows};
        cache += (ptrdiff_t)2 * m->width * capacity;
    }
    return 0;
}

static void run_layers(const encoder *e, int rows, int count, const segment *segments, const incidences *all,
                       const workspace *w, float *x, float *out) {
    const model *m = e->blocks;
    const float *norm = e->norms;
    for (int layer = 0; layer < m->layers; layer++, norm += 2 * m->width) {
        layer_norm(m, rows, x, norm, norm + m->width, w->normed);
        pass_messages(e, layer, w->normed, x, all);
        PUBLIC(run_block)(m, layer, rows, x, segments, count, NULL, w);
    }
    layer_norm(m, rows, x, norm, norm + m->width, out);
}

/* From x, the embedded rows of all states, to their final rows in `out`; x is overwritten. `counts` is [states]
 * [relations]: how many atoms each state has. Returns 0, or 1 when there is no memory. */
EXPORT int PUBLIC(encode)(const encoder *e, int32_t count, const state *states, const int32_t *counts, float *x,
                          float *out) {
    int rows = 0;
    for (int s = 0; s < count; s++)
        rows += states[s].rows;
    segment *segments;
    float *caches;
    incidences all;
    workspace w = {0};
    int failed = open_segments(e->blocks, count, states, &segments, &caches);
    failed |= open_incidences(e, count, states, counts, rows, &all);
    if (!failed)
        failed = PUBLIC(open_workspace)(e->blocks, segments, count, NULL, &w);
    if (!failed)
        run_layers(e, rows, count, segments, &all, &w, x, out);
    PUBLIC(close_workspace)(&w);
    close_incidences(&all);
    free(segments);
    free(caches);
    return failed;
}

/* log(1 + e^v), for every v. */
static double soft_plus(double v) { return v > 30.0 ? v : log1p(exp(v)); }

/* Adds the shares of a state's rows: result = (sum of s_0, sum of s_1^2). `hidden` and `shares` are memory for the
 * rows: [rows][width] and [rows][16]. */
EXPORT void PUBLIC(cost)(int32_t width, int32_t rows, const float *x, const float *in, const float *in_bias,
                         const float *out, const float *out_bias, float *hidden, float *shares, double *result) {
    linear(rows, width, width, x, in, in_bias, hidden);
    for (ptrdiff_t j = 0; j < (ptrdiff_t)rows * width; j += LANES)
        *(vec *)(hidden + j) = gelu_tanh(*(vec *)(hidden + j));
    linear(rows, width, PANEL, hidden, out, out_bias, shares);
    result[0] = result[1] = 0.0;
    for (int r = 0; r < rows; r++) {
        const double spread = soft_plus(shares[r * PANEL + 1]);
        result[0] += soft_plus(shares[r * PANEL]);
        result[1] += spread * spread;
    }
}
