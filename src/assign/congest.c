/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion of an assignment: its flows as rows of partners, the routes between its places as they are asked for, and
 * the loads from nothing. What changes them bit by bit is in congest_change.c.
 */
#include "assign/congest_state.h"

enum { SQUARE_SPOTS = 128 }; /* with more spots than that a square table of ways is too large to fill */

/* ---- partners ---- */

static int compare_partners(const void *a, const void *b)
{
    const struct hop_partner *x = a, *y = b;
    return (x->item > y->item) - (x->item < y->item);
}

/* Of a row sorted by partner, entries of the same one become one. Returns how many are left. */
static uint32_t merge_row(struct hop_partner *row, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (kept == 0 || row[kept - 1].item != row[k].item) {
            row[kept++] = row[k];
            continue;
        }
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
            row[kept - 1].out[m] += row[k].out[m];
            row[kept - 1].in[m] += row[k].in[m];
        }
    }
    return kept;
}

/* Every flow enters the rows of both its ends; then the two directions of a pair are joined. */
static bool make_partners(struct hop_congest *c, const struct hop_traffic *traffic)
{
    uint32_t flows = hop_traffic_count(traffic), kept = 0;
    const struct hop_traffic_flow *flow = hop_traffic_flows(traffic);
    uint32_t *filled = calloc((size_t)c->items + 1, sizeof *filled);
    c->first = hop_arena_alloc(&c->arena, ((size_t)c->items + 1) * sizeof *c->first);
    c->partners = hop_arena_alloc(&c->arena, (2 * (size_t)flows + 1) * sizeof *c->partners);
    if (!filled || c->arena.failed) {
        free(filled);
        return false;
    }
    for (uint32_t f = 0; f < flows; f++) {
        c->first[flow[f].from + 1]++;
        c->first[flow[f].to + 1]++;
    }
    for (uint32_t i = 0; i < c->items; i++)
        c->first[i + 1] += c->first[i];
    for (uint32_t f = 0; f < flows; f++) {
        struct hop_partner *out = &c->partners[c->first[flow[f].from] + filled[flow[f].from]++];
        struct hop_partner *in = &c->partners[c->first[flow[f].to] + filled[flow[f].to]++];
        out->item = flow[f].to;
        in->item = flow[f].from;
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
            out->out[m] = (double)flow[f].bytes[m];
            in->in[m] = (double)flow[f].bytes[m];
        }
    }
    for (uint32_t i = 0; i < c->items; i++) {
        struct hop_partner *row = c->partners + c->first[i];
        qsort(row, filled[i], sizeof *row, compare_partners);
        uint32_t count = merge_row(row, filled[i]);
        memmove(c->partners + kept, row, count * sizeof *row);
        c->first[i] = kept;
        kept += count;
    }
    c->first[c->items] = kept;
    free(filled);
    return true;
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

static uint32_t slot_of(const struct hop_ways *ways, uint64_t key)
{
    uint64_t x = key * 0x9e3779b97f4a7c15u;
    uint32_t slot = (uint32_t)(x >> 32) & (ways->slots - 1);
    while (ways->keys[slot] && ways->keys[slot] != key)
        slot = (slot + 1) & (ways->slots - 1);
    return slot;
}

static bool grow_ways(struct hop_ways *ways)
{
    struct hop_ways grown = {.slots = ways->slots ? ways->slots * 2 : 1024, .used = ways->used};
    grown.keys = calloc(grown.slots, sizeof *grown.keys);
    grown.values = malloc(grown.slots * sizeof *grown.values);
    if (!grown.keys || !grown.values) {
        free(grown.keys);
        free(grown.values);
        return false;
    }
    for (uint32_t s = 0; s < ways->slots; s++) {
        if (ways->keys[s] == 0)
            continue;
        uint32_t slot = slot_of(&grown, ways->keys[s]);
        grown.keys[slot] = ways->keys[s];
        grown.values[slot] = ways->values[s];
    }
    free(ways->keys);
    free(ways->values);
    *ways = grown;
    return true;
}

static const struct hop_way no_way = {.known = true};

/* Asks the router; its routes stay where they are. */
static const struct hop_way *ask_way(struct hop_congest *c, uint32_t from, uint32_t to, struct hop_way *way)
{
    uint32_t index;
    c->routed++;
    c->status = hop_router_find(c->input.router, c->spots.node[from], c->spots.node[to], &index, &c->diag);
    if (c->status != HOP_OK)
        return &no_way;
    const struct hop_route *route = hop_router_route(c->input.router, index);
    *way = (struct hop_way){route->links, route->link_count, true};
    return way;
}

const struct hop_way *hop_congest_way(struct hop_congest *c, enum hop_memory memory, uint32_t from, uint32_t to)
{
    uint32_t a = c->spots.of[memory][from], b = c->spots.of[memory][to];
    struct hop_ways *ways = &c->ways;
    c->looked++;
    if (a == b || a == HOP_NONE || b == HOP_NONE || c->status != HOP_OK)
        return &no_way;
    if (ways->square) {
        struct hop_way *way = &ways->square[(size_t)a * c->spots.count + b];
        return way->known ? way : ask_way(c, a, b, way);
    }
    if (2 * ways->used >= ways->slots && !grow_ways(ways)) {
        c->status = hop_fail_memory(&c->diag);
        return &no_way;
    }
    uint64_t key = (uint64_t)a * c->spots.count + b + 1;
    uint32_t slot = slot_of(ways, key);
    if (ways->keys[slot])
        return &ways->values[slot];
    const struct hop_way *way = ask_way(c, a, b, &ways->values[slot]);
    if (way->links) {
        ways->keys[slot] = key;
        ways->used++;
    }
    return way;
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
    free(c->ways.keys);
    free(c->ways.values);
    hop_arena_finish(&c->arena);
    free(c);
}

/* ---- loads ---- */

static void add_way(struct hop_congest *c, enum hop_memory memory, uint32_t from, uint32_t to, double bytes)
{
    const struct hop_way *way = hop_congest_way(c, memory, from, to);
    for (uint32_t k = 0; k < way->count; k++)
        c->bytes[way->links[k]] += bytes;
}

enum hop_status hop_congest_set(struct hop_congest *c, const uint32_t *place, struct hop_diag *diag)
{
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
