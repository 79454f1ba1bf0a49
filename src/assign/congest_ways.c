/* SPDX-License-Identifier: BSD-3-Clause */
/* Congestion, below the loads: flows as rows of partners, and the routes between places as they are asked for. */
#include "assign/congest_state.h"
#include "assign/traffic_rows.h"
#include "topology/route.h"

static void add_partner(struct hop_congest *c, const struct hop_traffic_pair *pair, struct hop_partner *partner)
{
    partner->item = pair->other;
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
        partner->out[m] = pair->out ? (double)pair->out->bytes[m] : 0;
        partner->in[m] = pair->in ? (double)pair->in->bytes[m] : 0;
        c->flows += partner->out[m] > 0;
        c->total += partner->out[m];
    }
}

static void make_partners(struct hop_congest *c)
{
    struct hop_traffic_rows rows;
    struct hop_arena work = {0};
    c->arena.failed |= !hop_traffic_rows_make(c->input.traffic, &rows, &work);
    uint32_t count = c->arena.failed ? 0 : rows.first[c->items];
    c->partners = hop_arena_alloc(&c->arena, ((size_t)count + 1) * sizeof *c->partners);
    c->first = hop_arena_copy(&c->arena, rows.first, ((size_t)c->items + 1) * sizeof *c->first);
    for (uint32_t k = 0; k < count && !c->arena.failed; k++)
        add_partner(c, &rows.pairs[k], &c->partners[k]);
    hop_arena_finish(&work);
}

enum { SQUARE_SPOTS = 128 }; /* with more spots than that a square table of ways is too large to fill */

/* Numbers the nodes of all places; spots of one node are one. */
static void make_spots(struct hop_congest *c)
{
    const struct hop_congest_input *input = &c->input;
    uint32_t nodes = hop_topology_node_count(input->topology), places = input->place_count;
    const uint32_t *const of[HOP_MEMORY_COUNT] = {
        [HOP_MEMORY_DEVICE] = input->devices, [HOP_MEMORY_HOST] = input->hosts};
    uint32_t *number = hop_arena_alloc(&c->arena, ((size_t)nodes + 1) * sizeof *number);
    c->spots.node = hop_arena_alloc(&c->arena, ((size_t)nodes + 1) * sizeof *c->spots.node);
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++)
        c->spots.of[m] = hop_arena_alloc(&c->arena, ((size_t)places + 1) * sizeof *c->spots.of[m]);
    if (c->arena.failed)
        return;
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
    if (c->spots.count <= SQUARE_SPOTS)
        c->ways.square =
            hop_arena_alloc(&c->arena, ((size_t)c->spots.count * c->spots.count + 1) * sizeof *c->ways.square);
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

struct hop_congest *hop_congest_begin(const struct hop_congest_input *input)
{
    struct hop_congest *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->input = *input;
    c->items = hop_traffic_ranks(input->traffic);
    make_partners(c);
    make_spots(c);
    return c;
}
