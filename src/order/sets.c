/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remembered active sets: an open-addressed table of pointers to blocks in an arena,
 *
 *     slot of the table -> [ struct hop_set | rate[slots] | pace[slots] | use[bounds] | flow[slots] ]
 *
 * emptied as a whole when it has grown to its limit.
 */
#include "order/sets.h"

#include "base/random.h"

enum { FIRST_TABLE = 1 << 10 };
#define MEMORY_LIMIT ((size_t)256 << 20)
#define CLEAN_TOLERANCE 1e-9

struct hop_sets {
    const struct hop_problem *problem;
    struct hop_network *network;
    uint32_t *route; /* per class (of the whole problem, if this one is a quotient), of this network's router */
    struct hop_arena fixed, memory;
    struct hop_set **table;
    uint32_t table_size, count;
    size_t used_bytes;
    uint64_t evaluated;
    struct entry *entries; /* what one evaluation needs */
    struct hop_flow *flows;
    struct hop_diag diag;
    enum hop_status status;
};

/* A route and the slot whose transfer takes it, HOP_NONE for the others of an orbit. */
struct entry {
    uint32_t route, slot;
};

uint64_t hop_sets_key(uint32_t slot, uint32_t flow)
{
    return flow ? hop_mix(((uint64_t)slot << 32 | flow) * HOP_MIX_STEP) : 0;
}

static enum hop_status find_routes(struct hop_sets *s, struct hop_diag *diag)
{
    const struct hop_problem *p = s->problem->whole ? s->problem->whole : s->problem;
    uint32_t ways = 1;
    for (uint32_t c = 0; c < s->problem->class_count; c++)
        ways = s->problem->classes[c].ways > ways ? s->problem->classes[c].ways : ways;
    s->route = hop_arena_alloc(&s->fixed, ((size_t)p->class_count + 1) * sizeof *s->route);
    s->entries = hop_arena_alloc(&s->fixed, (size_t)s->problem->slot_count * ways * sizeof *s->entries + 1);
    s->flows = hop_arena_alloc(&s->fixed, (size_t)s->problem->slot_count * ways * sizeof *s->flows + 1);
    enum hop_status status = s->fixed.failed ? hop_fail_memory(diag) : HOP_OK;
    struct hop_router *router = hop_network_router(s->network);
    for (uint32_t c = 0; c < p->class_count && status == HOP_OK; c++)
        status = hop_router_find(router, p->classes[c].from, p->classes[c].to, &s->route[c], diag);
    return status;
}

enum hop_status hop_sets_create(const struct hop_problem *problem, struct hop_sets **sets, struct hop_diag *diag)
{
    struct hop_sets *s = calloc(1, sizeof *s);
    if (!s)
        return hop_fail_memory(diag);
    s->problem = problem;
    s->table_size = FIRST_TABLE;
    s->table = calloc(s->table_size, sizeof(struct hop_set *));
    enum hop_status status =
        s->table ? hop_network_create(problem->topology, problem->models, &s->network, diag) : hop_fail_memory(diag);
    if (status == HOP_OK) {
        hop_network_remember(s->network, 0); /* it is remembered here */
        status = find_routes(s, diag);
    }
    if (status == HOP_OK)
        *sets = s;
    else
        hop_sets_destroy(s);
    return status;
}

void hop_sets_destroy(struct hop_sets *s)
{
    if (!s)
        return;
    hop_network_destroy(s->network);
    hop_arena_finish(&s->fixed);
    hop_arena_finish(&s->memory);
    free(s->table);
    free(s);
}

enum hop_status hop_sets_status(const struct hop_sets *sets, struct hop_diag *diag)
{
    if (sets->status != HOP_OK && diag)
        *diag = sets->diag;
    return sets->status;
}

uint64_t hop_sets_evaluated(const struct hop_sets *sets)
{
    return sets->evaluated;
}

static uint64_t place_of(const struct entry *entry)
{
    return (uint64_t)entry->route << 32 | entry->slot;
}

static int by_route(const void *a, const void *b)
{
    uint64_t x = place_of(a), y = place_of(b);
    return x < y ? -1 : x > y;
}

static uint32_t list_entries(struct hop_sets *s, const uint16_t *flow)
{
    const struct hop_problem *p = s->problem;
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        if (!flow[slot])
            continue;
        const struct hop_problem_class *class = &p->classes[flow[slot] - 1];
        if (!class->ways)
            s->entries[count++] = (struct entry){s->route[flow[slot] - 1], slot};
        for (uint32_t w = 0; w < class->ways; w++)
            s->entries[count++] = (struct entry){s->route[p->ways[class->first_way + w]], w ? HOP_NONE : slot};
    }
    if (count > 24) {
        qsort(s->entries, count, sizeof *s->entries, by_route);
        return count;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct entry entry = s->entries[i];
        uint32_t at = i;
        for (; at > 0 && place_of(&s->entries[at - 1]) > place_of(&entry); at--)
            s->entries[at] = s->entries[at - 1];
        s->entries[at] = entry;
    }
    return count;
}

/* Rates per slot, and how full the fullest link is; false: a model failed. */
static bool evaluate(struct hop_sets *s, const uint16_t *flow, double *rate, double *fullest)
{
    uint32_t count = list_entries(s, flow), flows = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (flows && s->flows[flows - 1].route == s->entries[i].route)
            s->flows[flows - 1].count++;
        else
            s->flows[flows++] = (struct hop_flow){s->entries[i].route, 1};
    }
    memset(rate, 0, s->problem->slot_count * sizeof *rate);
    *fullest = 0;
    s->evaluated++;
    if (flows == 0)
        return true;
    const struct hop_share *shares;
    s->status = hop_network_rates(s->network, s->flows, flows, &shares, &s->diag);
    if (s->status != HOP_OK)
        return false;
    for (uint32_t i = 0, f = 0; i < count; i++) {
        f += i > 0 && s->entries[i].route != s->entries[i - 1].route;
        if (s->entries[i].slot != HOP_NONE)
            rate[s->entries[i].slot] = shares[f].rate_Bps;
    }
    *fullest = hop_network_fullest(s->network, s->flows, flows, shares, NULL);
    return true;
}

bool hop_sets_evaluate(struct hop_sets *s, const uint16_t *flow, double *rate_Bps, bool *clean)
{
    double fullest;
    bool fine = evaluate(s, flow, rate_Bps, &fullest);
    *clean = fine && fullest <= 1 + CLEAN_TOLERANCE;
    return fine;
}

static bool widen(struct hop_sets *s)
{
    uint32_t size = s->table_size * 2;
    struct hop_set **table = calloc(size, sizeof(struct hop_set *));
    if (!table)
        return false;
    for (uint32_t i = 0; i < s->table_size; i++) {
        if (!s->table[i])
            continue;
        uint32_t at = (uint32_t)s->table[i]->key & (size - 1);
        while (table[at])
            at = (at + 1) & (size - 1);
        table[at] = s->table[i];
    }
    free(s->table);
    s->table = table;
    s->table_size = size;
    return true;
}

static void add_up_use(const struct hop_problem *p, const uint16_t *flow, const double *rate, double *use)
{
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        if (!flow[slot])
            continue;
        const struct hop_problem_op *op = &p->ops[p->classes[flow[slot] - 1].op];
        for (uint32_t w = op->first_weight; w < op[1].first_weight; w++)
            use[p->weights[w].bound] += p->weights[w].per_byte_s * rate[slot];
    }
}

static struct hop_set *add(struct hop_sets *s, uint64_t key, const uint16_t *flow)
{
    size_t slots = s->problem->slot_count, flow_bytes = slots * sizeof(uint16_t);
    size_t head = (sizeof(struct hop_set) + 15) & ~(size_t)15, bounds = s->problem->bound_room,
           size = head + (2 * slots + bounds) * sizeof(double) + flow_bytes;
    if (s->used_bytes + size > MEMORY_LIMIT) {
        hop_arena_finish(&s->memory);
        memset(s->table, 0, s->table_size * sizeof *s->table);
        s->count = 0;
        s->used_bytes = 0;
    }
    char *block = hop_arena_alloc(&s->memory, size);
    if (!block || (s->count * 2 >= s->table_size && !widen(s))) {
        s->status = hop_fail_memory(&s->diag);
        return NULL;
    }
    s->used_bytes += size;
    struct hop_set *set = (struct hop_set *)block;
    double *rate = (double *)(block + head), *pace = rate + slots, *use = pace + slots;
    uint16_t *copy = (uint16_t *)(use + bounds);
    memcpy(copy, flow, flow_bytes);
    *set = (struct hop_set){.key = key, .rate = rate, .pace = pace, .use = use, .flow = copy};
    if (!evaluate(s, flow, rate, &set->fullest))
        return NULL;
    set->clean = set->fullest <= 1 + CLEAN_TOLERANCE;
    for (size_t slot = 0; slot < slots; slot++)
        pace[slot] = flow[slot] ? 1 / rate[slot] : 1;
    add_up_use(s->problem, flow, rate, use);
    uint32_t at = (uint32_t)key & (s->table_size - 1);
    while (s->table[at])
        at = (at + 1) & (s->table_size - 1);
    s->table[at] = set;
    s->count++;
    return set;
}

const struct hop_set *hop_sets_find(struct hop_sets *s, uint64_t key, const uint16_t *flow)
{
    size_t bytes = s->problem->slot_count * sizeof *flow;
    for (uint32_t at = (uint32_t)key & (s->table_size - 1); s->table[at]; at = (at + 1) & (s->table_size - 1)) {
        const struct hop_set *set = s->table[at];
        if (set->key == key && memcmp(set->flow, flow, bytes) == 0)
            return set;
    }
    return add(s, key, flow);
}
