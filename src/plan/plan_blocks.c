/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What some rank's links or a node's need at least, whatever the placement: depth first over which rank is on which node,
 * wherever there. Of one node alone its sockets are the nodes here: what is near to one host memory.
 *
 *     a rank needs, at the place of its node where that is least, of some source or link there
 *         what it exchanges with ranks on other nodes, by the cheapest pair that leads there,
 *       + what it exchanges with ranks on its own node, by the cheapest pair there,
 *       + the cheaper of both for ranks that have no node yet; those for which its node has no room are elsewhere
 *     a node needs, of some source or link, the same of all its ranks
 *
 * Before that, of each rank: whether there is room beside it for as many of its partners, and of theirs, as leave none
 * needing more, whatever else is where.
 * Thresholds rise as in plan_floor.c. Empty nodes that cost the same stand for each other.
 */
#include "plan/plan_blocks.h"

enum { FLOWS_MOST = 20000, STEPS_MOST = 200000, POLLED = 64 };
#define WORK_MOST 2e8 /* needs and partners that are looked at, in all steps */
#define STEP 1.01     /* from threshold to threshold */

/* ---- what nodes cost ---- */

/* The least of a place's pairs, of each bound; a bound that not all of them have costs nothing. */
static void list_pairs(const struct hop_plan_nodes *b, uint32_t a, struct hop_plan_need *dense, uint32_t *seen)
{
    const struct hop_plan_loads *l = b->loads;
    const struct hop_map_places *p = &b->work->map.places;
    uint32_t partners[2] = {0, 0};
    memset(seen, 0, (size_t)l->bounds * WAYS * 2 * sizeof *seen);
    for (uint32_t i = 0; i < l->bounds; i++)
        dense[i] = (struct hop_plan_need){.head_s = l->head_s[i]};
    for (uint32_t o = 0; o < l->places; o++) {
        if (o == a || !p->room[o])
            continue;
        unsigned where = b->part_of[o] == b->part_of[a] ? HERE : ELSEWHERE;
        partners[where]++;
        for (unsigned way = 0; way < WAYS; way++) {
            uint32_t pair = way == SENT ? a * l->places + o : o * l->places + a;
            for (uint32_t w = l->first[pair]; w < l->first[pair + 1]; w++) {
                if (l->weights[w].bound >= l->bounds)
                    continue;
                struct hop_plan_need *n = &dense[l->weights[w].bound];
                bool first = !seen[(l->weights[w].bound * WAYS + way) * 2 + where]++;
                n->per_byte_s[way][where] =
                    first ? l->weights[w].per_byte_s : hop_min(n->per_byte_s[way][where], l->weights[w].per_byte_s);
                n->late_s[way][where] =
                    first ? l->weights[w].late_s : hop_min(n->late_s[way][where], l->weights[w].late_s);
            }
        }
    }
    for (uint32_t k = 0; k < l->bounds * WAYS * 2; k++) {
        struct hop_plan_need *n = &dense[k / 2 / WAYS];
        if (seen[k] == partners[k % 2] && seen[k])
            continue;
        n->per_byte_s[k / 2 % WAYS][k % 2] = n->late_s[k / 2 % WAYS][k % 2] = 0;
    }
}

static int by_content(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct hop_plan_need));
}

static bool is_same(const struct hop_plan_needs *a, const struct hop_plan_needs *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->list, b->list, a->count * sizeof *a->list) == 0);
}

/* Those that cost anything, each once, in an order that tells whether two lists are one. */
static struct hop_plan_needs gather(struct hop_plan_nodes *b, struct hop_plan_need *dense)
{
    struct hop_plan_needs made = {0};
    for (uint32_t i = 0; i < b->loads->bounds; i++) {
        struct hop_plan_need n = dense[i];
        double sum = 0;
        for (unsigned way = 0; way < WAYS; way++) {
            n.per_byte_s[way][EITHER] = hop_min(n.per_byte_s[way][HERE], n.per_byte_s[way][ELSEWHERE]);
            n.late_s[way][EITHER] = hop_min(n.late_s[way][HERE], n.late_s[way][ELSEWHERE]);
            for (unsigned where = 0; where < EITHER; where++)
                sum += n.per_byte_s[way][where] + n.late_s[way][where];
        }
        if (sum > 0 && HOP_GROW(&b->arena, made.list, made.count + (size_t)1))
            made.list[made.count++] = n;
    }
    if (made.count)
        qsort(made.list, made.count, sizeof *made.list, by_content);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < made.count; i++) {
        if (kept == 0 || by_content(&made.list[kept - 1], &made.list[i]) != 0)
            made.list[kept++] = made.list[i];
    }
    made.count = kept;
    return made;
}

static void add_place(struct hop_plan_nodes *b, struct hop_plan_block *node, struct hop_plan_needs needs)
{
    for (uint32_t k = 0; k < node->place_count; k++) {
        if (is_same(&node->places[k], &needs))
            return;
    }
    if (HOP_GROW(&b->arena, node->places, node->place_count + (size_t)1))
        node->places[node->place_count++] = needs;
}

/* What a node's places have in common. A copy on it is one that is sent. */
static void take_common(struct hop_plan_need *common, const struct hop_plan_need *place, bool first)
{
    for (unsigned way = 0; way < WAYS; way++) {
        for (unsigned where = 0; where < EITHER; where++) {
            bool counts = way == SENT || where == ELSEWHERE;
            double per_byte_s = counts ? place->per_byte_s[way][where] : 0,
                   late_s = counts ? place->late_s[way][where] : 0;
            common->per_byte_s[way][where] = first ? per_byte_s : hop_min(common->per_byte_s[way][where], per_byte_s);
            common->late_s[way][where] = first ? late_s : hop_min(common->late_s[way][where], late_s);
        }
    }
    common->head_s = place->head_s;
}

static void cost_node(struct hop_plan_nodes *b, struct hop_plan_block *node, struct hop_plan_need *dense,
                      struct hop_plan_need *common, uint32_t *seen)
{
    const struct hop_map_places *p = &b->work->map.places;
    memset(common, 0, b->loads->bounds * sizeof *common);
    for (uint32_t a = 0; a < b->work->places && !b->arena.failed; a++) {
        if (b->part_of[a] != node->part || !p->room[a])
            continue;
        list_pairs(b, a, dense, seen);
        for (uint32_t i = 0; i < b->loads->bounds; i++)
            take_common(&common[i], &dense[i], node->room == 0);
        add_place(b, node, gather(b, dense));
        node->room++;
    }
    node->whole = gather(b, common);
}

static bool costs_same(const struct hop_plan_block *x, const struct hop_plan_block *y)
{
    if (x->room != y->room || x->place_count != y->place_count || !is_same(&x->whole, &y->whole))
        return false;
    for (uint32_t k = 0; k < x->place_count; k++) {
        if (!is_same(&x->places[k], &y->places[k]))
            return false;
    }
    return true;
}

/* false: there is one node, or more than are looked at. */
static bool find_nodes(struct hop_plan_nodes *b)
{
    const struct hop_map_places *p = &b->work->map.places;
    b->part_of = p->node_count > 1 ? p->node : p->host;
    for (uint32_t a = 0; a < b->work->places; a++) {
        uint32_t k = 0;
        while (k < b->node_count && b->nodes[k].part != b->part_of[a])
            k++;
        if (!p->room[a] || k < b->node_count)
            continue;
        if (k == NODES_MOST)
            return false;
        b->nodes[b->node_count++] = (struct hop_plan_block){.part = b->part_of[a]};
    }
    size_t bounds = b->loads->bounds;
    struct hop_plan_need *dense = malloc((2 * bounds + 1) * sizeof *dense);
    uint32_t *seen = malloc((bounds * WAYS * 2 + 1) * sizeof *seen);
    b->arena.failed = b->arena.failed || !dense || !seen;
    for (uint32_t k = 0; k < b->node_count && b->node_count > 1 && !b->arena.failed; k++) {
        struct hop_plan_block *node = &b->nodes[k];
        cost_node(b, node, dense, dense + bounds, seen);
        while (node->like < k && (b->work->map.places.who.allowed || !costs_same(&b->nodes[node->like], node)))
            node->like++;
    }
    free(dense);
    free(seen);
    return b->node_count > 1;
}

/* ---- ranks ---- */

static void add_flow(struct hop_plan_nodes *b, uint32_t rank, unsigned way, struct hop_plan_partner partner)
{
    struct hop_plan_rank_flows *r = &b->ranks[rank];
    if (!HOP_GROW(&b->arena, r->list[way], r->count[way] + (size_t)1))
        return;
    uint32_t at = r->count[way]++;
    for (; at > 0 && r->list[way][at - 1].bytes > partner.bytes; at--)
        r->list[way][at] = r->list[way][at - 1];
    r->list[way][at] = partner;
}

/* Who exchanges most with those before. */
static void order_by_bytes(struct hop_plan_nodes *b, double *bytes)
{
    for (uint32_t k = 0; k < b->work->ranks; k++) {
        uint32_t next = HOP_NONE;
        for (uint32_t r = 0; r < b->work->ranks; r++)
            next = bytes[r] >= 0 && (next == HOP_NONE || bytes[r] > bytes[next]) ? r : next;
        b->order[k] = next;
        bytes[next] = -1;
        for (unsigned way = 0; way < WAYS; way++) {
            for (uint32_t i = 0; i < b->ranks[next].count[way]; i++) {
                const struct hop_plan_partner *p = &b->ranks[next].list[way][i];
                bytes[p->rank] = bytes[p->rank] >= 0 ? bytes[p->rank] + p->bytes : -1;
            }
        }
    }
}

static enum hop_status prepare_ranks(struct hop_plan_nodes *b, struct hop_diag *diag)
{
    size_t ranks = b->work->ranks;
    const struct hop_plan_loads *l = b->loads;
    double *bytes = hop_arena_alloc(&b->arena, ranks * sizeof *bytes);
    b->ranks = hop_arena_alloc(&b->arena, ranks * sizeof *b->ranks);
    b->order = hop_arena_alloc(&b->arena, ranks * sizeof *b->order);
    b->node_of = hop_arena_alloc(&b->arena, ranks * sizeof *b->node_of);
    for (uint32_t i = 0; i < l->flow_count && !b->arena.failed; i++) {
        const struct hop_plan_flow *f = &l->flows[i];
        add_flow(b, f->from, SENT, (struct hop_plan_partner){f->to, f->bytes, f->count});
        add_flow(b, f->to, RECEIVED, (struct hop_plan_partner){f->from, f->bytes, f->count});
    }
    if (b->arena.failed)
        return hop_fail_memory(diag);
    order_by_bytes(b, bytes);
    for (uint32_t r = 0; r < ranks; r++)
        b->node_of[r] = HOP_NONE;
    return HOP_OK;
}

/* ---- the search ---- */

/* Of those without a node as many as there is no room for here are elsewhere, those with the fewest bytes, and copies;
 * far_all: all of them. */
static void add_amounts(const struct hop_plan_nodes *b, uint32_t rank, bool far_all, struct hop_plan_amounts *sum)
{
    uint32_t node = b->node_of[rank], room = far_all ? 0 : b->nodes[node].room - b->nodes[node].held;
    for (unsigned way = 0; way < WAYS; way++) {
        const struct hop_plan_rank_flows *r = &b->ranks[rank];
        uint32_t open = 0, far = 0;
        double fewest = INFINITY, copies = 0;
        for (uint32_t i = 0; i < r->count[way]; i++)
            open += b->node_of[r->list[way][i].rank] == HOP_NONE;
        uint32_t forced = open > room ? open - room : 0;
        for (uint32_t i = 0; i < r->count[way]; i++) {
            const struct hop_plan_partner *p = &r->list[way][i];
            uint32_t other = b->node_of[p->rank];
            unsigned where = other == node ? HERE : other != HOP_NONE || far < forced ? ELSEWHERE : EITHER;
            sum->bytes[way][where] += p->bytes;
            sum->copies[way][where] += other != HOP_NONE ? p->copies : 0;
            if (other == HOP_NONE) {
                far++;
                fewest = hop_min(fewest, p->copies);
                copies += p->copies;
            }
        }
        if (open) {
            sum->copies[way][ELSEWHERE] += forced * fewest;
            sum->copies[way][EITHER] += copies - forced * fewest;
        }
    }
}

static double need_of(const struct hop_plan_needs *needs, const struct hop_plan_amounts *amounts)
{
    double most_s = 0;
    for (uint32_t i = 0; i < needs->count; i++) {
        const struct hop_plan_need *n = &needs->list[i];
        double load_s = 0;
        for (unsigned way = 0; way < WAYS; way++) {
            for (unsigned where = 0; where < WHERES; where++)
                load_s += amounts->bytes[way][where] * n->per_byte_s[way][where] +
                          amounts->copies[way][where] * n->late_s[way][where];
        }
        most_s = hop_max(most_s, load_s > 0 ? n->head_s + load_s : 0);
    }
    return most_s;
}

static double need_of_rank(const struct hop_plan_nodes *b, uint32_t rank, bool far_all)
{
    const struct hop_plan_block *node = &b->nodes[b->node_of[rank]];
    struct hop_plan_amounts amounts = {0};
    double least_s = INFINITY;
    add_amounts(b, rank, far_all, &amounts);
    for (uint32_t k = 0; k < node->place_count; k++)
        least_s = hop_min(least_s, need_of(&node->places[k], &amounts));
    return least_s;
}

/* Of those on a node, and of the node. */
static double need_of_node(const struct hop_plan_nodes *b, uint32_t node)
{
    struct hop_plan_amounts amounts = {0};
    double most_s = 0;
    for (uint32_t r = 0; r < b->work->ranks; r++) {
        if (b->node_of[r] != node)
            continue;
        add_amounts(b, r, false, &amounts);
        most_s = hop_max(most_s, need_of_rank(b, r, false));
    }
    return hop_max(most_s, need_of(&b->nodes[node].whole, &amounts));
}

/* What the rank that came last may have changed. */
static double need_after(const struct hop_plan_nodes *b, uint32_t rank)
{
    double most_s = need_of_node(b, b->node_of[rank]);
    for (unsigned way = 0; way < WAYS; way++) {
        for (uint32_t i = 0; i < b->ranks[rank].count[way] && most_s <= b->threshold_s; i++) {
            uint32_t other = b->ranks[rank].list[way][i].rank;
            if (b->node_of[other] != HOP_NONE && b->node_of[other] != b->node_of[rank])
                most_s = hop_max(most_s, need_of_rank(b, other, false));
        }
    }
    return most_s;
}

static bool may_be_on(const struct hop_plan_nodes *b, uint32_t rank, uint32_t node)
{
    const struct hop_map_places *p = &b->work->map.places;
    for (uint32_t k = 0; k < node && b->nodes[node].held == 0; k++) {
        if (b->nodes[k].held == 0 && b->nodes[k].like == b->nodes[node].like)
            return false; /* that one stands for it */
    }
    for (uint32_t a = 0; a < b->work->places && b->nodes[node].held < b->nodes[node].room; a++) {
        if (b->part_of[a] == b->nodes[node].part && p->room[a] && hop_assign_allows(&p->who, rank, a))
            return true;
    }
    return false;
}

static bool goes_on(struct hop_plan_nodes *b)
{
    b->over = b->over || ++b->steps > b->steps_most || (b->steps % POLLED == 0 && !hop_plan_goes_on(b->work));
    return !b->over;
}

/* Whether ranks can be on nodes within the threshold. */
static bool descend(struct hop_plan_nodes *b, uint32_t depth)
{
    if (depth == b->work->ranks)
        return true;
    uint32_t rank = b->order[depth];
    for (uint32_t k = 0; k < b->node_count; k++) {
        if (!may_be_on(b, rank, k))
            continue;
        if (!goes_on(b))
            break;
        b->node_of[rank] = k;
        b->nodes[k].held++;
        double need_s = need_after(b, rank);
        if (need_s > b->threshold_s)
            b->left_s = hop_min(b->left_s, need_s);
        bool found = need_s <= b->threshold_s && descend(b, depth + 1);
        b->nodes[k].held--;
        b->node_of[rank] = HOP_NONE;
        if (found)
            return true;
    }
    return false;
}

/* ---- around one rank ---- */

/* A partner without a node of one on the node that would need too much if all such were elsewhere, HOP_NONE: none. */
static uint32_t next_partner(const struct hop_plan_nodes *b, uint32_t node)
{
    for (uint32_t r = 0; r < b->work->ranks; r++) {
        if (b->node_of[r] != node || need_of_rank(b, r, true) <= b->threshold_s)
            continue;
        for (unsigned way = 0; way < WAYS; way++) {
            for (uint32_t i = b->ranks[r].count[way]; i-- > 0;) {
                if (b->node_of[b->ranks[r].list[way][i].rank] == HOP_NONE)
                    return b->ranks[r].list[way][i].rank;
            }
        }
    }
    return HOP_NONE;
}

/* Whether those on the node can be there within the threshold, with as many partners, and of these, as there is room for. */
static bool gathers(struct hop_plan_nodes *b, uint32_t node)
{
    double need_s = need_of_node(b, node);
    if (need_s > b->threshold_s) {
        b->left_s = hop_min(b->left_s, need_s);
        return false;
    }
    uint32_t rank = next_partner(b, node);
    if (rank == HOP_NONE || !goes_on(b))
        return true;
    bool found = false;
    if (may_be_on(b, rank, node)) {
        b->node_of[rank] = node;
        b->nodes[node].held++;
        found = gathers(b, node);
        b->nodes[node].held--;
    }
    b->node_of[rank] = NODES_MOST; /* elsewhere */
    found = found || gathers(b, node);
    b->node_of[rank] = HOP_NONE;
    return found;
}

/* What one rank needs on some node, with whom it shares it: as much above *least_s as can be shown in few steps. */
static void look_around(struct hop_plan_nodes *b, uint32_t rank, double *least_s)
{
    bool found = false;
    b->steps = 0;
    for (double threshold_s = *least_s; !found && !b->over; threshold_s = hop_max(threshold_s * STEP, b->left_s)) {
        b->threshold_s = threshold_s * (1 + HOP_PLAN_TOLERANCE);
        b->left_s = INFINITY;
        for (uint32_t k = 0; k < b->node_count && !found; k++) {
            if (!may_be_on(b, rank, k))
                continue;
            b->node_of[rank] = k;
            b->nodes[k].held = 1;
            found = gathers(b, k);
            b->nodes[k].held = 0;
            b->node_of[rank] = HOP_NONE;
        }
        if (isinf(b->left_s))
            break;
        if (!found && !b->over)
            *least_s = hop_max(*least_s, b->left_s * (1 - HOP_PLAN_TOLERANCE));
    }
    b->over = false;
}

enum hop_status hop_plan_blocks(struct hop_plan_work *work, struct hop_plan_loads *loads, double *least_s,
                                struct hop_diag *diag)
{
    struct hop_plan_nodes *b = calloc(1, sizeof *b);
    if (!b)
        return hop_fail_memory(diag);
    b->work = work;
    b->loads = loads;
    enum hop_status status = HOP_OK;
    if (loads->flow_count && loads->flow_count <= FLOWS_MOST && loads->bounds && find_nodes(b)) {
        status = prepare_ranks(b, diag);
        if (status == HOP_OK)
            hop_plan_counts(b, least_s);
        double each = 0;
        for (uint32_t k = 0; k < b->node_count; k++)
            each = hop_max(each, (double)b->nodes[k].room * (b->nodes[k].whole.count * (b->nodes[k].place_count + 1.0) +
                                                             2.0 * loads->flow_count / work->ranks + 10));
        b->steps_most = (uint64_t)hop_min(STEPS_MOST, WORK_MOST / (each + 1)) / work->ranks + 1;
        for (uint32_t k = 0; k < work->ranks && status == HOP_OK && hop_plan_goes_on(work); k++)
            look_around(b, b->order[k], least_s);
        b->steps_most *= work->ranks;
        b->steps = 0;
        bool found = status != HOP_OK;
        for (double threshold_s = *least_s; !found && !b->over; threshold_s = hop_max(threshold_s * STEP, b->left_s)) {
            b->threshold_s = threshold_s * (1 + HOP_PLAN_TOLERANCE);
            b->left_s = INFINITY;
            found = descend(b, 0);
            if (isinf(b->left_s)) /* nothing was left out, or nothing is allowed */
                break;
            if (!found && !b->over)
                *least_s = hop_max(*least_s, b->left_s * (1 - HOP_PLAN_TOLERANCE));
        }
    }
    hop_arena_finish(&b->arena);
    free(b);
    return status;
}
