/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Penalties from measured times. A group falls into pieces that share no node; a piece is a connected graph whose
 * transfers start together. With its transfers sorted by time into batches that end together, at T_1 < T_2 < ..., a
 * transfer of batch k has moved
 *
 *     m = sum over the steps j = 1 .. k of (T_j - T_(j-1)) / (alpha rho_j),   T_0 = 0
 *
 * rho_j, j >= 2, is its penalty in the first step of the graph that is left then: a smaller piece of that shape, if one
 * was measured. So pieces are solved in the order of their sizes, and rho_1 is what remains. Pieces of one shape are
 * one class, whose penalties are their mean. (Equation 3 of the paper: the length of step j is T_j - T_(j-1).)
 */
#include "calibrate/shape.h"
#include "model/penalty.h"

#include <math.h>
#include <stdio.h>

struct piece {
    struct hop_shape shape;
    uint32_t group;
    uint32_t rows[HOP_PENALTY_TRANSFERS_MAX]; /* of the measurements */
    double penalty[HOP_PENALTY_TRANSFERS_MAX];
    bool solved;
};

/* Pieces of one shape. */
struct class
{
    const struct piece *first;
    double sum[HOP_PENALTY_TRANSFERS_MAX]; /* by the edges of first */
    uint32_t count;
};

struct work {
    const struct hop_measurements *measurements;
    const struct hop_topology *topology;
    struct hop_router *router;
    struct hop_penalty_result *result;
    struct hop_penalty *penalties;
    const char **missing;
    double alpha_s, together;
    bool fill;
    uint32_t *from, *to; /* vertices, per row */
    struct hop_names names;
    struct hop_penalties *model;
    struct piece **pieces;
    struct class *classes;
    uint32_t piece_count, class_count, vertex_count;
    struct hop_arena arena;
    struct hop_failure failure; /* after which nothing is done */
};

struct owned_result {
    struct hop_penalty_result result;
    struct hop_arena arena;
};

static bool good(const struct work *w)
{
    return w->failure.status == HOP_OK && !w->arena.failed;
}

/* The place of the failure, if there is one. */
static void place(struct work *w, const struct hop_measurement *row, uint32_t column)
{
    hop_failure_place(&w->failure, "%s:%u:%u", hop_measurements_name(w->measurements), row->line, column);
}

/* ---- vertices ---- */

static uint32_t find_device(struct work *w, const struct hop_measurement *row, const char *name, uint32_t column)
{
    uint32_t node = hop_topology_find(w->topology, name);
    if (node != HOP_NONE && hop_node_is_device(hop_topology_node(w->topology, node)->kind))
        return node;
    const char *near = hop_topology_nearest(w->topology, name);
    hop_failure_set(&w->failure, HOP_ERR_INVALID,
                    "there is no device '%.60s' in topology %.60s\n%s%sone of its devices", name,
                    hop_topology_name(w->topology), near ? near : "", near ? "? " : "");
    place(w, row, column);
    return HOP_NONE;
}

static bool is_fabric_link(const struct hop_topology *topology, uint32_t directed)
{
    enum hop_link_kind kind = hop_topology_link(topology, directed / 2)->kind;
    return kind == HOP_LINK_INFINIBAND || kind == HOP_LINK_ETHERNET;
}

/* The ports at which a row's transfer enters and leaves the fabric. */
static void find_ports(struct work *w, const struct hop_measurement *row, uint32_t *from, uint32_t *to)
{
    uint32_t ends[2] = {find_device(w, row, row->from, row->from_column), find_device(w, row, row->to, row->to_column)};
    uint32_t index = 0;
    if (good(w))
        w->failure.status = hop_router_find(w->router, ends[0], ends[1], &index, w->failure.diag);
    if (!good(w)) {
        place(w, row, row->from_column);
        return;
    }
    const struct hop_route *route = hop_router_route(w->router, index);
    *from = HOP_NONE;
    for (uint32_t i = 0; i < route->link_count; i++) {
        uint32_t directed = route->links[i];
        const struct hop_link *link = hop_topology_link(w->topology, directed / 2);
        if (!is_fabric_link(w->topology, directed))
            continue;
        *from = *from == HOP_NONE ? link->ends[directed & 1] : *from;
        *to = link->ends[!(directed & 1)];
    }
    if (*from != HOP_NONE)
        return;
    hop_failure_set(&w->failure, HOP_ERR_INVALID,
                    "the transfer from %.60s to %.60s uses no network fabric\ntransfers between nodes, over InfiniBand "
                    "or Ethernet",
                    row->from, row->to);
    place(w, row, row->from_column);
}

static uint32_t number_name(struct work *w, const char *name)
{
    uint32_t vertex = hop_names_get(&w->names, name);
    if (vertex != UINT32_MAX)
        return vertex;
    w->arena.failed |= !hop_names_put(&w->names, name, w->vertex_count);
    return w->vertex_count++;
}

static void number_vertices(struct work *w)
{
    uint32_t count = hop_measurements_count(w->measurements);
    w->from = hop_arena_alloc(&w->arena, (count + 1) * sizeof *w->from);
    w->to = hop_arena_alloc(&w->arena, (count + 1) * sizeof *w->to);
    w->router = w->topology ? hop_router_create(w->topology) : NULL;
    w->arena.failed |= w->topology && !w->router;
    w->vertex_count = w->topology ? hop_topology_node_count(w->topology) : 0;
    for (uint32_t i = 0; i < count && good(w); i++) {
        const struct hop_measurement *row = hop_measurements_at(w->measurements, i);
        if (w->topology) {
            find_ports(w, row, &w->from[i], &w->to[i]);
            continue;
        }
        w->from[i] = number_name(w, row->from);
        w->to[i] = number_name(w, row->to);
    }
}

/* ---- bandwidth, and what the models say ---- */

static void measure_alpha(struct work *w)
{
    struct hop_penalty_result *result = w->result;
    double sum = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t g = 0; g < hop_measurements_group_count(w->measurements); g++) {
            struct hop_measurement_group group = hop_measurements_group(w->measurements, g);
            double rate_Bps = hop_measurements_at(w->measurements, group.rows[0])->rate_Bps;
            if (group.count > 1 || isnan(rate_Bps))
                continue;
            sum += 1 / rate_Bps;
            result->alone += pass == 0;
            if (pass == 1)
                result->alone_spread = fmax(result->alone_spread, fabs(1 / (rate_Bps * w->alpha_s) - 1));
        }
        if (pass == 0 && result->alone > 0)
            w->alpha_s = sum / result->alone;
    }
    if (result->alone > 0 || !good(w))
        return;
    hop_failure_set(&w->failure, HOP_ERR_INVALID,
                    "no transfer ran alone: nothing says how fast one is without contention\na concurrent_group of one "
                    "row with its bytes and its measured value, or the bandwidth");
    hop_failure_place(&w->failure, "%s", hop_measurements_name(w->measurements));
}

/* What a model says of the graph of some rows. */
static void ask_model(struct work *w, const uint32_t *rows, uint32_t count, enum hop_penalty_reading model,
                      double *said)
{
    struct hop_edge edges[HOP_PENALTY_TRANSFERS_MAX];
    for (uint32_t i = 0; i < count; i++)
        edges[i] = (struct hop_edge){w->from[rows[i]], w->to[rows[i]], 1};
    w->arena.failed |= !hop_penalties_of(w->model, edges, count, model, said);
}

static void ask_models(struct work *w)
{
    double floor_penalty[HOP_PENALTY_TRANSFERS_MAX], full_penalty[HOP_PENALTY_TRANSFERS_MAX];
    w->model = hop_penalties_create(w->vertex_count, &w->arena);
    w->arena.failed |= !w->model;
    for (uint32_t g = 0; g < hop_measurements_group_count(w->measurements) && good(w); g++) {
        struct hop_measurement_group group = hop_measurements_group(w->measurements, g);
        if (group.count > HOP_PENALTY_TRANSFERS_MAX) {
            hop_failure_set(&w->failure, HOP_ERR_LIMIT,
                            "the group '%.60s' has %u transfers\nat most %d that start together", group.name,
                            group.count, HOP_PENALTY_TRANSFERS_MAX);
            place(w, hop_measurements_at(w->measurements, group.rows[HOP_PENALTY_TRANSFERS_MAX]), 1);
            return;
        }
        ask_model(w, group.rows, group.count, HOP_PENALTY_FLOOR, floor_penalty);
        ask_model(w, group.rows, group.count, HOP_PENALTY_FULL, full_penalty);
        for (uint32_t i = 0; i < group.count && good(w); i++)
            w->penalties[group.rows[i]] = (struct hop_penalty){NAN, floor_penalty[i], full_penalty[i]};
    }
}

/* ---- pieces ---- */

/* The edges of `left` that are connected with its first one, moved to `part`; what stays is left. */
static uint32_t split(const struct work *w, uint32_t *left, uint32_t *left_count, uint32_t *part)
{
    uint32_t count = 0;
    bool grew = true;
    part[count++] = left[0];
    memmove(left, left + 1, --*left_count * sizeof *left);
    while (grew) {
        grew = false;
        for (uint32_t i = 0; i < *left_count;) {
            uint32_t row = left[i], p = 0;
            while (p < count && w->from[row] != w->from[part[p]] && w->from[row] != w->to[part[p]] &&
                   w->to[row] != w->from[part[p]] && w->to[row] != w->to[part[p]])
                p++;
            if (p == count) {
                i++;
                continue;
            }
            part[count++] = row;
            memmove(left + i, left + i + 1, (--*left_count - i) * sizeof *left);
            grew = true;
        }
    }
    return count;
}

static void shape_of(const struct work *w, const uint32_t *rows, uint32_t count, struct hop_shape *shape)
{
    shape->count = count;
    for (uint32_t i = 0; i < count; i++) {
        shape->from[i] = w->from[rows[i]];
        shape->to[i] = w->to[rows[i]];
    }
    hop_shape_finish(shape);
}

static void cut_pieces(struct work *w)
{
    for (uint32_t g = 0; g < hop_measurements_group_count(w->measurements); g++) {
        struct hop_measurement_group group = hop_measurements_group(w->measurements, g);
        uint32_t left[HOP_PENALTY_TRANSFERS_MAX], left_count = group.count;
        memcpy(left, group.rows, group.count * sizeof *left);
        while (left_count > 0) {
            struct piece *piece = hop_arena_alloc(&w->arena, sizeof *piece);
            if (!piece || !HOP_GROW(&w->arena, w->pieces, w->piece_count + 1))
                return;
            piece->group = g;
            uint32_t count = split(w, left, &left_count, piece->rows);
            shape_of(w, piece->rows, count, &piece->shape);
            w->pieces[w->piece_count++] = piece;
        }
    }
}

static int by_size(const void *a, const void *b)
{
    const struct piece *x = *(const struct piece *const *)a, *y = *(const struct piece *const *)b;
    int order = HOP_ORDER(x->shape.count, y->shape.count);
    return order ? order : HOP_ORDER(x->rows[0], y->rows[0]);
}

/* ---- solving ---- */

/* The class of a shape and how it maps to it; NULL: there is none. */
static struct class *find_class(struct work *w, const struct hop_shape *shape, uint32_t *match)
{
    for (uint32_t c = 0; c < w->class_count; c++) {
        if (hop_shape_match(shape, &w->classes[c].first->shape, match, &w->failure))
            return &w->classes[c];
    }
    return NULL;
}

static void add_to_class(struct work *w, const struct piece *piece)
{
    uint32_t match[HOP_PENALTY_TRANSFERS_MAX];
    struct class *class = find_class(w, &piece->shape, match);
    if (!class) {
        if (!HOP_GROW(&w->arena, w->classes, w->class_count + 1))
            return;
        class = &w->classes[w->class_count++];
        class->first = piece;
        for (uint32_t i = 0; i < piece->shape.count; i++)
            match[i] = i;
    }
    for (uint32_t i = 0; i < piece->shape.count; i++)
        class->sum[match[i]] += piece->penalty[i];
    class->count++;
}

/* Says what a group lacks, the first time. Takes the text. */
static void miss(struct work *w, const struct piece *piece, struct hop_buffer *text)
{
    struct hop_arena *arena = &((struct owned_result *)w->result)->arena;
    const char **missing = &w->missing[piece->group];
    w->arena.failed |= text->failed;
    if (!text->failed && !*missing) {
        *missing = hop_arena_string(arena, text->text, text->length);
        w->arena.failed |= !*missing;
        w->result->missing_count++;
    }
    hop_buffer_finish(text);
}

static void miss_graph(struct work *w, const struct piece *piece, const uint32_t *rows, uint32_t count)
{
    struct hop_buffer text = {0};
    hop_buffer_puts(&text, "the times of a graph like ");
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_measurement *row = hop_measurements_at(w->measurements, rows[i]);
        hop_buffer_printf(&text, "%s%s -> %s", i ? "; " : "", row->from, row->to);
    }
    miss(w, piece, &text);
}

/* what: of a transfer. */
static void miss_value(struct work *w, const struct piece *piece, const char *what, const struct hop_measurement *row)
{
    struct hop_buffer text = {0};
    hop_buffer_printf(&text, "%s of %s", what, row->transfer);
    miss(w, piece, &text);
}

/* A piece under way: its transfers by time, in batches. */
struct run {
    struct piece *piece;
    uint32_t order[HOP_PENALTY_TRANSFERS_MAX]; /* edges of the piece by time */
    uint32_t batch[HOP_PENALTY_TRANSFERS_MAX]; /* by position in order */
    double time_s[HOP_PENALTY_TRANSFERS_MAX];  /* by edge */
    double end_s[HOP_PENALTY_TRANSFERS_MAX];   /* by batch */
    double moved[HOP_PENALTY_TRANSFERS_MAX];   /* bytes, after the first step; by edge */
    uint32_t batches;
};

static void sort_run(const struct work *w, struct run *r)
{
    uint32_t count = r->piece->shape.count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at > 0 && r->time_s[r->order[at - 1]] > r->time_s[i]; at--)
            r->order[at] = r->order[at - 1];
        r->order[at] = i;
    }
    for (uint32_t first = 0, next; first < count; first = next, r->batches++) {
        double sum = 0, least = r->time_s[r->order[first]];
        for (next = first; next < count && r->time_s[r->order[next]] <= least * (1 + w->together); next++) {
            r->batch[next] = r->batches;
            sum += r->time_s[r->order[next]];
        }
        r->end_s[r->batches] = sum / (next - first);
    }
}

/* What the transfers of one part of the graph that is left in step `step` move in it; false: its penalties are not known. */
static bool move_part(struct work *w, struct run *r, uint32_t step, const uint32_t *rows, uint32_t count)
{
    struct hop_shape shape;
    uint32_t match[HOP_PENALTY_TRANSFERS_MAX];
    double said[HOP_PENALTY_TRANSFERS_MAX] = {1};
    shape_of(w, rows, count, &shape);
    struct class *class = count > 1 ? find_class(w, &shape, match) : NULL;
    if (count > 1 && !class && !w->fill) {
        miss_graph(w, r->piece, rows, count);
        return false;
    }
    if (count > 1 && !class)
        ask_model(w, rows, count, HOP_PENALTY_FLOOR, said);
    if (!good(w))
        return false;
    for (uint32_t p = 0; p < r->piece->shape.count; p++) {
        uint32_t edge = r->order[p], i = 0;
        while (i < count && rows[i] != r->piece->rows[edge])
            i++;
        if (i == count)
            continue;
        double penalty = class ? class->sum[match[i]] / class->count : said[i];
        double end_s = r->batch[p] == step ? r->time_s[edge] : r->end_s[step];
        r->moved[edge] += (end_s - r->end_s[step - 1]) / (w->alpha_s * penalty);
    }
    return true;
}

static void solve(struct work *w, struct piece *piece)
{
    struct run r = {.piece = piece};
    uint32_t count = piece->shape.count;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_measurement *row = hop_measurements_at(w->measurements, piece->rows[i]);
        r.time_s[i] = row->time_s;
        if (isnan(row->time_s)) {
            miss_value(w, piece, row->bytes ? "the measured value" : "the bytes", row);
            return;
        }
    }
    sort_run(w, &r);
    for (uint32_t step = 1; step < r.batches; step++) {
        uint32_t left[HOP_PENALTY_TRANSFERS_MAX], part[HOP_PENALTY_TRANSFERS_MAX], left_count = 0;
        for (uint32_t p = 0; p < count; p++) {
            if (r.batch[p] >= step)
                left[left_count++] = piece->rows[r.order[p]];
        }
        while (left_count > 0) {
            uint32_t part_count = split(w, left, &left_count, part);
            if (!move_part(w, &r, step, part, part_count))
                return;
        }
    }
    for (uint32_t p = 0; p < count; p++) {
        uint32_t edge = r.order[p];
        const struct hop_measurement *row = hop_measurements_at(w->measurements, piece->rows[edge]);
        double first = (double)row->bytes - r.moved[edge];
        if (!(first > 0)) {
            miss_value(w, piece, "times that agree: smaller graphs say that the first step moves no byte", row);
            return;
        }
        piece->penalty[edge] = (r.batch[p] == 0 ? r.time_s[edge] : r.end_s[0]) / (w->alpha_s * first);
    }
    piece->solved = true;
    add_to_class(w, piece);
}

static void solve_all(struct work *w)
{
    cut_pieces(w);
    if (w->piece_count > 0)
        qsort(w->pieces, w->piece_count, sizeof(struct piece *), by_size);
    for (uint32_t i = 0; i < w->piece_count && good(w); i++) {
        struct piece *piece = w->pieces[i];
        solve(w, piece);
        for (uint32_t e = 0; e < piece->shape.count && piece->solved; e++)
            w->penalties[piece->rows[e]].measured = piece->penalty[e];
    }
}

/* ---- the whole ---- */

enum hop_status hop_calibrate_penalties(const struct hop_measurements *measurements,
                                        const struct hop_penalty_options *options, struct hop_penalty_result **result,
                                        struct hop_diag *diag)
{
    struct hop_penalty_options own = {.together = -1};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct owned_result *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    uint32_t rows = hop_measurements_count(measurements), groups = hop_measurements_group_count(measurements);
    struct work w = {
        .measurements = measurements,
        .topology = options->topology,
        .result = &made->result,
        .penalties = hop_arena_alloc(&made->arena, (rows + 1) * sizeof *w.penalties),
        .missing = hop_arena_alloc(&made->arena, (groups + 1) * sizeof(char *)),
        .alpha_s = options->alpha_s,
        .together = options->together >= 0 ? options->together : HOP_PENALTY_TOGETHER,
        .fill = options->fill,
        .failure = {.diag = diag},
    };
    w.arena.failed = made->arena.failed;
    number_vertices(&w);
    if (w.alpha_s == 0)
        measure_alpha(&w);
    if (good(&w))
        ask_models(&w);
    if (good(&w))
        solve_all(&w);
    if (w.arena.failed)
        hop_failure_set(&w.failure, HOP_ERR_MEMORY, "out of memory");
    made->result.measurements = measurements;
    made->result.alpha_s = w.alpha_s;
    made->result.penalties = w.penalties;
    made->result.missing = w.missing;
    hop_router_destroy(w.router);
    hop_names_finish(&w.names);
    hop_arena_finish(&w.arena);
    if (w.failure.status == HOP_OK)
        *result = &made->result;
    else
        hop_penalty_result_destroy(&made->result);
    return w.failure.status;
}

void hop_penalty_result_destroy(struct hop_penalty_result *result)
{
    struct owned_result *owned = (struct owned_result *)result; /* its first member */
    if (!owned)
        return;
    hop_arena_finish(&owned->arena);
    free(owned);
}
