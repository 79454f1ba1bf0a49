/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion of an assignment: its flows as rows of partners, the routes between its places as they are asked for, and
 * the loads from nothing. What changes them bit by bit is in congest_change.c.
 */
#include "assign/congest_rows.h"
#include "assign/congest_state.h"
#include "topology/route.h"

#define EXACT 9007199254740992.0 /* 2^53: up to so many bytes in all, changes leave no error */

enum { SQUARE_SPOTS = 128 }; /* with more spots than that a square table of ways is too large to fill */

/* ---- partners ---- */

/* How many partners all rows have; those of each item, if there is room for them. */
static uint32_t walk_rows(struct hop_congest *c, const struct hop_congest_rows *rows, struct hop_partner *partners)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->items; i++) {
        struct hop_congest_walk walk = {.rank = i};
        struct hop_congest_pair pair;
        for (; hop_congest_rows_next(rows, &walk, &pair); count++) {
            if (!partners)
                continue;
            partners[count].item = pair.other;
            for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
                partners[count].out[m] = pair.out ? (double)pair.out->bytes[m] : 0;
                partners[count].in[m] = pair.in ? (double)pair.in->bytes[m] : 0;
                c->flows += partners[count].out[m] > 0;
                c->total += partners[count].out[m];
            }
        }
        c->first[i + 1] = count;
    }
    return count;
}

static bool make_partners(struct hop_congest *c, const struct hop_traffic *traffic)
{
    struct hop_congest_rows rows;
    c->first = hop_arena_alloc(&c->arena, ((size_t)c->items + 1) * sizeof *c->first);
    if (!c->first || !hop_congest_rows_make(traffic, &rows))
        return false;
    uint32_t count = walk_rows(c, &rows, NULL);
    c->partners = hop_arena_alloc(&c->arena, ((size_t)count + 1) * sizeof *c->partners);
    if (c->partners)
        (void)walk_rows(c, &rows, c->partners);
    hop_congest_rows_finish(&rows);
    return c->partners;
}

/* ---- spots and ways ---- */

/* Numbers the nodes of all places; spots of one node are one. */
static bool make_spots(struct hop_congest *c)
{
    const struct hop_congest_input *input = &c->input;
    uint32_t nodes = hop_topology_node_count(input->topology), places = input->place_count;
    const uint32_t *const of[HOP_MEMORY_COUNT] = {
        [HOP_MEMORY_DEVICE] = input->devices, [HOP_MEMORY_HOST] = input->hosts};
    uint32_t *number = malloc(((size_t)nodes + 1) * sizeof *number);
    c->spots.node = hop_arena_alloc(&c->arena, ((size_t)nodes + 1) * sizeof *c->spots.node);
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++)
        c->spots.of[m] = hop_arena_alloc(&c->arena, ((size_t)places + 1) * sizeof *c->spots.of[m]);
    if (!number || c->arena.failed) {
        free(number);
        return false;
    }
    memset(number, 0xff, nodes * sizeof *number); /* HOP_NONE */
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
        for (uint32_t p = 0; p < places; p++) {
            uint32_t node = of[m] ? of[m][p] : HOP_NONE;
            if (node != HOP_NONE && number[node] == HOP_NONE) {
                c->spots.node[c->spots.count] = node;
                number[node] = c->spots.count++;
            }
            c->spots.of[m][p] = node == HOP_NONE ? HOP_NONE : number[node];
        }
    }
    free(number);
    return true;
}

static const struct hop_congest_step no_way = {.known = true};

/* Of few spots the router's own routes are kept, which stay where they are; of many, each is looked at in passing. */
static const struct hop_congest_step *ask_way(struct hop_congest *c, uint32_t from, uint32_t to)
{
    const uint32_t *node = c->spots.node;
    struct hop_congest_step *way =
        c->ways.square ? &c->ways.square[(size_t)from * c->spots.count + to] : &c->ways.passing;
    if (c->ways.square) {
        uint32_t index;
        c->routed++;
        c->status = hop_router_find(c->input.router, node[from], node[to], &index, &c->diag);
        if (c->status == HOP_OK) {
            const struct hop_route *route = hop_router_route(c->input.router, index);
            *way = (struct hop_congest_step){route->links, route->link_count, true};
        }
    } else {
        c->status = hop_router_links(c->input.router, node[from], node[to], &way->links, &way->count, &c->diag);
    }
    if (c->status == HOP_OK)
        return way;
    c->is_set = false; /* a change may be made without this way */
    return &no_way;
}

const struct hop_congest_step *hop_congest_way(struct hop_congest *c, enum hop_memory memory, uint32_t from,
                                               uint32_t to)
{
    uint32_t a = c->spots.of[memory][from], b = c->spots.of[memory][to];
    c->looked++;
    if (a == b || a == HOP_NONE || b == HOP_NONE || c->status != HOP_OK)
        return &no_way;
    if (c->ways.square) {
        const struct hop_congest_step *way = &c->ways.square[(size_t)a * c->spots.count + b];
        if (way->known)
            return way;
    }
    return ask_way(c, a, b);
}

enum hop_status hop_congest_fail(const struct hop_congest *c, struct hop_diag *diag)
{
    if (diag)
        *diag = c->diag;
    return c->status;
}

/* ---- life ---- */

static bool make_state(struct hop_congest *c)
{
    size_t directed = c->directed;
    for (c->leaves = 1; c->leaves < c->directed; c->leaves *= 2)
        ;
    c->place = hop_arena_alloc(&c->arena, ((size_t)c->items + 1) * sizeof *c->place);
    c->s_per_byte = hop_arena_alloc(&c->arena, (directed + 1) * sizeof *c->s_per_byte);
    c->bytes = hop_arena_alloc(&c->arena, (directed + 1) * sizeof *c->bytes);
    c->tree = hop_arena_alloc(&c->arena, 2 * (size_t)c->leaves * sizeof *c->tree);
    c->delta = hop_arena_alloc(&c->arena, (directed + 1) * sizeof *c->delta);
    c->touched = hop_arena_alloc(&c->arena, (directed + 1) * sizeof *c->touched);
    c->is_touched = hop_arena_alloc(&c->arena, (directed + 1) * sizeof *c->is_touched);
    if (c->arena.failed)
        return false;
    for (uint32_t d = 0; d < c->directed; d++)
        c->s_per_byte[d] = 1 / hop_topology_link(c->input.topology, d / 2)->capacity_Bps[d & 1];
    if (c->spots.count <= SQUARE_SPOTS)
        c->ways.square =
            hop_arena_alloc(&c->arena, ((size_t)c->spots.count * c->spots.count + 1) * sizeof *c->ways.square);
    return !c->arena.failed;
}

enum hop_status hop_congest_create(const struct hop_congest_input *input, struct hop_congest **congest,
                                   struct hop_diag *diag)
{
    struct hop_congest *c = calloc(1, sizeof *c);
    if (!c)
        return hop_fail_memory(diag);
    c->input = *input;
    c->items = hop_traffic_ranks(input->traffic);
    c->directed = 2 * hop_topology_link_count(input->topology);
    if (!make_partners(c, input->traffic) || !make_spots(c) || !make_state(c)) {
        hop_congest_destroy(c);
        return hop_fail_memory(diag);
    }
    *congest = c;
    return HOP_OK;
}

void hop_congest_destroy(struct hop_congest *c)
{
    if (!c)
        return;
    hop_arena_finish(&c->arena);
    free(c);
}

/* ---- loads ---- */

static void add_way(struct hop_congest *c, enum hop_memory memory, uint32_t from, uint32_t to, double bytes)
{
    const struct hop_congest_step *way = hop_congest_way(c, memory, from, to);
    for (uint32_t k = 0; k < way->count; k++)
        c->bytes[way->links[k]] += bytes;
}

enum hop_status hop_congest_set(struct hop_congest *c, const uint32_t *place, struct hop_diag *diag)
{
    if (c->is_set && memcmp(c->place, place, c->items * sizeof *place) == 0) {
        c->looked += c->flows; /* as if they had been: limits count them */
        return HOP_OK;
    }
    c->is_set = false;
    memcpy(c->place, place, c->items * sizeof *place);
    memset(c->bytes, 0, c->directed * sizeof *c->bytes);
    for (uint32_t i = 0; i < c->items; i++) {
        for (uint32_t k = c->first[i]; k < c->first[i + 1]; k++) {
            const struct hop_partner *partner = &c->partners[k];
            for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
                if (partner->out[m] > 0)
                    add_way(c, m, place[i], place[partner->item], partner->out[m]);
            }
        }
    }
    for (uint32_t d = 0; d < c->directed; d++)
        c->tree[c->leaves + d] = c->bytes[d] * c->s_per_byte[d];
    hop_congest_rebuild(c);
    if (c->status != HOP_OK) {
        enum hop_status status = hop_congest_fail(c, diag);
        c->status = HOP_OK; /* another assignment may do */
        return status;
    }
    c->is_set = c->total <= EXACT;
    return HOP_OK;
}

const double *hop_congest_loads_s(const struct hop_congest *c)
{
    return c->tree + c->leaves;
}

double hop_congest_largest_s(const struct hop_congest *c)
{
    return c->tree[1];
}
