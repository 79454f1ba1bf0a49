/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Column generation. The master problem starts from each send and each latency alone and keeps the inverse of its basis.
 * The sets of a pool are priced and the best enter one after another, until none has a sum above 1; then all sets are
 * priced with the current y, and the most promising ones put into the pool. The end is when no set at all has a sum
 * above 1.
 *
 * A row of the program is a send or a source's latency, both as shares of what there is in all. A column is a set with
 * the latencies that pass meanwhile, of sources that are idle in it.
 *
 * Right sides are not exactly what is left but a little more, each by another amount: equal sends would make every pivot
 * a tie. What was found, y and the sends that it is for, is kept: it bounds all states in which no other sends are left.
 */
#include "order/dual.h"

#include <math.h>

#include "order/problem_symmetry.h"

enum {
    ASK_EVERY = 4096,
    ENTERING = 64,
    AT_ONCE = 6,
    POOL = 1024,
    POOL_AGE = 64,
    MENDING_MAX = 200,
    PIVOTS_MAX = 50,
    ROUNDS_MAX = 60,
    POOL_ROUNDS_MAX = 400,
    KEPT = 64
};
enum { ROWS_MAX = HOP_ROW_ALL_SENDS + HOP_ROW_SOURCES };
#define PIVOT_LEAST 1e-9
#define PERTURBED 1e-5
#define SETTLED (1 + 1e-10)
#define LEFT_LEAST 1e-12 /* a share: less is nothing */

struct hop_dual {
    const struct hop_problem *problem;
    struct hop_problem *merged;
    uint32_t *into; /* per operation of the problem */
    struct hop_rows *rows;
    uint32_t m;                         /* rows of the program: sends, then latencies of sources that have any */
    uint32_t late_row[HOP_ROW_SOURCES]; /* per source of the merged problem; HOP_NONE: it has none */
    uint32_t *late_of; /* per operation of the problem: the source that its latency holds, HOP_NONE: none */
    double late_s[HOP_ROW_SOURCES];                     /* per source: in all */
    uint32_t op_of[HOP_ROW_SOURCES][HOP_ROW_SENDS + 1]; /* per source and digit */
};

/* A set, and the sources whose latencies pass meanwhile: what it does a second, of the rows at[0 .. count). */
struct column {
    uint64_t used; /* by which solution it was last in a basis */
    uint32_t count;
    uint8_t at[HOP_ROW_SOURCES];
    double does[HOP_ROW_SOURCES];
};

/* A column that may enter: its set, or its place in the pool. */
struct entering {
    double sum;
    uint32_t column;
};

struct kept {
    uint64_t sends;
    double y[ROWS_MAX];
};

struct hop_dual_solver {
    struct hop_dual *dual;
    struct hop_sets *sets;
    bool (*go_on)(void *context);
    void *context;
    struct column *basis; /* m */
    double *inverse;      /* m x m */
    uint32_t pivots;      /* since it was inverted anew; UINT32_MAX: there is no basis yet */
    double x[ROWS_MAX], y[ROWS_MAX], direction[ROWS_MAX];
    double left[ROWS_MAX]; /* right sides: shares */
    uint64_t sends;        /* that are left */
    struct column *pool;
    uint32_t pooled;
    uint64_t solved;
    uint64_t weighed; /* columns, in all */
    struct kept *kept;
    uint32_t kept_count, order[KEPT]; /* order: the one that was of use last comes first */
    struct entering list[ENTERING];
    struct hop_arena arena;
};

/* ---- the program ---- */

static double sets_of(const struct hop_problem *problem)
{
    double count = 1;
    for (uint32_t s = 0; s < problem->source_count; s++)
        count *= problem->sources[s].count + 1.0;
    return count;
}

/* The source of the merged problem that pays for an operation's latency; HOP_NONE: none does. */
static uint32_t who_is_late(const struct hop_dual *d, uint32_t op)
{
    const struct hop_problem *p = d->problem;
    const struct hop_problem_source *source = p->ops[op].source == HOP_NONE ? NULL : &p->sources[p->ops[op].source];
    if (!source || source->limit > 1 || p->ops[op].class_index == HOP_NONE || p->ops[op].latency_s <= 0)
        return HOP_NONE;
    for (uint32_t i = source->first; i < source->first + source->count; i++) {
        if (d->into[p->sends[i]] != HOP_NONE)
            return d->merged->ops[d->into[p->sends[i]]].source;
    }
    return HOP_NONE; /* it sends no bytes */
}

static bool lay_out(struct hop_dual *d)
{
    const struct hop_problem *p = d->problem, *m = d->merged;
    d->late_of = malloc((p->op_count + (size_t)1) * sizeof *d->late_of);
    if (!d->late_of)
        return false;
    d->m = m->op_count;
    memset(d->late_row, 0xff, sizeof d->late_row);
    for (uint32_t op = 0; op < p->op_count; op++) {
        uint32_t s = d->late_of[op] = who_is_late(d, op);
        if (s == HOP_NONE)
            continue;
        if (d->late_row[s] == HOP_NONE)
            d->late_row[s] = d->m++;
        d->late_s[s] += p->ops[op].latency_s;
    }
    for (uint32_t s = 0; s < m->source_count; s++) {
        for (uint32_t digit = 1; digit <= m->sources[s].count; digit++)
            d->op_of[s][digit] = m->sends[m->sources[s].first + digit - 1];
    }
    return true;
}

static enum hop_status make_rows(struct hop_dual *d, struct hop_diag *diag)
{
    uint32_t *images, count;
    HOP_CHECK(hop_problem_images(d->merged, false, 64, &images, &count, diag));
    enum hop_status status = hop_rows_create(d->merged, images, count, &d->rows, diag);
    free(images);
    return status;
}

enum hop_status hop_dual_create(const struct hop_problem *problem, double most_sets, struct hop_dual **dual,
                                struct hop_diag *diag)
{
    struct hop_dual *d = calloc(1, sizeof *d);
    *dual = NULL;
    if (!d)
        return hop_fail_memory(diag);
    d->problem = problem;
    d->into = malloc((problem->op_count + (size_t)1) * sizeof *d->into);
    enum hop_status status = d->into ? hop_problem_merge(problem, d->into, &d->merged, diag) : hop_fail_memory(diag);
    bool fits = status == HOP_OK && d->merged && hop_rows_fit(d->merged) && sets_of(d->merged) <= most_sets;
    if (fits)
        status = lay_out(d) ? make_rows(d, diag) : hop_fail_memory(diag);
    if (fits && status == HOP_OK)
        *dual = d;
    else
        hop_dual_destroy(d);
    return status;
}

void hop_dual_destroy(struct hop_dual *d)
{
    if (!d)
        return;
    hop_rows_destroy(d->rows);
    hop_problem_destroy(d->merged);
    free(d->into);
    free(d->late_of);
    free(d);
}

/* ---- solvers ---- */

enum hop_status hop_dual_solver_create(struct hop_dual *dual, bool (*go_on)(void *context), void *context,
                                       struct hop_dual_solver **solver, struct hop_diag *diag)
{
    struct hop_dual_solver *s = calloc(1, sizeof *s);
    if (!s)
        return hop_fail_memory(diag);
    s->dual = dual;
    s->go_on = go_on;
    s->context = context;
    s->pivots = UINT32_MAX;
    s->basis = hop_arena_alloc(&s->arena, dual->m * sizeof *s->basis);
    s->inverse = hop_arena_alloc(&s->arena, 2 * (size_t)dual->m * dual->m * sizeof *s->inverse);
    s->pool = hop_arena_alloc(&s->arena, POOL * sizeof *s->pool);
    s->kept = hop_arena_alloc(&s->arena, KEPT * sizeof *s->kept);
    enum hop_status status = s->arena.failed ? hop_fail_memory(diag) : hop_sets_create(dual->merged, &s->sets, diag);
    if (status == HOP_OK)
        *solver = s;
    else
        hop_dual_solver_destroy(s);
    return status;
}

void hop_dual_solver_destroy(struct hop_dual_solver *s)
{
    if (!s)
        return;
    hop_sets_destroy(s->sets);
    hop_arena_finish(&s->arena);
    free(s);
}

uint64_t hop_dual_weighed(const struct hop_dual_solver *s)
{
    return s->weighed;
}

enum hop_status hop_dual_status(const struct hop_dual_solver *s, struct hop_diag *diag)
{
    return hop_sets_status(s->sets, diag);
}

/* ---- pricing ---- */

/* Keeps those with the greatest sums, the smallest one first in the list (a heap would not pay for so few). */
static void offer(struct entering *list, uint32_t *count, uint32_t most, struct entering entry)
{
    uint32_t at = 0;
    if (*count == most && entry.sum <= list[0].sum)
        return;
    bool full = *count == most;
    *count += !full;
    for (at = full ? 0 : *count - 1; !full && at > 0 && list[at - 1].sum > entry.sum; at--)
        list[at] = list[at - 1];
    for (; full && at + 1 < most && list[at + 1].sum < entry.sum; at++)
        list[at] = list[at + 1];
    list[at] = entry;
}

/* What a source adds to a set's sum: y for each share that it sends a second; while it is idle, its latency's. */
struct prices {
    double send[HOP_ROW_SOURCES][HOP_ROW_SENDS + 1];
    double idle[HOP_ROW_SOURCES];
};

static void find_prices(const struct hop_dual_solver *s, struct prices *prices)
{
    const struct hop_dual *d = s->dual;
    *prices = (struct prices){.idle = {0}};
    for (uint32_t i = 0; i < d->rows->sources; i++) {
        for (uint32_t digit = 1; digit <= d->rows->sends[i]; digit++)
            prices->send[i][digit] = s->y[d->op_of[i][digit]];
        if (d->late_row[i] != HOP_NONE)
            prices->idle[i] = hop_max(0, s->y[d->late_row[i]]) / d->late_s[i];
    }
}

/* The sums of sends, four at a time. */
static double sum_of(const double *price, const struct hop_rows *rows, uint32_t row)
{
    double a = 0, b = 0, c = 0, d = 0;
    for (uint32_t i = 0; i < rows->width; i += 4) {
        const double *rate = hop_rows_part(rows, row, i / 4)->rate;
        a += price[i] * rate[0];
        b += price[i + 1] * rate[1];
        c += price[i + 2] * rate[2];
        d += price[i + 3] * rate[3];
    }
    return (a + b) + (c + d);
}

/* Where a pass through the sets of what is left stands: source i carries its choice[i]-th of count[i], digit 0 first. */
struct counter {
    uint32_t count[HOP_ROW_SOURCES], choice[HOP_ROW_SOURCES];
    uint8_t digits[HOP_ROW_SOURCES][HOP_ROW_SENDS + 1];
    double price[HOP_ROW_SOURCES]; /* of what each carries */
    double idle;                   /* of those who carry nothing, together */
    uint32_t row;
};

static void begin_count(const struct hop_dual_solver *s, const struct prices *prices, struct counter *c)
{
    const struct hop_dual *d = s->dual;
    memset(c, 0, sizeof *c);
    for (uint32_t i = 0; i < d->rows->sources; i++) {
        c->count[i] = 1;
        c->idle += prices->idle[i];
        for (uint32_t digit = 1; digit <= d->rows->sends[i]; digit++) {
            if (s->sends >> d->op_of[i][digit] & 1)
                c->digits[i][c->count[i]++] = (uint8_t)digit;
        }
    }
}

/* The next set; false: that was the last one. */
static bool next_set(const struct hop_dual *d, const struct prices *prices, struct counter *c)
{
    bool more = false;
    for (uint32_t i = 0; i < d->rows->sources && !more; i++) {
        uint32_t was = c->digits[i][c->choice[i]];
        more = ++c->choice[i] < c->count[i];
        c->choice[i] = more ? c->choice[i] : 0;
        uint32_t is = c->digits[i][c->choice[i]];
        c->row += (is - was) << d->rows->shift[i];
        c->price[i] = prices->send[i][is];
        if (!was != !is)
            c->idle += is ? -prices->idle[i] : prices->idle[i];
    }
    return more;
}

/* Prices all sets that count; returns the greatest sum, below 0: a model failed, or it was stopped. */
static double price_all(struct hop_dual_solver *s, uint32_t *count)
{
    const struct hop_dual *d = s->dual;
    struct hop_rows *rows = d->rows;
    struct prices prices;
    struct counter c;
    find_prices(s, &prices);
    begin_count(s, &prices, &c);
    double worst = c.idle; /* nobody sends */
    *count = 0;
    if (c.idle > SETTLED)
        offer(s->list, count, ENTERING, (struct entering){c.idle, 0});
    for (uint32_t asked = 1; next_set(d, &prices, &c); asked++) {
        enum hop_row_state state = hop_rows_state(rows, s->sets, c.row);
        if (state == HOP_ROW_EMPTY || (asked % ASK_EVERY == 0 && s->go_on && !s->go_on(s->context)))
            return -1;
        double sum = c.idle + sum_of(c.price, rows, c.row);
        s->weighed++;
        if (d->merged->clean && state != HOP_ROW_CLEAN)
            continue;
        worst = hop_max(worst, sum);
        if (sum > SETTLED)
            offer(s->list, count, ENTERING, (struct entering){sum, c.row});
    }
    return worst;
}

/* What a column does, each row weighed. */
static double weigh(const struct column *column, const double *weight)
{
    double sum = 0;
    for (uint32_t i = 0; i < column->count; i++)
        sum += column->does[i] * weight[column->at[i]];
    return sum;
}

static double price_pool(struct hop_dual_solver *s, uint32_t *count)
{
    double worst = 0;
    *count = 0;
    s->weighed += s->pooled;
    for (uint32_t k = 0; k < s->pooled; k++) {
        double sum = weigh(&s->pool[k], s->y);
        worst = hop_max(worst, sum);
        if (sum > SETTLED)
            offer(s->list, count, AT_ONCE, (struct entering){sum, k});
    }
    return worst;
}

/* A set with the latencies that are worth passing. */
static struct column read_set(const struct hop_dual_solver *s, uint32_t row)
{
    const struct hop_dual *d = s->dual;
    const struct hop_rows *rows = d->rows;
    struct column column = {.used = s->solved};
    for (uint32_t i = 0; i < rows->sources; i++) {
        uint32_t digit = (row & rows->bits[i]) >> rows->shift[i], late = d->late_row[i];
        if (!digit && (late == HOP_NONE || s->y[late] <= 0))
            continue;
        column.at[column.count] = (uint8_t)(digit ? d->op_of[i][digit] : late);
        column.does[column.count++] = digit ? hop_rows_part(rows, row, i / 4)->rate[i % 4] : 1 / d->late_s[i];
    }
    return column;
}

/* Puts the sets of the list into the pool; where it is full, those go that were of no use for a while. */
static void add_to_pool(struct hop_dual_solver *s, uint32_t count)
{
    for (uint64_t age = POOL_AGE; s->pooled + count > POOL; age /= 2) {
        uint32_t left = 0;
        for (uint32_t k = 0; k < s->pooled; k++) {
            if (age > 0 && s->pool[k].used + age > s->solved)
                s->pool[left++] = s->pool[k];
        }
        s->pooled = left;
    }
    while (count > 0)
        s->pool[s->pooled++] = read_set(s, s->list[--count].column);
}

/* ---- the simplex ---- */

/* y = the sum of the inverse's rows: every basic set costs 1. */
static void find_y(struct hop_dual_solver *s)
{
    uint32_t m = s->dual->m;
    memset(s->y, 0, m * sizeof *s->y);
    for (uint32_t i = 0; i < m; i++) {
        for (uint32_t j = 0; j < m; j++)
            s->y[j] += s->inverse[i * m + j];
    }
}

static void find_x(struct hop_dual_solver *s)
{
    uint32_t m = s->dual->m;
    for (uint32_t i = 0; i < m; i++) {
        s->x[i] = 0;
        for (uint32_t j = 0; j < m; j++)
            s->x[i] += s->inverse[i * m + j] * (s->left[j] + PERTURBED * (j + 1) / m);
    }
}

/* A column takes the place of a basic one. */
static void replace(struct hop_dual_solver *s, uint32_t out, struct column *column)
{
    uint32_t m = s->dual->m;
    double pivot = s->direction[out], least = s->x[out] / pivot;
    column->used = s->solved;
    s->basis[out] = *column;
    s->pivots++;
    for (uint32_t j = 0; j < m; j++)
        s->inverse[out * m + j] /= pivot;
    for (uint32_t i = 0; i < m; i++) {
        if (i == out || s->direction[i] == 0)
            continue;
        for (uint32_t j = 0; j < m; j++)
            s->inverse[i * m + j] -= s->direction[i] * s->inverse[out * m + j];
        s->x[i] -= s->direction[i] * least;
    }
    s->x[out] = least;
}

/* The inverse times a column; returns what it costs beside what it saves. */
static double find_direction(struct hop_dual_solver *s, const struct column *column)
{
    double cost = 1;
    for (uint32_t i = 0; i < s->dual->m; i++) {
        s->direction[i] = weigh(column, s->inverse + i * s->dual->m);
        cost -= s->direction[i];
    }
    return cost;
}

/* Brings a column into the basis; nothing in it is below 0 then. */
static void enter(struct hop_dual_solver *s, struct column *column)
{
    uint32_t out = UINT32_MAX;
    double least = INFINITY;
    if (find_direction(s, column) > -1e-12) /* those that entered before it have made it useless */
        return;
    for (uint32_t i = 0; i < s->dual->m; i++) {
        double limit = hop_max(0, s->x[i]);
        if (s->direction[i] > PIVOT_LEAST && limit / s->direction[i] < least) {
            least = limit / s->direction[i];
            out = i;
        }
    }
    if (out != UINT32_MAX)
        replace(s, out, column);
}

/* The optimum over the sets of the pool, from a basis in which nothing is below 0. */
static void solve_pool(struct hop_dual_solver *s)
{
    for (uint32_t round = 0; round < POOL_ROUNDS_MAX; round++) {
        uint32_t count;
        find_y(s);
        if (price_pool(s, &count) <= SETTLED)
            return;
        while (count > 0) /* more would change their sums too much meanwhile */
            enter(s, &s->pool[s->list[--count].column]);
    }
    find_y(s);
}

/* The basic column that is furthest below 0; UINT32_MAX: none is. */
static uint32_t find_negative(const struct hop_dual_solver *s)
{
    uint32_t out = UINT32_MAX;
    double least = -1e-9;
    for (uint32_t i = 0; i < s->dual->m; i++) {
        if (s->x[i] < least) {
            least = s->x[i];
            out = i;
        }
    }
    return out;
}

/* From an optimal basis of other right sides to one in which nothing is below 0, no sum of the pool rising above 1; false: it
 * takes too long. */
static bool mend(struct hop_dual_solver *s)
{
    find_x(s);
    for (uint32_t round = 0; round < MENDING_MAX; round++) {
        uint32_t out = find_negative(s);
        if (out == UINT32_MAX)
            return true;
        struct column *best = NULL;
        double least = INFINITY;
        s->weighed += 2 * (uint64_t)s->pooled;
        for (uint32_t k = 0; k < s->pooled; k++) {
            double falls = -weigh(&s->pool[k], s->inverse + out * s->dual->m);
            if (falls <= 1e-7)
                continue;
            double slack = hop_max(0, 1 - weigh(&s->pool[k], s->y));
            if (slack < least * falls) {
                least = slack / falls;
                best = &s->pool[k];
            }
        }
        if (!best)
            return false;
        (void)find_direction(s, best);
        replace(s, out, best);
        find_y(s);
    }
    return false;
}

/* Inverts the basis; false: rounding has made it singular. */
static bool invert(struct hop_dual_solver *s)
{
    uint32_t m = s->dual->m;
    double *a = s->inverse + (size_t)m * m, *b = s->inverse;
    memset(s->inverse, 0, 2 * (size_t)m * m * sizeof *b);
    for (uint32_t k = 0; k < m; k++) {
        b[k * m + k] = 1;
        for (uint32_t i = 0; i < s->basis[k].count; i++)
            a[s->basis[k].at[i] * m + k] = s->basis[k].does[i];
    }
    for (uint32_t k = 0; k < m; k++) {
        uint32_t pivot = k;
        for (uint32_t i = k + 1; i < m; i++)
            pivot = fabs(a[i * m + k]) > fabs(a[pivot * m + k]) ? i : pivot;
        double value = a[pivot * m + k];
        if (fabs(value) < 1e-9)
            return false;
        for (uint32_t j = 0; j < m; j++) {
            double x = a[pivot * m + j], y = b[pivot * m + j];
            a[pivot * m + j] = a[k * m + j];
            b[pivot * m + j] = b[k * m + j];
            a[k * m + j] = x / value;
            b[k * m + j] = y / value;
        }
        for (uint32_t i = 0; i < m; i++) {
            double factor = a[i * m + k];
            if (i == k || factor == 0)
                continue;
            for (uint32_t j = 0; j < m; j++) {
                a[i * m + j] -= factor * a[k * m + j];
                b[i * m + j] -= factor * b[k * m + j];
            }
        }
    }
    s->pivots = 0;
    return true;
}

/* Each send and each latency alone. */
static bool begin_basis(struct hop_dual_solver *s)
{
    const struct hop_dual *d = s->dual;
    for (uint32_t i = 0; i < d->rows->sources; i++) {
        for (uint32_t digit = 1; digit <= d->rows->sends[i]; digit++) {
            uint32_t row = digit << d->rows->shift[i], op = d->op_of[i][digit];
            if (hop_rows_state(d->rows, s->sets, row) == HOP_ROW_EMPTY)
                return false;
            double alone = hop_rows_part(d->rows, row, i / 4)->rate[i % 4];
            s->basis[op] = (struct column){.count = 1, .at = {(uint8_t)op}, .does = {alone}};
        }
        uint32_t late = d->late_row[i];
        if (late != HOP_NONE)
            s->basis[late] = (struct column){.count = 1, .at = {(uint8_t)late}, .does = {1 / d->late_s[i]}};
    }
    (void)invert(s);
    find_x(s);
    return true;
}

/* A basis that is optimal for the pool, from the last one if there is one; false: a model failed. */
static bool begin(struct hop_dual_solver *s)
{
    bool fresh = s->pivots == UINT32_MAX || (s->pivots > PIVOTS_MAX && !invert(s));
    if (!fresh) {
        find_y(s);
        fresh = !mend(s);
    }
    if (fresh && !begin_basis(s))
        return false;
    solve_pool(s);
    return true;
}

/* ---- bounds ---- */

/* What is left in a state. */
static void read_state(struct hop_dual_solver *s, const struct hop_state *state)
{
    const struct hop_dual *d = s->dual;
    const struct hop_problem *p = d->problem;
    memset(s->left, 0, d->m * sizeof *s->left);
    for (uint32_t op = 0; op < p->op_count; op++) {
        if (hop_state_ended(p, state, op))
            continue;
        double bytes = p->ops[op].bytes, late_s = p->ops[op].latency_s;
        if (hop_state_started(p, state, op)) {
            uint32_t slot = p->ops[op].slot; /* of sources that send one at a time: what moves is of no other */
            enum hop_state_phase phase = hop_state_phase(p, state)[slot];
            if (phase == HOP_PHASE_FLOW)
                bytes = hop_state_left(state)[slot];
            late_s = phase == HOP_PHASE_FLOW    ? 0
                     : phase == HOP_PHASE_TIMED ? hop_max(0, hop_state_left(state)[slot] - state->now_s)
                                                : late_s;
        }
        if (d->into[op] != HOP_NONE)
            s->left[d->into[op]] += bytes / d->merged->ops[d->into[op]].bytes;
        if (d->late_of[op] != HOP_NONE)
            s->left[d->late_row[d->late_of[op]]] += late_s / d->late_s[d->late_of[op]];
    }
    s->sends = 0;
    for (uint32_t f = 0; f < d->merged->op_count; f++)
        s->sends |= (uint64_t)(s->left[f] > LEFT_LEAST) << f;
}

static double value_of(const struct hop_dual_solver *s, const double *y)
{
    double value = 0;
    for (uint32_t i = 0; i < s->dual->m; i++)
        value += y[i] * s->left[i];
    return value;
}

/* The greatest bound of those kept, or the first that is enough. */
static double look_up(struct hop_dual_solver *s, double enough_s)
{
    double most_s = 0;
    for (uint32_t k = 0; k < s->kept_count; k++) {
        uint32_t at = s->order[k];
        const struct kept *kept = &s->kept[at];
        double value_s = s->sends & ~kept->sends ? 0 : value_of(s, kept->y);
        most_s = hop_max(most_s, value_s);
        if (value_s < enough_s)
            continue;
        memmove(s->order + 1, s->order, k * sizeof *s->order);
        s->order[0] = at;
        return value_s;
    }
    return most_s;
}

/* y divided by its worst sum, in the place of what was of no use for longest. */
static void keep(struct hop_dual_solver *s, double worst)
{
    uint32_t at = s->kept_count < KEPT ? s->kept_count++ : s->order[KEPT - 1];
    memmove(s->order + 1, s->order, (s->kept_count - 1) * sizeof *s->order);
    s->order[0] = at;
    struct kept *kept = &s->kept[at];
    kept->sends = s->sends;
    for (uint32_t i = 0; i < s->dual->m; i++) {
        bool gone = i < s->dual->merged->op_count && !(s->sends >> i & 1);
        kept->y[i] = gone ? 0 : i < s->dual->merged->op_count ? s->y[i] / worst : hop_max(0, s->y[i]) / worst;
    }
}

static double solve(struct hop_dual_solver *s, double enough_s)
{
    double most_s = 0;
    s->solved++;
    if (!begin(s))
        return -1;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        uint32_t count;
        if (isfinite(enough_s) && value_of(s, s->y) < enough_s * (1 - 1e-6)) /* it only gets less */
            break;
        double worst = price_all(s, &count);
        if (worst < 0)
            return -1;
        double value_s = value_of(s, s->y) / hop_max(1, worst);
        if (value_s > most_s)
            keep(s, hop_max(1, worst));
        most_s = hop_max(most_s, value_s);
        if (count == 0 || most_s >= enough_s)
            break;
        add_to_pool(s, count);
        solve_pool(s);
    }
    return most_s;
}

double hop_dual_left(struct hop_dual_solver *s, const struct hop_state *state, double enough_s, bool solves)
{
    read_state(s, state);
    double known_s = look_up(s, enough_s);
    if (known_s >= enough_s || !solves)
        return known_s;
    double solved_s = solve(s, enough_s);
    return solved_s < 0 ? -1 : hop_max(known_s, solved_s);
}

enum hop_status hop_dual_weights(struct hop_dual_solver *s, double *y, double *late, struct hop_diag *diag)
{
    const struct hop_dual *d = s->dual;
    const struct hop_problem *p = d->problem;
    struct hop_state *state = malloc(p->state_size);
    if (!state)
        return hop_fail_memory(diag);
    hop_state_begin(p, state);
    double value_s = hop_dual_left(s, state, INFINITY, true);
    free(state);
    memset(y, 0, p->op_count * sizeof *y);
    memset(late, 0, p->op_count * sizeof *late);
    if (value_s < 0)
        return hop_dual_status(s, diag);
    const double *best = s->kept[s->order[0]].y;
    for (uint32_t op = 0; op < p->op_count; op++) {
        uint32_t into = d->into[op], source = d->late_of[op];
        y[op] = into == HOP_NONE ? 0 : best[into] * (p->ops[op].bytes / d->merged->ops[into].bytes);
        late[op] = source == HOP_NONE ? 0 : best[d->late_row[source]] * (p->ops[op].latency_s / d->late_s[source]);
    }
    return HOP_OK;
}
