/* The decoder of a relational model: plan tokens behind the rows of a state.
 *
 * Its blocks are GPT-2's; a state's cache begins with the keys and values of its rows, then those of START, and all
 * plans from that state share it. A token is an operator, END, or an object: a row of the state. Where an operator is
 * due, operators and END are scored by a linear layer, where an argument is due, the objects by a product with their
 * pointer keys, which lie in panels like weights.
 */
#include "kernel.h"

typedef struct {
    const model *blocks;
    const float *norm_weight, *norm_bias;
    const float *choose_weight, *choose_bias; /* to operators and END, in whole panels */
    const float *query_weight, *query_bias, *key_weight, *key_bias, *argument_weight, *argument_bias;
    const float *operators; /* [operators + 2][width]: operators, END, START */
    const float *slots;     /* [largest arity + 1][width] */
    const float *positions; /* [max_plan][width] */
    const int32_t *arities; /* of the operators */
    int32_t count;          /* of operators */
    int32_t max_plan;
} decoder;

/* What plans from one state share. */
typedef struct {
    float *cache;     /* keys and values of its rows and of START, for `capacity` positions */
    float *keys;      /* pointer keys of its rows, in panels */
    float *arguments; /* [rows][width]: a row as the input of a token that chose it */
    float *opening;   /* scores of operators and END behind START */
    int32_t rows, capacity;
} prompt;

/* A plan under way. */
typedef struct {
    const prompt *behind;
    int32_t read;    /* arguments of the last action */
    int32_t missing; /* arguments that its operator still needs; none: an operator is due */
} plan;

/* ---- prompts ---------------------------------------------------------------------------------------------------- */

static void fill_cache(const decoder *d, const prompt *p, const float *rows, float *both) {
    const model *m = d->blocks;
    const segment s = {.own = p->cache, .own_capacity = p->capacity, .rows = p->rows};
    for (int layer = 0; layer < m->layers; layer++) {
        const block *b = &m->blocks[layer];
        linear(p->rows, m->width, 2 * m->width, rows, b->attention_weight + (ptrdiff_t)m->width * m->width,
               b->attention_bias + m->width, both);
        PUBLIC(append_rows)(m, &s, layer, both, 2 * m->width);
    }
}

static void add_row(int width, const float *row, float *x) {
    for (int j = 0; j < width; j += LANES)
        *(vec *)(x + j) += *(const vec *)(row + j);
}

/* Runs START behind the rows; `x` and `scores` are memory for one row and for the scores of operators and END. */
static int begin_plan(const decoder *d, const prompt *p, float *x) {
    const int width = d->blocks->width;
    const segment s = {.own = p->cache, .own_capacity = p->capacity, .start = p->rows, .rows = 1};
    const int32_t limit = p->rows + 1, wanted = 0;
    memcpy(x, d->operators + (ptrdiff_t)(d->count + 1) * width, sizeof(float) * width);
    add_row(width, d->slots, x);
    add_row(width, d->positions, x);
    if (PUBLIC(forward)(d->blocks, x, &s, 1, &limit, &wanted))
        return 1;
    layer_norm(d->blocks, 1, x, d->norm_weight, d->norm_bias, x);
    linear(1, width, whole_panels(d->count + 1), x, d->choose_weight, d->choose_bias, p->opening);
    return 0;
}

/* Fills a prompt from the final rows of its state. Returns 0, or 1 when there is no memory. */
EXPORT int PUBLIC(prepare)(const decoder *d, const float *rows, const prompt *p) {
    const int width = d->blocks->width;
    float *memory = malloc(sizeof(float) * 2 * width * (p->rows + 1));
    if (!memory)
        return 1;
    fill_cache(d, p, rows, memory);
    linear(p->rows, width, width, rows, d->argument_weight, d->argument_bias, p->arguments);
    linear(p->rows, width, width, rows, d->key_weight, d->key_bias, memory);
    memset(p->keys, 0, sizeof(float) * whole_panels(p->rows) * width);
    for (ptrdiff_t r = 0; r < p->rows; r++)
        for (ptrdiff_t j = 0; j < width; j++)
            p->keys[(r / PANEL * width + j) * PANEL + r % PANEL] = memory[r * width + j];
    const int failed = begin_plan(d, p, memory);
    free(memory);
    return failed;
}

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

/* The input of one token, and how the plan stands after it; returns 1 if the token cannot stand here. */
static int embed(const decoder *d, plan *line, int32_t token, int32_t position, float *x) {
    const int width = d->blocks->width;
    if (position >= d->max_plan || token < 0)
        return 1;
    if (line->missing) {
        const int32_t row = token - d->count - 1;
        if (row < 0 || row >= line->behind->rows - 1)
            return 1;
        line->missing--;
        line->read++;
        memcpy(x, line->behind->arguments + (ptrdiff_t)row * width, sizeof(float) * width);
    } else {
        if (token > d->count)
            return 1;
        line->missing = token < d->count ? d->arities[token] : 0;
        line->read = 0;
        memcpy(x, d->operators + (ptrdiff_t)token * width, sizeof(float) * width);
    }
    add_row(width, d->slots + (ptrdiff_t)line->read * width, x);
    add_row(width, d->positions + (ptrdiff_t)position * width, x);
    return 0;
}

/* ---- scores ----------------------------------------------------------------------------------------------------- */

static void score_operators(const decoder *d, int rows, const plan *plans, const float *x, float *memory, float *logits,
                            ptrdiff_t stride) {
    const int width = d->blocks->width, choices = whole_panels(d->count + 1);
    float *gathered = memory, *scores = memory + (ptrdiff_t)rows * width;
    int due = 0;
    for (int r = 0; r < rows; r++)
        if (!plans[r].missing)
            memcpy(gathered + (ptrdiff_t)due++ * width, x + (ptrdiff_t)r * width, sizeof(float) * width);
    linear(due, width, choices, gathered, d->choose_weight, d->choose_bias, scores);
    for (int r = 0; r < rows; r++)
        if (!plans[r].missing) {
            memcpy(logits + r * stride, scores, sizeof(float) * (d->count + 1));
            scores += choices;
        }
}

/* Rows behind one prompt share the pointer keys: a strip of them at a time. */
static void score_objects(const decoder *d, int rows, const plan *plans, const float *x, float *memory, float *logits,
                          ptrdiff_t stride) {
    const int width = d->blocks->width;
    float *gathered = memory, *queries = memory + (ptrdiff_t)rows * width;
    int due = 0;
    for (int r = 0; r < rows; r++)
        if (plans[r].missing)
            memcpy(gathered + (ptrdiff_t)due++ * width, x + (ptrdiff_t)r * width, sizeof(float) * width);
    linear(due, width, width, gathered, d->query_weight, d->query_bias, queries);
    for (int r = 0; r < rows;) {
        const prompt *behind = plans[r].behind;
        const float *left[TILE];
        float *sums[TILE];
        int height = 0;
        for (; r < rows && height < TILE && plans[r].behind == behind; r++)
            if (plans[r].missing) {
                left[height] = queries;
                queries += width;
                sums[height++] = logits + r * stride + d->count + 1;
            }
        const int panels = whole_panels(behind->rows - 1) / PANEL;
        for (int i = 0; i < height; i++)
            memset(sums[i], 0, sizeof(float) * panels * PANEL);
        scattered_strip(height, panels, width, left, behind->keys, PANEL, (ptrdiff_t)width * PANEL, sums);
    }
}

static int score_next(const decoder *d, int rows, const plan *plans, float *x, float *logits, ptrdiff_t stride) {
    const int width = d->blocks->width, choices = whole_panels(d->count + 1);
    float *memory = malloc(sizeof(float) * rows * (width + (width > choices ? width : choices)));
    if (!memory)
        return 1;
    layer_norm(d->blocks, rows, x, d->norm_weight, d->norm_bias, x);
    for (int r = 0; r < rows; r++)
        hide(logits + r * stride, 0, (int)stride);
    score_operators(d, rows, plans, x, memory, logits, stride);
    score_objects(d, rows, plans, x, memory, logits, stride);
    free(memory);
    return 0;
}

/* ---- what the caller sees --------------------------------------------------------------------------------------- */

static int embed_all(const decoder *d, int rows, plan *plans, segment *segments, const int32_t *tokens, float *x,
                     int32_t *limits, int32_t *wanted) {
    int next = 0;
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < segments[r].rows; i++, next++) {
            limits[next] = segments[r].start + i + 1;
            if (limits[next] > segments[r].own_capacity ||
                embed(d, &plans[r], tokens[next], limits[next], x + (ptrdiff_t)next * d->blocks->width))
                return 1;
        }
        wanted[r] = next - 1;
    }
    return 0;
}

/* Appends to each plan the next segments[r].rows of `tokens`; logits[rows][stride] of what may follow, where whatever
 * is not due is as good as impossible. Returns 0; 1 when there is no memory; 2 for a token out of place. */
EXPORT int PUBLIC(decode)(const decoder *d, int32_t rows, plan *plans, segment *segments, const int32_t *tokens,
                          float *logits, int32_t stride) {
    ptrdiff_t total = 0;
    for (int r = 0; r < rows; r++)
        total += segments[r].rows;
    float *x = malloc(sizeof(float) * (total * d->blocks->width + 1));
    int32_t *limits = malloc(sizeof(int32_t) * (total + 1)), *wanted = malloc(sizeof(int32_t) * (rows + 1));
    int failed = !x || !limits || !wanted;
    if (!failed && embed_all(d, rows, plans, segments, tokens, x, limits, wanted))
        failed = 2;
    if (!failed)
        failed = PUBLIC(forward)(d->blocks, x, segments, rows, limits, wanted);
    if (!failed)
        failed = score_next(d, rows, plans, x, logits, stride);
    for (int r = 0; r < rows && !failed; r++)
        segments[r].start += segments[r].rows;
    free(x);
    free(limits);
    free(wanted);
    return failed;
}

/* ---- whole actions ---------------------------------------------------------------------------------------------- */

/* How to sample: plan r draws its t-th token with numbers[t][r], and has at most `limit` tokens. */
typedef struct {
    const float *numbers;
    int32_t stride; /* of the numbers */
    int32_t vocabulary, limit, longest; /* tokens of the longest action */
    float temperature;
} drawing;

/* Memory for the plans that are in the middle of an action. */
typedef struct {
    plan *plans;
    segment *segments;
    float *logits;
    int32_t *tokens, *rows, *places; /* the token to feed, the plan's row, its place among the results */
} middle;

static int open_middle(int rows, ptrdiff_t stride, middle *m) {
    m->plans = malloc(sizeof(plan) * (rows + 1));
    m->segments = malloc(sizeof(segment) * (rows + 1));
    m->logits = malloc(sizeof(float) * (rows * stride + 1));
    m->tokens = malloc(sizeof(int32_t) * (3 * rows + 1));
    m->rows = m->tokens + rows;
    m->places = m->rows + rows;
    return !m->plans || !m->segments || !m->logits || !m->tokens;
}

static void close_middle(middle *m) {
    free(m->plans);
    free(m->segments);
    free(m->logits);
    free(m->tokens);
}

/* Feeds one token to each of these plans. */
static int feed_middle(const decoder *d, int count, plan *plans, segment *segments, float *logits, int32_t stride,
                       middle *m) {
    for (int i = 0; i < count; i++) {
        m->plans[i] = plans[m->rows[i]];
        m->segments[i] = segments[m->rows[i]];
        m->segments[i].rows = 1;
    }
    const int failed = PUBLIC(decode)(d, count, m->plans, m->segments, m->tokens, m->logits, stride);
    for (int i = 0; i < count; i++) {
        plans[m->rows[i]] = m->plans[i];
        segments[m->rows[i]] = m->segments[i];
        memcpy(logits + (ptrdiff_t)m->rows[i] * stride, m->logits + (ptrdiff_t)i * stride, sizeof(float) * stride);
    }
    return failed;
}

/* The next token of a plan, whose scores are overwritten. */
static int32_t draw_token(const drawing *how, int32_t position, int32_t row, float *logits, int32_t stride,
                          float *chosen) {
    int32_t token;
    PUBLIC(normalise)(1, how->vocabulary, stride, NULL, logits);
    PUBLIC(draw)(1, how->vocabulary, stride, how->temperature, logits,
                 how->numbers + (ptrdiff_t)position * how->stride + row, &token, chosen);
    return token;
}

/* Samples an action for each of the plans `live`, after feeding each the last token of its action before, which
 * `last` has by row (null: there is none). tokens[live][longest] gets the tokens, `lengths` how many there are, below
 * zero where they are no action (END, or the limit came first), `confidences` the least probability of any of them.
 * Returns what `decode` returns. */
EXPORT int PUBLIC(act)(const decoder *d, int32_t count, const int32_t *live, plan *plans, segment *segments,
                       float *logits, int32_t stride, const int32_t *last, const drawing *how, int32_t *tokens,
                       int32_t *lengths, float *confidences) {
    middle m;
    int failed = open_middle(count, stride, &m), going = count;
    for (int i = 0; i < count && !failed; i++) {
        m.rows[i] = live[i];
        m.places[i] = i;
        m.tokens[i] = last ? last[live[i]] : 0;
        lengths[i] = 0;
        confidences[i] = 1.0f;
    }
    if (!failed && last)
        failed = feed_middle(d, going, plans, segments, logits, stride, &m);
    while (going && !failed) {
        int left = 0;
        for (int i = 0; i < going; i++) {
            const int32_t row = m.rows[i], place = m.places[i], position = segments[row].start;
            float chosen;
            const int32_t token = draw_token(how, position, row, logits + (ptrdiff_t)row * stride, stride, &chosen);
            const int32_t missing = plans[row].missing ? plans[row].missing - 1
                                    : token < d->count ? d->arities[token]
                                                       : -1;
            tokens[(ptrdiff_t)place * how->longest + lengths[place]++] = token;
            confidences[place] = chosen < confidences[place] ? chosen : confidences[place];
            if (missing > 0 && position + 1 < how->limit) {
                m.rows[left] = row;
                m.places[left] = place;
                m.tokens[left++] = token;
            } else if (missing) {
                lengths[place] = -lengths[place];
            }
        }
        going = left;
        if (going)
            failed = feed_middle(d, going, plans, segments, logits, stride, &m);
    }
    close_middle(&m);
    return failed;
}
