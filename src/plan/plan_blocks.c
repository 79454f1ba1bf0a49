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
 * How many ranks are on a node already says what leaves it at least: the same of the node alone, over all sets of so many.
 * Thresholds rise as in plan_floor.c. Empty nodes that cost the same stand for each other.
 */
#include "plan/plan.h"

enum { RECEIVED, SENT, WAYS };
enum { HERE, ELSEWHERE, EITHER, WHERES };
enum { RANKS_MOST = 128, FRONT_MOST = 11, NEEDS_MOST = 12 };
enum { FLOWS_MOST = 20000, NODES_MOST = 64, STEPS_MOST = 200000, POLLED = 64 };
#define WORK_MOST 2e8 /* needs and partners that are looked at, in all steps */
#define STEP 1.01     /* from threshold to threshold */

/* Of a source or link: what a byte and a copy take of it. */
struct need {
    double head_s, per_byte_s[WAYS][WHERES], late_s[WAYS][WHERES];
};

struct needs {
    struct need *list;
    uint32_t count;
};

struct node {
    uint32_t part, room, held;
    struct needs *places, whole; /* of places that differ */
    uint32_t place_count;
    uint32_t like; /* the first node that costs the same */
};

/* Bytes and copies. */
struct amounts {
    double bytes[WAYS][WHERES], copies[WAYS][WHERES];
};

struct partner_of {
    uint32_t rank;
    double bytes, copies;
};

struct blocks {
    struct hop_plan_work *work;
    struct hop_plan_loads *loads;
    struct node nodes[NODES_MOST];
    uint32_t node_count;
    const uint32_t *part_of; /* of a place: its node, or, where there is one, the host memory nearest to it */
    struct rank_flows {
        struct partner_of *list[WAYS]; /* ascending by bytes */
        uint32_t count[WAYS];
    } * ranks;
    uint32_t *order, *node_of; /* of ranks; the second HOP_NONE: none yet */
    double threshold_s, left_s;
    uint64_t steps, steps_most;
    bool over;
    struct hop_arena arena;
};

/* ---- what nodes cost ---- */

/* The least of a place's pairs, of each bound; a bound that not all of them have costs nothing. */
static void list_pairs(const struct blocks *b, uint32_t a, struct need *dense, uint32_t *seen)
{
    const struct hop_plan_loads *l = b->loads;
    const struct hop_map_places *p = &b->work->map.places;
    uint32_t partners[2] = {0, 0};
    memset(seen, 0, (size_t)l->bounds * WAYS * 2 * sizeof *seen);
    for (uint32_t i = 0; i < l->bounds; i++)
        dense[i] = (struct need){.head_s = l->head_s[i]};
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
                struct need *n = &dense[l->weights[w].bound];
                bool first = !seen[(l->weights[w].bound * WAYS + way) * 2 + where]++;
                n->per_byte_s[way][where] =
                    first ? l->weights[w].per_byte_s : hop_min(n->per_byte_s[way][where], l->weights[w].per_byte_s);
                n->late_s[way][where] =
                    first ? l->weights[w].late_s : hop_min(n->late_s[way][where], l->weights[w].late_s);
            }
        }
    }
    for (uint32_t k = 0; k < l->bounds * WAYS * 2; k++) {
        struct need *n = &dense[k / 2 / WAYS];
        if (seen[k] == partners[k % 2] && seen[k])
            continue;
        n->per_byte_s[k / 2 % WAYS][k % 2] = n->late_s[k / 2 % WAYS][k % 2] = 0;
    }
}

static int by_content(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct need));
}

static bool is_same(const struct needs *a, const struct needs *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->list, b->list, a->count * sizeof *a->list) == 0);
}

/* Those that cost anything, each once, in an order that tells whether two lists are one. */
static struct needs gather(struct blocks *b, struct need *dense)
{
    struct needs made = {0};
    for (uint32_t i = 0; i < b->loads->bounds; i++) {
        struct need n = dense[i];
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

static void add_place(struct blocks *b, struct node *node, struct needs needs)
{
    for (uint32_t k = 0; k < node->place_count; k++) {
        if (is_same(&node->places[k], &needs))
            return;
    }
    if (HOP_GROW(&b->arena, node->places, node->place_count + (size_t)1))
        node->places[node->place_count++] = needs;
}

/* What a node's places have in common. A copy on it is one that is sent. */
static void take_common(struct need *common, const struct need *place, bool first)
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

static void cost_node(struct blocks *b, struct node *node, struct need *dense, struct need *common, uint32_t *seen)
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

static bool costs_same(const struct node *x, const struct node *y)
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
static bool find_nodes(struct blocks *b)
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
        b->nodes[b->node_count++] = (struct node){.part = b->part_of[a]};
    }
    size_t bounds = b->loads->bounds;
    struct need *dense = malloc((2 * bounds + 1) * sizeof *dense);
    uint32_t *seen = malloc((bounds * WAYS * 2 + 1) * sizeof *seen);
    b->arena.failed = b->arena.failed || !dense || !seen;
    for (uint32_t k = 0; k < b->node_count && b->node_count > 1 && !b->arena.failed; k++) {
        struct node *node = &b->nodes[k];
        cost_node(b, node, dense, dense + bounds, seen);
        while (node->like < k && (b->work->map.places.who.allowed || !costs_same(&b->nodes[node->like], node)))
            node->like++;
    }
    free(dense);
    free(seen);
    return b->node_count > 1;
}

/* ---- ranks ---- */

static void add_flow(struct blocks *b, uint32_t rank, unsigned way, struct partner_of partner)
{
    struct rank_flows *r = &b->ranks[rank];
    if (!HOP_GROW(&b->arena, r->list[way], r->count[way] + (size_t)1))
        return;
    uint32_t at = r->count[way]++;
    for (; at > 0 && r->list[way][at - 1].bytes > partner.bytes; at--)
        r->list[way][at] = r->list[way][at - 1];
    r->list[way][at] = partner;
}

/* Who exchanges most with those before. */
static void order_by_bytes(struct blocks *b, double *bytes)
{
    for (uint32_t k = 0; k < b->work->ranks; k++) {
        uint32_t next = HOP_NONE;
        for (uint32_t r = 0; r < b->work->ranks; r++)
            next = bytes[r] >= 0 && (next == HOP_NONE || bytes[r] > bytes[next]) ? r : next;
        b->order[k] = next;
        bytes[next] = -1;
        for (unsigned way = 0; way < WAYS; way++) {
            for (uint32_t i = 0; i < b->ranks[next].count[way]; i++) {
                const struct partner_of *p = &b->ranks[next].list[way][i];
                bytes[p->rank] = bytes[p->rank] >= 0 ? bytes[p->rank] + p->bytes : -1;
            }
        }
    }
}

static enum hop_status prepare_ranks(struct blocks *b, struct hop_diag *diag)
{
    size_t ranks = b->work->ranks;
    const struct hop_plan_loads *l = b->loads;
    double *bytes = hop_arena_alloc(&b->arena, ranks * sizeof *bytes);
    b->ranks = hop_arena_alloc(&b->arena, ranks * sizeof *b->ranks);
    b->order = hop_arena_alloc(&b->arena, ranks * sizeof *b->order);
    b->node_of = hop_arena_alloc(&b->arena, ranks * sizeof *b->node_of);
    for (uint32_t i = 0; i < l->flow_count && !b->arena.failed; i++) {
        const struct hop_plan_flow *f = &l->flows[i];
        add_flow(b, f->from, SENT, (struct partner_of){f->to, f->bytes, f->count});
        add_flow(b, f->to, RECEIVED, (struct partner_of){f->from, f->bytes, f->count});
    }
    if (b->arena.failed)
        return hop_fail_memory(diag);
    order_by_bytes(b, bytes);
    for (uint32_t r = 0; r < ranks; r++)
        b->node_of[r] = HOP_NONE;
    return HOP_OK;
}

/* ---- the search ---- */

/* Of those without a node as many as there is no room for here are elsewhere: those with the fewest bytes, and copies. */
static void add_amounts(const struct blocks *b, uint32_t rank, struct amounts *sum)
{
    uint32_t node = b->node_of[rank], room = b->nodes[node].room - b->nodes[node].held;
    for (unsigned way = 0; way < WAYS; way++) {
        const struct rank_flows *r = &b->ranks[rank];
        uint32_t open = 0, far = 0;
        double fewest = INFINITY, copies = 0;
        for (uint32_t i = 0; i < r->count[way]; i++)
            open += b->node_of[r->list[way][i].rank] == HOP_NONE;
        uint32_t forced = open > room ? open - room : 0;
        for (uint32_t i = 0; i < r->count[way]; i++) {
            const struct partner_of *p = &r->list[way][i];
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

static double need_of(const struct needs *needs, const struct amounts *amounts)
{
    double most_s = 0;
    for (uint32_t i = 0; i < needs->count; i++) {
        const struct need *n = &needs->list[i];
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

static double need_of_rank(const struct blocks *b, uint32_t rank)
{
    const struct node *node = &b->nodes[b->node_of[rank]];
    struct amounts amounts = {0};
    double least_s = INFINITY;
    add_amounts(b, rank, &amounts);
    for (uint32_t k = 0; k < node->place_count; k++)
        least_s = hop_min(least_s, need_of(&node->places[k], &amounts));
    return least_s;
}

/* Of those on a node, and of the node. */
static double need_of_node(const struct blocks *b, uint32_t node)
{
    struct amounts amounts = {0};
    double most_s = 0;
    for (uint32_t r = 0; r < b->work->ranks; r++) {
        if (b->node_of[r] != node)
            continue;
        add_amounts(b, r, &amounts);
        most_s = hop_max(most_s, need_of_rank(b, r));
    }
    return hop_max(most_s, need_of(&b->nodes[node].whole, &amounts));
}

/* What the rank that came last may have changed. */
static double need_after(const struct blocks *b, uint32_t rank)
{
    double most_s = need_of_node(b, b->node_of[rank]);
    for (unsigned way = 0; way < WAYS; way++) {
        for (uint32_t i = 0; i < b->ranks[rank].count[way] && most_s <= b->threshold_s; i++) {
            uint32_t other = b->ranks[rank].list[way][i].rank;
            if (b->node_of[other] != HOP_NONE && b->node_of[other] != b->node_of[rank])
                most_s = hop_max(most_s, need_of_rank(b, other));
        }
    }
    return most_s;
}

static bool may_be_on(const struct blocks *b, uint32_t rank, uint32_t node)
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

static bool goes_on(struct blocks *b)
{
    b->over = b->over || ++b->steps > b->steps_most || (b->steps % POLLED == 0 && !hop_plan_goes_on(b->work));
    return !b->over;
}

/* Whether ranks can be on nodes within the threshold. */
static bool descend(struct blocks *b, uint32_t depth)
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

/* ---- how many are on a node ---- */

/* Rank after rank, by number: which of those that have to do with later ones (the front) are on a node, and how many of all. */
struct front {
    const struct blocks *b;
    const struct need *need;
    uint32_t slot[RANKS_MOST]; /* of a rank in the front, HOP_NONE: it is not, or not any more */
    double *least, *next;      /* by who of the front is there, then by how many are */
    uint32_t room;
};

static uint32_t last_partner(const struct blocks *b, uint32_t rank)
{
    uint32_t last = rank;
    for (unsigned way = 0; way < WAYS; way++) {
        for (uint32_t i = 0; i < b->ranks[rank].count[way]; i++)
            last = b->ranks[rank].list[way][i].rank > last ? b->ranks[rank].list[way][i].rank : last;
    }
    return last;
}

/* What a rank has to do with those before, if it is there or not. */
static double load_with(const struct front *f, uint32_t rank, uint32_t there, bool is_there)
{
    double load_s = 0;
    for (unsigned way = 0; way < WAYS; way++) {
        for (uint32_t i = 0; i < f->b->ranks[rank].count[way]; i++) {
            const struct partner_of *p = &f->b->ranks[rank].list[way][i];
            if (p->rank > rank)
                continue;
            bool other = there >> f->slot[p->rank] & 1;
            unsigned seen = is_there      ? way
                            : way == SENT ? RECEIVED
                                          : SENT,
                     where = is_there && other ? HERE : ELSEWHERE;
            if (where == HERE) /* counted once, by need_of_node's rule */
                seen = SENT;
            if (is_there || other)
                load_s += p->bytes * f->need->per_byte_s[seen][where] + p->copies * f->need->late_s[seen][where];
        }
    }
    return load_s;
}

static void add_to_front(struct front *f, uint32_t rank, uint32_t slot, bool is_there)
{
    size_t row = f->room + (size_t)1;
    for (uint32_t there = 0; there < 1u << FRONT_MOST; there++) {
        const double *from = f->least + there * row;
        bool any = false;
        for (uint32_t k = 0; k <= f->room; k++)
            any = any || isfinite(from[k]);
        if (!any)
            continue;
        double load_s = load_with(f, rank, there, is_there);
        double *to = f->next + (there | (uint32_t)is_there << slot) * row;
        for (uint32_t k = 0; k + is_there <= f->room; k++)
            to[k + is_there] = hop_min(to[k + is_there], from[k] + load_s);
    }
}

static void forget(struct front *f, uint32_t slot)
{
    size_t row = f->room + (size_t)1;
    for (uint32_t there = 0; there < 1u << FRONT_MOST; there++) {
        for (uint32_t k = 0; there >> slot & 1 && k <= f->room; k++) {
            double *to = &f->least[(there & ~(1u << slot)) * row + k], *from = &f->least[there * row + k];
            *to = hop_min(*to, *from);
            *from = INFINITY;
        }
    }
}

/* What a link needs at least by how many ranks are on its node; false: the front is too long. */
static bool least_by_count(struct front *f, double *least_s)
{
    const struct blocks *b = f->b;
    size_t row = f->room + (size_t)1, all = row << FRONT_MOST;
    uint32_t used = 0;
    for (size_t i = 0; i < all; i++)
        f->least[i] = INFINITY;
    f->least[0] = 0;
    for (uint32_t rank = 0; rank < b->work->ranks; rank++) {
        uint32_t slot = 0;
        while (slot < FRONT_MOST && used >> slot & 1)
            slot++;
        if (slot == FRONT_MOST || (rank % 8 == 0 && !hop_plan_goes_on(b->work)))
            return false;
        for (size_t i = 0; i < all; i++)
            f->next[i] = INFINITY;
        add_to_front(f, rank, slot, false);
        add_to_front(f, rank, slot, true);
        double *swap = f->least;
        f->least = f->next;
        f->next = swap;
        f->slot[rank] = slot;
        used |= 1u << slot;
        for (uint32_t r = 0; r <= rank; r++) {
            if (f->slot[r] == HOP_NONE || last_partner(b, r) > rank)
                continue;
            forget(f, f->slot[r]);
            used &= ~(1u << f->slot[r]);
            f->slot[r] = HOP_NONE;
        }
    }
    for (uint32_t k = 0; k <= f->room; k++)
        least_s[k] = hop_max(least_s[k], f->least[k] > 0 ? f->need->head_s + f->least[k] : 0);
    return true;
}

/* Whether nodes that each need no more can hold all ranks. */
static bool can_hold(const struct blocks *b, double (*least_s)[RANKS_MOST + 1], double most_s)
{
    bool sums[RANKS_MOST + 1] = {true};
    for (uint32_t node = 0; node < b->node_count; node++) {
        bool next[RANKS_MOST + 1] = {false};
        for (uint32_t held = 0; held <= b->work->ranks; held++) {
            for (uint32_t k = 0; sums[held] && k <= b->nodes[node].room && held + k <= b->work->ranks; k++)
                next[held + k] = next[held + k] || least_s[b->nodes[node].like][k] <= most_s;
        }
        memcpy(sums, next, sizeof sums);
    }
    return sums[b->work->ranks];
}

/* Whatever which ranks are on which node: by how many are. */
static void bound_by_counts(struct blocks *b, double *least_s)
{
    double(*by_count)[RANKS_MOST + 1] = calloc(NODES_MOST, sizeof *by_count);
    uint32_t room = 0, tried = 0;
    for (uint32_t k = 0; k < b->node_count; k++)
        room = b->nodes[k].room > room ? b->nodes[k].room : room;
    size_t all = (room + (size_t)1) << FRONT_MOST;
    double *tables = malloc(2 * all * sizeof *tables);
    bool fine = tables && by_count && b->work->ranks <= RANKS_MOST && room <= RANKS_MOST;
    for (uint32_t k = 0; k < b->node_count && fine; k++) {
        const struct needs *whole = &b->nodes[k].whole;
        for (uint32_t i = 0; b->nodes[k].like == k && i < whole->count && fine && tried++ < NEEDS_MOST; i++) {
            struct front f = {b, &whole->list[i], {0}, tables, tables + all, b->nodes[k].room};
            memset(f.slot, 0xff, sizeof f.slot); /* HOP_NONE */
            fine = least_by_count(&f, by_count[k]);
        }
    }
    double least = INFINITY; /* of what some number of ranks needs, enough for all */
    for (uint32_t k = 0; k < b->node_count && fine; k++) {
        for (uint32_t n = 0; n <= b->nodes[k].room; n++) {
            double most_s = by_count[b->nodes[k].like][n];
            least = most_s < least && can_hold(b, by_count, most_s) ? most_s : least;
        }
    }
    if (isfinite(least))
        *least_s = hop_max(*least_s, least * (1 - HOP_PLAN_TOLERANCE));
    free(tables);
    free(by_count);
}

enum hop_status hop_plan_blocks(struct hop_plan_work *work, struct hop_plan_loads *loads, double *least_s,
                                struct hop_diag *diag)
{
    struct blocks *b = calloc(1, sizeof *b);
    if (!b)
        return hop_fail_memory(diag);
    b->work = work;
    b->loads = loads;
    enum hop_status status = HOP_OK;
    if (loads->flow_count && loads->flow_count <= FLOWS_MOST && loads->bounds && find_nodes(b)) {
        status = prepare_ranks(b, diag);
        if (status == HOP_OK)
            bound_by_counts(b, least_s);
        double each = 0;
        for (uint32_t k = 0; k < b->node_count; k++)
            each = hop_max(each, (double)b->nodes[k].room * (b->nodes[k].whole.count * (b->nodes[k].place_count + 1.0) +
                                                             2.0 * loads->flow_count / work->ranks + 10));
        b->steps_most = (uint64_t)hop_min(STEPS_MOST, WORK_MOST / (each + 1));
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
